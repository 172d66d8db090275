//! Files of exported rows: their form and compression, by the extensions of their name.

use flate2::Compression as Level;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// The form of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    JsonLines,
    Csv,
}

/// How the text is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// What the name of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextFile {
    pub form: Form,
    pub compression: Compression,
}

/// A name that says no form.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the name `{0}` does not end in .jsonl or .csv; add .gz or .zst to compress")]
pub(crate) struct NoForm(pub String);

impl TextFile {
    pub(crate) fn of(path: &Path) -> Result<Self, NoForm> {
        let extension = |path: &Path| {
            path.extension().and_then(|text| text.to_str()).map(str::to_ascii_lowercase)
        };
        let (compression, path) = match extension(path).as_deref() {
            Some("gz") => (Compression::Gzip, path.with_extension("")),
            Some("zst") => (Compression::Zstd, path.with_extension("")),
            _ => (Compression::None, path.to_owned()),
        };
        let form = match extension(&path).as_deref() {
            Some("jsonl" | "ndjson") => Form::JsonLines,
            Some("csv") => Form::Csv,
            _ => return Err(NoForm(path.display().to_string())),
        };
        Ok(Self { form, compression })
    }

    /// The name of the form.
    pub(crate) const fn name(self) -> &'static str {
        match self.form {
            Form::JsonLines => "jsonl",
            Form::Csv => "csv",
        }
    }

    /// Reads a file as text.
    pub(crate) fn read(self, file: File) -> io::Result<Box<dyn BufRead + Send>> {
        let file = BufReader::with_capacity(1 << 16, file);
        Ok(match self.compression {
            Compression::None => Box::new(file),
            Compression::Gzip => Box::new(BufReader::new(MultiGzDecoder::new(file))),
            Compression::Zstd => Box::new(BufReader::new(zstd::Decoder::with_buffer(file)?)),
        })
    }

    /// Writes text to the end of a file.
    pub(crate) fn write(self, file: File) -> io::Result<Encoder> {
        Ok(match self.compression {
            Compression::None => Encoder::Plain(file),
            Compression::Gzip => Encoder::Gzip(GzEncoder::new(file, Level::default())),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(file, 0)?;
                encoder.include_checksum(true)?;
                Encoder::Zstd(encoder)
            }
        })
    }
}

/// Writes text, compressed. Several parts in one file are one text.
pub(crate) enum Encoder {
    Plain(File),
    Gzip(GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
}

impl Encoder {
    /// Ends a part. What was written is on the disk then.
    pub(crate) fn finish(self) -> io::Result<File> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        file.sync_all()?;
        Ok(file)
    }
}

impl Write for Encoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

/// Reads a text to its end. Returns its length, and its hash so far.
pub(crate) fn digest(mut text: impl BufRead) -> io::Result<(u64, Sha256)> {
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        match text.read(&mut buffer)? {
            0 => return Ok((bytes, hash)),
            read => {
                hash.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}

/// The hash as text.
pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn names_say_form_and_compression() {
        let of =
            |name: &str| TextFile::of(Path::new(name)).map(|file| (file.form, file.compression));
        assert_eq!(of("a/results.jsonl"), Ok((Form::JsonLines, Compression::None)));
        assert_eq!(of("results.NDJSON.gz"), Ok((Form::JsonLines, Compression::Gzip)));
        assert_eq!(of("results.2024.csv.zst"), Ok((Form::Csv, Compression::Zstd)));
        for name in ["results", "results.gz", "results.json", "results.csv.bz2", ".csv"] {
            assert!(of(name).is_err(), "{name}");
        }
    }

    #[test]
    fn parts_of_a_file_are_one_text() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"] {
            let path = directory.path().join(name);
            let file = TextFile::of(&path).unwrap();
            let mut target = File::create(&path).unwrap();
            for part in ["one\n", "", "two\n"] {
                let mut encoder = file.write(target).unwrap();
                encoder.write_all(part.as_bytes()).unwrap();
                target = encoder.finish().unwrap();
            }
            let mut text = String::new();
            file.read(File::open(&path).unwrap()).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "one\ntwo\n", "{name}");
        }
    }
}
