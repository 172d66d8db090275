//! Connections to the host or through a proxy's tunnel, with or without TLS, within a time limit.

use super::{Late, tls};
use crate::azure::error::ConnectError;
use crate::azure::options::ConnectOptions;
use azure_core::http::Url;
use futures_util::future::{BoxFuture, TryFutureExt as _};
use hyper::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

type BoxError = Box<dyn Error + Send + Sync>;
/// A connection to the host, or to a proxy, which may use TLS itself.
type Hop = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens connections to one endpoint.
#[derive(Clone)]
pub(crate) struct Connector {
    connector: HttpsConnector<Route>,
    timeout: Duration,
}

#[derive(Clone)]
enum Route {
    Direct(HttpConnector),
    Proxy(Box<Tunnel<HttpsConnector<HttpConnector>>>),
}

impl Connector {
    /// Takes the proxy for the endpoint, if there is one. Connections to an http endpoint are
    /// direct: it is an emulator, and few proxies open tunnels to ports without TLS.
    pub(crate) fn new(
        endpoint: &Url,
        options: &ConnectOptions,
        proxies: &Matcher,
    ) -> Result<Self, ConnectError> {
        let endpoint: Uri = endpoint.as_str().parse().map_err(|_| ConnectError::Endpoint)?;
        let secured = endpoint.scheme_str() == Some("https");
        let tls = tls::config(secured, &options.root_certificates)?;
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        let route = match proxies.intercept(&endpoint).filter(|_| secured) {
            None => Route::Direct(tcp),
            Some(proxy) => {
                if !matches!(proxy.uri().scheme_str(), Some("http" | "https")) {
                    return Err(ConnectError::Proxy);
                }
                let to_proxy = HttpsConnector::from((tcp, tls.clone()));
                let tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
                Route::Proxy(Box::new(match proxy.basic_auth() {
                    Some(authorization) => tunnel.with_auth(authorization.clone()),
                    None => tunnel,
                }))
            }
        };
        Ok(Self { connector: HttpsConnector::from((route, tls)), timeout: options.connect_timeout })
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<Hop>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, host: Uri) -> Self::Future {
        let (limit, connection) = (self.timeout, self.connector.call(host));
        Box::pin(async move {
            timeout(limit, connection).await.unwrap_or_else(|_| Err(Late(limit).into()))
        })
    }
}

impl Service<Uri> for Route {
    type Response = Hop;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Hop, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            Self::Direct(tcp) => tcp.poll_ready(context).map_err(Into::into),
            Self::Proxy(tunnel) => tunnel.poll_ready(context).map_err(Into::into),
        }
    }

    fn call(&mut self, host: Uri) -> Self::Future {
        match self {
            Self::Direct(tcp) => {
                Box::pin(tcp.call(host).map_ok(MaybeHttpsStream::Http).map_err(Into::into))
            }
            Self::Proxy(tunnel) => Box::pin(tunnel.call(host).map_err(Into::into)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    fn connector(endpoint: &str, proxy: &str) -> Result<Connector, ConnectError> {
        let proxies = Matcher::builder().all(proxy).no("127.0.0.1").build();
        Connector::new(&endpoint.parse().unwrap(), &ConnectOptions::default(), &proxies)
    }

    #[tokio::test]
    async fn a_proxy_opens_a_tunnel_and_sees_encrypted_bytes_only() {
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://user:pass@{}", proxy.local_addr().unwrap());
        let asked = tokio::spawn(async move {
            let (mut connection, _) = proxy.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(connection.read_u8().await.unwrap());
            }
            connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let mut first = [0; 2];
            connection.read_exact(&mut first).await.unwrap();
            (String::from_utf8(head).unwrap(), first)
        });
        let mut connector = connector("https://acc.example/", &address).unwrap();
        // The other end does not answer in TLS, so the connection fails.
        let end = connector.call("https://acc.example/".parse().unwrap());
        let (asked, _) = tokio::join!(asked, end);
        let (head, first) = asked.unwrap();
        assert!(head.starts_with("CONNECT acc.example:443 HTTP/1.1\r\n"), "{head}");
        let authorization = "proxy-authorization: basic dxnlcjpwyxnz\r\n";
        assert!(head.to_ascii_lowercase().contains(authorization), "{head}");
        assert_eq!(first, [0x16, 3], "a TLS handshake");
    }

    #[tokio::test]
    async fn connections_to_exempt_and_http_hosts_are_direct() {
        let host = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = host.local_addr().unwrap();
        let nowhere = "http://127.0.0.1:1";
        let mut exempt = connector(&format!("https://{address}/"), nowhere).unwrap();
        let met = async {
            let mut first = [0; 2];
            host.accept().await.unwrap().0.read_exact(&mut first).await.unwrap();
            first
        };
        let end = exempt.call(format!("https://{address}/").parse().unwrap());
        let (met, _) = tokio::join!(met, end);
        assert_eq!(met, [0x16, 3], "a TLS handshake");
        let plain = format!("http://localhost:{}/", address.port());
        let mut plain_host = connector(&plain, nowhere).unwrap();
        assert!(plain_host.call(plain.parse().unwrap()).await.is_ok());
    }

    #[tokio::test]
    async fn written_bytes_are_sent_at_once() {
        let host = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/", host.local_addr().unwrap());
        let connected = connector(&endpoint, "").unwrap().call(endpoint.parse().unwrap()).await;
        let Ok(MaybeHttpsStream::Http(MaybeHttpsStream::Http(stream))) = connected else {
            panic!("no connection without TLS")
        };
        assert!(stream.inner().nodelay().unwrap());
    }

    #[test]
    fn a_proxy_of_another_kind_is_refused() {
        let rejected = connector("https://acc.example", "socks5://127.0.0.1:1");
        assert!(matches!(rejected.err(), Some(ConnectError::Proxy)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_that_does_not_end_times_out() {
        let host = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("https://{}/", host.local_addr().unwrap());
        let mut connector = connector(&endpoint, "").unwrap();
        assert!(connector.call(endpoint.parse().unwrap()).await.is_err());
    }
}
