//! The certificate authorities that TLS trusts.

use crate::azure::error::ConnectError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::{BuilderVerifierExt as _, Verifier};
use std::sync::Arc;

/// Builds TLS that trusts the system's authorities and those of a PEM text. Returns `None` when TLS
/// is not used.
pub(crate) fn config(used: bool, authorities: &str) -> Result<ClientConfig, ConnectError> {
    let roots = certificates(authorities)?;
    trusting(used, roots).map_err(|error| ConnectError::Transport(error.into()))
}

/// Reads the certificates of a PEM text, which holds at least one unless it is empty.
fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match certificates {
        Ok(certificates) if text.is_empty() || !certificates.is_empty() => Ok(certificates),
        _ => Err(ConnectError::RootCertificates),
    }
}

fn trusting(
    used: bool,
    roots: Vec<CertificateDer<'static>>,
) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = if !used {
        builder.with_root_certificates(RootCertStore::empty())
    } else if roots.is_empty() {
        builder.with_platform_verifier()?
    } else {
        let verifier = Verifier::new_with_extra_roots(roots, provider)?;
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
    };
    Ok(builder.with_no_client_auth())
}
