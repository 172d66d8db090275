//! TLS, with a certificate and key in PEM.

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::sync::Arc;

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The text is no PEM of certificates.
    #[error("the certificate is not PEM")]
    Certificate(#[source] pem::Error),
    /// The text is no PEM of a private key.
    #[error("the private key is not PEM")]
    Key(#[source] pem::Error),
    /// The certificate and the key do not belong together, or are not supported.
    #[error("the certificate cannot be used with this key")]
    Rejected(#[source] rustls::Error),
}

/// Encrypts connections. `Debug` shows nothing of the key.
#[derive(Clone)]
pub(crate) struct TlsAcceptor(pub(super) tokio_rustls::TlsAcceptor);

impl TlsAcceptor {
    /// Takes a chain of certificates and a private key, as PEM.
    pub(crate) fn new(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(TlsError::Certificate)?;
        if certificates.is_empty() {
            return Err(TlsError::Certificate(pem::Error::NoItemsFound));
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::Key)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Rejected)?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(TlsError::Rejected)?;
        Ok(Self(Arc::new(config).into()))
    }
}

impl fmt::Debug for TlsAcceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsAcceptor")
    }
}
