//! A tunnel through the proxy that this machine reaches the world by.

use crate::domain::{egress::Destination, network::Proxy};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use secrecy::ExposeSecret;
use std::io;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Bytes of its answer's head.
const HEAD: usize = 8 << 10;

/// Asks the proxy for a connection to a destination, by its name: which names it opens is the proxy's own rule, and this machine
/// may not be able to resolve them.
///
/// # Errors
/// Where it cannot be reached or refuses, with its own first line.
pub(super) async fn through(proxy: &Proxy, to: &Destination) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(proxy.address()).await?;
    let account = proxy.account().map_or_else(String::new, |(name, password)| {
        let pair = BASE64_STANDARD.encode(format!("{name}:{}", password.expose_secret()));
        format!("Proxy-Authorization: Basic {pair}\r\n")
    });
    stream.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{account}\r\n").as_bytes()).await?;
    let mut head = Vec::new();
    // Byte by byte: what follows the head belongs to the tunnel.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == HEAD {
            return Err(io::Error::other("the proxy's answer has no end"));
        }
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().next().unwrap_or_default();
    match line.split(' ').nth(1) {
        Some(status) if status.len() == 3 && status.starts_with('2') => Ok(stream),
        _ => Err(io::Error::other(format!("the proxy answers {line:?}"))),
    }
}
