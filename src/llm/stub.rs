//! A provider of a few lines for the wire tests: answers connections in order with bytes that were written down.

use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// One answer.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: &'static str,
    pub(crate) body: String,
    /// The connection breaks before the body is complete.
    pub(crate) cut: bool,
}

impl Answer {
    pub(crate) fn stream(body: impl Into<String>) -> Self {
        Self { status: 200, headers: "content-type: text/event-stream\r\n", body: body.into(), cut: false }
    }
    pub(crate) fn refusal(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: "content-type: application/json\r\n", body: body.into(), cut: false }
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Request line and headers, in small letters.
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// Answers in order; the last one again and again. Gives the address and what it will have seen.
pub(crate) async fn serve(answers: Vec<Answer>) -> (url::Url, Arc<Mutex<Vec<Seen>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap()).parse().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        for turn in 0.. {
            let mut stream = BufReader::new(listener.accept().await.unwrap().0);
            let request = read(&mut stream).await;
            log.lock().unwrap().push(request);
            write(stream, &answers[turn.min(answers.len() - 1)]).await;
        }
    });
    (url, seen)
}

async fn read(stream: &mut BufReader<TcpStream>) -> Seen {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        stream.read_line(&mut head).await.unwrap();
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    Seen { head, body: serde_json::from_slice(&body).unwrap() }
}

async fn write(mut stream: BufReader<TcpStream>, answer: &Answer) {
    let Answer { status, headers, body, cut } = answer;
    let length = body.len() + usize::from(*cut);
    let reply = format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(reply.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
}
