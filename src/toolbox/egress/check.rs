//! The proof from inside, before any untrusted code has run: there is no other way out, and this one refuses what is not on
//! the list.

use crate::toolbox::{probe, wire::egress};
use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, TcpStream},
    time::Duration,
};

/// The proxy is a pipe away.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of an answer's first line.
const LINE: u64 = 64;

/// What is asked of the proxy: a tunnel, a page in clear text, and an address that is nobody's name.
fn questions() -> [String; 3] {
    let forbidden = egress::FORBIDDEN;
    [
        format!("CONNECT {forbidden}:443 HTTP/1.1\r\nHost: {forbidden}:443\r\n\r\n"),
        format!("GET http://{forbidden}/ HTTP/1.1\r\nHost: {forbidden}\r\nConnection: close\r\n\r\n"),
        "CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254:80\r\n\r\n".to_owned(),
    ]
}

/// Looks around and asks.
pub fn check() -> egress::Checked {
    let found = probe::look();
    let ask = |question: String| {
        let answer = answer(&question).unwrap_or(0);
        (question.lines().next().unwrap_or_default().to_owned(), answer)
    };
    egress::Checked {
        interfaces: found.interfaces,
        reached: found.reached,
        answers: questions().map(ask).to_vec(),
    }
}

/// The status of the proxy's answer.
fn answer(question: &str) -> io::Result<u16> {
    let mut proxy = TcpStream::connect((Ipv4Addr::LOCALHOST, egress::PORT))?;
    proxy.set_read_timeout(Some(PATIENCE))?;
    proxy.write_all(question.as_bytes())?;
    let mut head = Vec::new();
    let _ = proxy.take(LINE).read_to_end(&mut head);
    let status = String::from_utf8_lossy(&head).split(' ').nth(1).and_then(|status| status.parse().ok());
    status.ok_or_else(|| io::Error::other("no answer"))
}
