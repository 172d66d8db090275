//! A value stored as compressed JSON text in one `Edm.Binary` property.

use super::{Property, PropertyFault, PropertyWriter, json};
use crate::model::{Edm, EdmType};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserializer, Serialize};
use std::io::Read as _;

/// The most bytes of JSON text in one compressed property: 16 MiB. A larger value is an error when
/// it is written, and when it is read, so that no row can exhaust the memory. The number is this
/// crate's own.
pub const MAX_UNCOMPRESSED_BYTES: usize = 16 * 1024 * 1024;

/// Any serde type as JSON text compressed by Zstandard, at most 64 KiB of it when compressed.
///
/// Use it for a large value that no filter needs. Other tools see bytes: a Zstandard frame of JSON.
///
/// ```
/// use table_orm::property::Zstd;
/// use table_orm::{TableEntity, Tables};
///
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "traces", partition = "{run}", row = "{step:04}")]
/// struct Trace {
///     run: String,
///     step: u16,
///     samples: Zstd<Vec<u32>>,
/// }
///
/// # async fn run() -> table_orm::Result<()> {
/// let traces = Tables::in_memory()?.repo::<Trace>();
/// traces.create_table().await?;
/// // Over 300 KiB of JSON text.
/// let samples = Zstd((0..60_000).map(|at| at / 100).collect());
/// let trace = Trace { run: "a".into(), step: 1, samples };
/// traces.insert(&trace).await?;
/// let stored = traces.get(Trace::partition("a").row().step(1)).await?;
/// assert_eq!(stored, Some(trace));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Zstd<T>(pub T);

impl<T: Serialize> Zstd<T> {
    fn frame(&self) -> Result<Vec<u8>, PropertyFault> {
        let text = json::text(&self.0)?;
        if text.len() > MAX_UNCOMPRESSED_BYTES {
            return Err(PropertyFault::Compression(format!(
                "its JSON text has {} bytes; {MAX_UNCOMPRESSED_BYTES} are allowed",
                text.len()
            )));
        }
        zstd::encode_all(text.as_bytes(), zstd::DEFAULT_COMPRESSION_LEVEL)
            .map_err(|error| PropertyFault::Compression(error.to_string()))
    }
}

impl<T: Serialize + DeserializeOwned> Property for Zstd<T> {
    const TYPE: Option<EdmType> = Some(EdmType::Binary);

    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        out.binary(&self.frame()?)
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let frame = Vec::<u8>::read(value)?;
        let frame = zstd::Decoder::new(&*frame).map_err(D::Error::custom)?;
        let mut text = Vec::new();
        // Reading one byte more shows whether the text is too long.
        let most = MAX_UNCOMPRESSED_BYTES as u64 + 1;
        frame.take(most).read_to_end(&mut text).map_err(D::Error::custom)?;
        if text.len() > MAX_UNCOMPRESSED_BYTES {
            return Err(D::Error::custom("the compressed value unfolds to more than 16 MiB"));
        }
        serde_json::from_slice(&text).map(Self).map_err(D::Error::custom)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(Edm::Binary(self.frame()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::PropertiesWriter;

    fn stored<T: Serialize + DeserializeOwned>(value: T) -> Result<String, PropertyFault> {
        let mut out = PropertiesWriter::new("Test");
        out.property("Value", &Zstd(value)).map_err(|error| error.fault)?;
        let members = String::from_utf8(out.members().to_vec()).unwrap();
        let object: serde_json::Value =
            serde_json::from_str(&format!("{{{}}}", members.trim_start_matches(','))).unwrap();
        assert_eq!(object["Value@odata.type"], "Edm.Binary");
        Ok(object["Value"].to_string())
    }

    fn read<T: Serialize + DeserializeOwned>(json: &str) -> Result<T, String> {
        let value = &mut serde_json::Deserializer::from_str(json);
        Zstd::<T>::read(value).map(|value| value.0).map_err(|error| error.to_string())
    }

    #[test]
    fn a_compressed_value_reads_back() {
        let words: Vec<_> = (0..10_000).map(|at| format!("word {}", at % 7)).collect();
        assert_eq!(read::<Vec<String>>(&stored(words.clone()).unwrap()), Ok(words));
    }

    #[test]
    fn the_limit_of_64_kib_holds_after_compression() {
        // Noise does not compress.
        let mut state = 1_u64;
        let noise: Vec<u64> = (0..20_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state
            })
            .collect();
        assert!(matches!(stored(noise), Err(PropertyFault::BinaryTooLong(_))));
    }

    #[test]
    fn a_small_frame_cannot_unfold_to_more_than_16_mib() {
        let bomb = "x".repeat(MAX_UNCOMPRESSED_BYTES);
        assert!(matches!(stored(bomb), Err(PropertyFault::Compression(_))));
        let frame = zstd::encode_all(&vec![b' '; 2 * MAX_UNCOMPRESSED_BYTES][..], 3).unwrap();
        use base64::Engine as _;
        let json = format!("{:?}", base64::engine::general_purpose::STANDARD.encode(frame));
        let error = read::<String>(&json).unwrap_err();
        assert!(error.contains("16 MiB"), "{error}");
    }

    #[test]
    fn bytes_that_are_not_a_frame_are_an_error() {
        assert!(read::<String>("\"AAAA\"").is_err());
    }
}
