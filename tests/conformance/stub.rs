//! A server on loopback that sends scripted answers, one for each request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone)]
pub struct Stub {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    answers: VecDeque<Answer>,
    /// What is answered once there are no more answers.
    last: Option<Answer>,
    requests: Vec<String>,
    connections: usize,
    bytes: usize,
}

/// What to do with a request.
#[derive(Clone)]
pub enum Answer {
    /// Answer with this status, headers and body.
    Http { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// Answer with this status and a body without end.
    Endless { status: u16 },
    /// Answer with this status, state the length of a body, and do not send it.
    Head { status: u16, length: u64 },
    /// Close the connection.
    Close,
}

impl Answer {
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self::Http { status, headers: Vec::new(), body: body.into() }
    }

    /// An error in the service's form: the code is only in the body.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let body = format!(
            r#"{{"odata.error":{{"code":"{code}","message":{{"lang":"en-US","value":"{message}\nRequestId:1f\nTime:2026-11-21T12:00:00.0000000Z"}}}}}}"#
        );
        Self::new(status, body)
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Http { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        let Self::Http { status, headers, body } = self else { return self.endless() };
        let mut text = format!("HTTP/1.1 {status} Said\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        Some((text + "\r\n" + body).into_bytes())
    }

    /// The head of an answer whose body does not end.
    fn endless(&self) -> Option<Vec<u8>> {
        let (status, length) = match self {
            Self::Endless { status } => (status, "Transfer-Encoding: chunked".to_owned()),
            Self::Head { status, length } => (status, format!("Content-Length: {length}")),
            Self::Http { .. } | Self::Close => return None,
        };
        Some(format!("HTTP/1.1 {status} Said\r\n{length}\r\n\r\n").into_bytes())
    }
}

impl Stub {
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers = answers.into_iter().collect();
        let state = Arc::new(Mutex::new(State { answers, ..State::default() }));
        let stub = Self { port, state };
        let server = stub.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                server.state.lock().unwrap().connections += 1;
                tokio::spawn(server.clone().serve(connection));
            }
        });
        stub
    }

    /// Gives the same answer to every request.
    pub async fn always(answer: Answer) -> Self {
        let stub = Self::start([]).await;
        stub.state.lock().unwrap().last = Some(answer);
        stub
    }

    async fn serve(self, mut connection: TcpStream) {
        while let Some(request) = read_request(&mut connection).await {
            let answer = {
                let mut state = self.state.lock().unwrap();
                state.requests.push(request);
                state.answers.pop_front().or_else(|| state.last.clone())
            };
            let Some(bytes) = answer.as_ref().and_then(Answer::bytes) else { return };
            if connection.write_all(&bytes).await.is_err() {
                return;
            }
            if let Some(Answer::Endless { .. }) = answer {
                let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
                while connection.write_all(chunk.as_bytes()).await.is_ok() {
                    self.state.lock().unwrap().bytes += 0x10000;
                }
                return;
            }
        }
    }

    /// The bytes of endless bodies that were sent so far.
    pub fn bytes(&self) -> usize {
        self.state.lock().unwrap().bytes
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request so far: head and body.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    pub fn connections(&self) -> usize {
        self.state.lock().unwrap().connections
    }
}

async fn read_request(connection: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            if body.len() >= length.map_or(0, |length| length.trim().parse().unwrap()) {
                return Some(text);
            }
        }
        let mut chunk = [0; 4096];
        match connection.read(&mut chunk).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    }
}
