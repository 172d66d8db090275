//! Sealed page tokens: text that a client can neither read nor alter.
//!
//! Invariants: the random nonce of 24 bytes never repeats in practice, so one key seals any number of
//! tokens. The error of a text that is not authentic says only that. The tenant and the time are compared
//! after that.

use super::earlier_pages::{read_number, write_number};
use super::token::{PageToken, TokenError};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Generate, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const VERSION: u8 = 1;
/// The format, the key's id and the nonce, which are readable.
const HEAD: usize = 1 + 4 + NONCE;
const NONCE: usize = 24;
/// What each seal authenticates beside its content, so that no text sealed for another purpose opens.
const PURPOSE: &[u8] = b"table-orm page token";

/// Keys that seal [page tokens](PageToken) for clients, and open them again.
///
/// A sealed token is encrypted and authenticated (XChaCha20-Poly1305). It belongs to a tenant, or whatever
/// text says who may use it, and expires. Its text is URL-safe, and longer than the token's by about 75 characters
/// and by the tenant's name in base64. The [token](PageToken) in it still belongs to its query.
///
/// A key is 32 random bytes, which the app keeps secret. To replace one, seal with a new key and keep
/// [accepting](Self::accepting) the old one until its tokens have expired.
///
/// ```
/// # use table_orm::query::PageToken;
/// use std::time::{Duration, SystemTime};
/// use table_orm::query::{Seal, SealError};
///
/// # let token: PageToken = "AgAAAAAAAAAAAAAAAACrVkmP".parse()?;
/// # let (new, old) = ([7; 32], [6; 32]);
/// let seal = Seal::new(2, &new).accepting(1, &old);
/// let in_an_hour = SystemTime::now() + Duration::from_secs(3600);
/// let text = seal.seal(&token, "acme", in_an_hour)?;
///
/// assert_eq!(seal.open(&text, "acme")?, token);
/// assert_eq!(seal.open(&text, "initech"), Err(SealError::OtherTenant));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Seal {
    /// What seals.
    own: Key,
    /// What opens, beside it.
    others: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    id: u32,
    cipher: XChaCha20Poly1305,
}

impl Key {
    fn new(id: u32, key: &[u8; 32]) -> Self {
        Self { id, cipher: XChaCha20Poly1305::new(key.into()) }
    }
}

/// A page token that cannot be sealed, or a text that does not open as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The text is not a sealed page token, or is cut short.
    #[error("this text is not a sealed page token; pass the text unchanged")]
    Malformed,
    /// The text names a key that this program does not have.
    #[error(
        "this page token is sealed with key {0}, which is not accepted; start from the first page"
    )]
    UnknownKey(u32),
    /// The text was altered, or sealed with another key of that id.
    #[error("this page token is not authentic; start from the first page")]
    NotAuthentic,
    /// The token was sealed for another tenant.
    #[error("this page token belongs to another tenant; start from the first page")]
    OtherTenant,
    /// The token has expired.
    #[error("this page token has expired; start from the first page")]
    Expired,
    /// What was sealed is not a page token of this version.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The operating system returned no random numbers.
    #[error("the operating system returned no random numbers, so nothing was sealed; try again")]
    NoRandomNumbers,
}

impl Seal {
    /// Seals with this key, and opens what it sealed. The id is readable in each text.
    #[must_use]
    pub fn new(key_id: u32, key: &[u8; 32]) -> Self {
        Self { own: Key::new(key_id, key), others: Vec::new() }
    }

    /// Opens also what this key sealed. Of two keys with one id, the first counts.
    #[must_use]
    pub fn accepting(mut self, key_id: u32, key: &[u8; 32]) -> Self {
        self.others.push(Key::new(key_id, key));
        self
    }

    fn keys(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.own).chain(&self.others)
    }

    /// Seals a token for a tenant. It opens before `expires`, which counts in whole seconds.
    ///
    /// # Errors
    /// [`SealError::NoRandomNumbers`] when the operating system has none.
    pub fn seal(
        &self,
        token: &PageToken,
        tenant: &str,
        expires: SystemTime,
    ) -> Result<String, SealError> {
        let nonce = XNonce::try_generate().map_err(|_| SealError::NoRandomNumbers)?;
        let expires = expires.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut content = expires.as_secs().to_be_bytes().to_vec();
        write_number(&mut content, tenant.len());
        content.extend_from_slice(tenant.as_bytes());
        content.extend_from_slice(&token.bytes());
        let mut text = vec![VERSION];
        text.extend_from_slice(&self.own.id.to_be_bytes());
        let payload = Payload { msg: &content, aad: &[PURPOSE, &text].concat() };
        // It fails for 256 GiB only.
        let sealed = self.own.cipher.encrypt(&nonce, payload).map_err(|_| SealError::Malformed)?;
        text.extend_from_slice(&nonce);
        text.extend_from_slice(&sealed);
        Ok(URL_SAFE_NO_PAD.encode(text))
    }

    /// Returns the token of a sealed text, for the tenant that asks, by this machine's clock.
    ///
    /// # Errors
    /// When the text is no sealed token, its key is unknown, it is not authentic, belongs to another tenant or
    /// has expired; when another version of table-orm made the token.
    pub fn open(&self, text: &str, tenant: &str) -> Result<PageToken, SealError> {
        self.open_at(text, tenant, SystemTime::now())
    }

    /// Opens a text as [`open`](Self::open) does, at another time.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_at(
        &self,
        text: &str,
        tenant: &str,
        now: SystemTime,
    ) -> Result<PageToken, SealError> {
        let text = URL_SAFE_NO_PAD.decode(text).map_err(|_| SealError::Malformed)?;
        let (head, sealed) = text.split_at_checked(HEAD).ok_or(SealError::Malformed)?;
        let (head, nonce) = head.split_at(HEAD - NONCE);
        let (&[VERSION, ref key_id @ ..], Ok(nonce)) = (head, XNonce::try_from(nonce)) else {
            return Err(SealError::Malformed);
        };
        let key_id = key_id.iter().fold(0, |id, byte| id << 8 | u32::from(*byte));
        let key = self.keys().find(|key| key.id == key_id).ok_or(SealError::UnknownKey(key_id))?;
        let payload = Payload { msg: sealed, aad: &[PURPOSE, head].concat() };
        let content = key.cipher.decrypt(&nonce, payload).map_err(|_| SealError::NotAuthentic)?;
        let content = Content::read(&content).ok_or(SealError::Malformed)?;
        if content.tenant != tenant.as_bytes() {
            return Err(SealError::OtherTenant);
        }
        if now.duration_since(UNIX_EPOCH).unwrap_or_default() >= content.expires {
            return Err(SealError::Expired);
        }
        Ok(PageToken::from_bytes(content.token)?)
    }
}

/// What is sealed.
struct Content<'a> {
    /// Since 1970.
    expires: Duration,
    tenant: &'a [u8],
    token: &'a [u8],
}

impl<'a> Content<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (expires, mut rest) = bytes.split_first_chunk()?;
        let expires = Duration::from_secs(u64::from_be_bytes(*expires));
        let length = read_number(&mut rest)?;
        let (tenant, token) = rest.split_at_checked(length)?;
        Some(Self { expires, tenant, token })
    }
}

/// The ids of the keys, and nothing of the keys.
impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.keys().map(|key| key.id).collect();
        f.debug_struct("Seal").field("keys", &ids).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Continuation;
    use crate::query::{ManyPlace, ManyStart};
    use proptest::prelude::*;

    fn token(key: &str) -> PageToken {
        let start = Continuation {
            next_partition_key: Some(key.to_owned()),
            next_row_key: Some("r".into()),
        };
        let start = ManyStart { query: 3, read: 0, start: start.into() };
        PageToken::of_many(7, ManyPlace::default().after(start))
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_sealed_token_opens_for_its_tenant_until_it_expires() {
        let seal = Seal::new(1, &[1; 32]);
        let text = seal.seal(&token("secret"), "acme", at(100)).unwrap();
        assert_eq!(seal.open_at(&text, "acme", at(99)), Ok(token("secret")));
        assert_eq!(seal.open_at(&text, "acme", at(100)), Err(SealError::Expired));
        assert_eq!(seal.open(&text, "acme"), Err(SealError::Expired));
        for other in ["", "acm", "acme2", "ACME"] {
            assert_eq!(seal.open_at(&text, other, at(99)), Err(SealError::OtherTenant));
            // Not even whether it has expired.
            assert_eq!(seal.open_at(&text, other, at(101)), Err(SealError::OtherTenant));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_refused() {
        let seal = Seal::new(1, &[1; 32]);
        let text = seal.seal(&token("k"), "acme", at(100)).unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut altered = bytes.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            let error = seal.open_at(&URL_SAFE_NO_PAD.encode(altered), "acme", at(1)).unwrap_err();
            let expected = match bit / 8 {
                0 => matches!(error, SealError::Malformed),
                1..5 => matches!(error, SealError::UnknownKey(_)),
                _ => error == SealError::NotAuthentic,
            };
            assert!(expected, "{bit} {error}");
        }
        for length in 0..text.len() {
            assert!(seal.open_at(&text[..length], "acme", at(1)).is_err());
        }
        assert!(seal.open_at(&format!("{text}A"), "acme", at(1)).is_err());
        assert_eq!(seal.open_at("no token", "acme", at(1)), Err(SealError::Malformed));
    }

    #[test]
    fn keys_are_replaced_without_refusing_tokens_that_clients_have() {
        let (old, new) = (Seal::new(1, &[1; 32]), Seal::new(2, &[2; 32]));
        let before = old.seal(&token("k"), "acme", at(100)).unwrap();
        let both = new.clone().accepting(1, &[1; 32]);
        assert_eq!(both.open_at(&before, "acme", at(1)), Ok(token("k")));
        let after = both.seal(&token("k"), "acme", at(100)).unwrap();
        assert_eq!(new.open_at(&after, "acme", at(1)), Ok(token("k")));
        assert_eq!(new.open_at(&before, "acme", at(1)), Err(SealError::UnknownKey(1)));
        // Another key of the same id.
        let forged = Seal::new(2, &[9; 32]).seal(&token("k"), "acme", at(100)).unwrap();
        assert_eq!(new.open_at(&forged, "acme", at(1)), Err(SealError::NotAuthentic));
    }

    #[test]
    fn a_sealed_text_shows_no_key_of_a_row_and_no_two_are_alike() {
        let seal = Seal::new(1, &[1; 32]);
        let texts: Vec<_> =
            (0..2).map(|_| seal.seal(&token("ann's secret"), "acme", at(1)).unwrap()).collect();
        assert_ne!(texts[0], texts[1]);
        for text in &texts {
            let bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
            for secret in [&b"ann's"[..], b"acme"] {
                assert!(!bytes.windows(secret.len()).any(|part| part == secret));
            }
        }
        assert_eq!(format!("{seal:?}"), "Seal { keys: [1] }");
    }

    #[test]
    fn a_sealed_token_is_as_much_longer_as_the_documentation_says() {
        let seal = Seal::new(1, &[1; 32]);
        let token = token("0__1");
        let plain = token.to_string().len();
        let sealed = |tenant: &str| seal.seal(&token, tenant, at(1)).unwrap().len();
        assert!((70..=76).contains(&(sealed("") - plain)), "{} {plain}", sealed(""));
        assert_eq!(sealed(&"t".repeat(36)) - sealed(""), 48);
    }

    #[test]
    fn a_token_of_another_format_in_a_seal_says_so() {
        let seal = Seal::new(1, &[1; 32]);
        let key = &seal.own.cipher;
        let head = [&[VERSION][..], &1_u32.to_be_bytes()].concat();
        let nonce = [5; NONCE];
        let open = |content: &[u8]| {
            let payload = Payload { msg: content, aad: &[PURPOSE, &head].concat() };
            let sealed = key.encrypt(&XNonce::try_from(&nonce[..]).unwrap(), payload).unwrap();
            let text = URL_SAFE_NO_PAD.encode([&head[..], &nonce, &sealed].concat());
            seal.open_at(&text, "", at(1))
        };
        let expires = 9_u64.to_be_bytes();
        assert_eq!(
            open(&[&expires[..], &[0], &[77; 20]].concat()),
            Err(TokenError::Version(77).into())
        );
        assert_eq!(open(&[&expires[..], &[9], &[0; 3]].concat()), Err(SealError::Malformed));
        assert_eq!(open(&[]), Err(SealError::Malformed));
    }

    proptest! {
        #[test]
        fn any_token_and_tenant_come_back(key in any::<String>(), tenant in any::<String>(), id in any::<u32>()) {
            let seal = Seal::new(id, &[3; 32]);
            let text = seal.seal(&token(&key), &tenant, at(100)).unwrap();
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(seal.open_at(&text, &tenant, at(1)), Ok(token(&key)));
        }

        #[test]
        fn no_other_text_opens_or_panics(text in "[A-Za-z0-9_-]{0,160}") {
            prop_assert!(Seal::new(1, &[3; 32]).open_at(&text, "acme", at(1)).is_err());
        }
    }
}
