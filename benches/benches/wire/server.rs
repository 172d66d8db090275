//! A server that answers as the service does, from bytes made beforehand.
//!
//! It runs in a process of its own, so that the clients' CPU time does not include it. It counts
//! what goes over its sockets, TLS included.

use super::finisher::{BATCH, ETAG, Level, TABLE};
use memchr::memmem;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use std::io;
use std::pin::Pin;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The argument that makes this program the server.
pub const ARGUMENT: &str = "--serve";

/// The server's process, seen from outside. It ends when this is dropped.
pub struct Server {
    process: Child,
    questions: Option<ChildStdin>,
    answers: io::BufReader<ChildStdout>,
    pub http: String,
    pub https: String,
    /// The authority of its certificate, as PEM text.
    pub authority: String,
}

/// What has gone over the server's sockets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    pub connections: u64,
    pub bytes: u64,
}

impl Server {
    pub fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg(ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let questions = process.stdin.take();
        let answers = io::BufReader::new(process.stdout.take().unwrap());
        let (http, https, authority) = Default::default();
        let mut server = Self { process, questions, answers, http, https, authority };
        let answer = server.line();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        server.http = text("http");
        server.https = text("https");
        server.authority = text("authority");
        server
    }

    pub fn traffic(&mut self) -> Traffic {
        use io::Write as _;
        self.questions.as_ref().unwrap().write_all(b"\n").unwrap();
        let answer = self.line();
        let number = |name: &str| answer[name].as_u64().unwrap();
        Traffic { connections: number("connections"), bytes: number("bytes") }
    }

    fn line(&mut self) -> serde_json::Value {
        use io::BufRead as _;
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.questions = None;
        let _ = self.process.wait();
    }
}

static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Serves until standard input ends.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (acceptor, authority) = tls();
        let answers = Arc::new(Answers::new());
        let http = listen(Arc::clone(&answers), None).await;
        let https = listen(answers, Some(acceptor)).await;
        let address = serde_json::json!({
            "http": format!("http://127.0.0.1:{http}"),
            "https": format!("https://127.0.0.1:{https}"),
            "authority": authority,
        });
        println!("{address}");
        let mut questions = tokio::io::BufReader::new(tokio::io::stdin()).lines();
        while let Ok(Some(_)) = questions.next_line().await {
            let connections = CONNECTIONS.load(Ordering::Relaxed);
            let bytes = BYTES.load(Ordering::Relaxed);
            println!("{}", serde_json::json!({ "connections": connections, "bytes": bytes }));
        }
    });
}

fn tls() -> (TlsAcceptor, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = server.signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), authority.pem())
}

async fn listen(answers: Arc<Answers>, acceptor: Option<TlsAcceptor>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            CONNECTIONS.fetch_add(1, Ordering::Relaxed);
            let _ = connection.set_nodelay(true);
            let (answers, acceptor) = (Arc::clone(&answers), acceptor.clone());
            tokio::spawn(async move {
                let connection = Counted(connection);
                match acceptor {
                    None => answer_all(connection, &answers).await,
                    Some(acceptor) => {
                        answer_all(acceptor.accept(connection).await?, &answers).await
                    }
                }
            });
        }
    });
    port
}

async fn answer_all(
    mut connection: impl AsyncRead + AsyncWrite + Unpin,
    answers: &Answers,
) -> io::Result<()> {
    let mut request = Vec::with_capacity(256 * 1024);
    loop {
        if let Some((head, whole)) = lengths(&request) {
            connection.write_all(answers.to(&request[..head], &request[head..whole])).await?;
            connection.flush().await?;
            request.drain(..whole);
        } else if connection.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
}

/// The lengths of a complete request's head and of the whole.
fn lengths(request: &[u8]) -> Option<(usize, usize)> {
    const NAME: &[u8] = b"content-length:";
    let head = memmem::find(request, b"\r\n\r\n")? + 4;
    let body = request[..head].split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(NAME.len())?;
        name.eq_ignore_ascii_case(NAME).then_some(value)
    });
    let body = body.map_or(0, |text| str::from_utf8(text).unwrap().trim().parse().unwrap());
    (request.len() >= head + body).then_some((head, head + body))
}

/// The answers, whole, for each level of metadata.
struct Answers {
    one: [Vec<u8>; 3],
    page: [Vec<u8>; 3],
    inserted: Vec<u8>,
    committed: [Vec<u8>; 4],
}

impl Answers {
    fn new() -> Self {
        let levels = [Level::None, Level::Minimal, Level::Full];
        let tagged = format!("ETag: {ETAG}\r\n");
        let uri =
            "https://acc.table.core.windows.net/finishers(PartitionKey='Marathon',RowKey='00007')";
        // The service's order.
        let inserted = format!(
            "Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n\
             Location: {uri}\r\nDataServiceId: {uri}\r\n{tagged}"
        );
        Self {
            one: levels.map(|level| answer("200 OK", &tagged, &level.one())),
            page: levels.map(|level| answer("200 OK", "", &level.page())),
            inserted: answer("204 No Content", &inserted, ""),
            committed: [
                committed(&format!("204 No Content\r\n{inserted}\r\n\r\n")),
                committed(&echo(&tagged, Level::None)),
                committed(&echo(&tagged, Level::Minimal)),
                committed(&echo(&tagged, Level::Full)),
            ],
        }
    }

    fn to(&self, head: &[u8], body: &[u8]) -> &[u8] {
        let level = Level::asked_for(head) as usize;
        if head.starts_with(b"POST /$batch ") {
            assert_eq!(memmem::find_iter(body, "application/http").count(), BATCH as usize);
            // Without the preference, each entity is echoed.
            if memmem::find(body, b"return-no-content").is_some() {
                &self.committed[0]
            } else {
                &self.committed[1 + Level::asked_for(body) as usize]
            }
        } else if head.starts_with(b"POST ") {
            &self.inserted
        } else if head.starts_with(format!("GET /{TABLE}()").as_bytes()) {
            &self.page[level]
        } else {
            &self.one[level]
        }
    }
}

fn echo(tagged: &str, level: Level) -> String {
    format!("201 Created\r\n{tagged}Content-Type: application/json\r\n\r\n{}\r\n", level.one())
}

fn committed(part: &str) -> Vec<u8> {
    let part = format!(
        "--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: \
         binary\r\n\r\nHTTP/1.1 {part}"
    );
    let body = format!(
        "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n\
         {}--changesetresponse_1--\r\n--batchresponse_1--\r\n",
        part.repeat(BATCH as usize)
    );
    answer("202 Accepted", "", &body)
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = match status {
        "204 No Content" => String::new(),
        _ => format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()),
    };
    format!(
        "HTTP/1.1 {status}\r\n{length}Cache-Control: no-cache\r\nServer: Windows-Azure-Table/1.0 \
         Microsoft-HTTPAPI/2.0\r\nx-ms-request-id: 7f9a30b0-0002-0029-1f4e-9c5b6b000000\r\n\
         x-ms-version: 2020-12-06\r\nX-Content-Type-Options: nosniff\r\n\
         Date: Sun, 06 Nov 2011 14:10:00 GMT\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}

/// A connection whose bytes are counted.
struct Counted(TcpStream);

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.0).poll_read(context, buffer);
        BYTES.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.0).poll_write(context, bytes);
        counted(polled)
    }

    /// TLS has several records to write at once.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.0).poll_write_vectored(context, bytes);
        counted(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

fn counted(written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
    if let Poll::Ready(Ok(written)) = written {
        BYTES.fetch_add(written as u64, Ordering::Relaxed);
    }
    written
}
