//! The operator's credentials and a real sandbox: none is in it, wherever it looks.

use super::*;
use fixpoint::egress::{Credential, Kind};
use secrecy::SecretString;
use tokio::{io::AsyncReadExt, net::TcpListener};

/// In no file and no argument of this test's own, so that what is found came from the host.
fn canary() -> String {
    format!("canary-{}", uuid::Uuid::new_v4().simple())
}

/// A server of this machine that shows what it is asked.
async fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 8192];
            let read = stream.read(&mut head).await.unwrap_or_default();
            let told = format!("HTTP/1.1 200 OK\r\nContent-Length: {read}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(told.as_bytes()).await;
            let _ = stream.write_all(&head[..read]).await;
        }
    });
    port
}

#[tokio::test]
async fn evil_no_credential_of_the_operators_is_anywhere_inside() {
    let Some(provider) = docker().await else { return };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (secret, to) = (canary(), format!("127.0.0.1:{}", echo().await));
    let value = SecretString::from(secret.clone());
    let credential = Credential::new(to.parse().unwrap(), &Kind::Bearer, &value, Vec::new()).unwrap();
    let upstream = Upstream::new(system()).unwrap().with(vec![credential]);
    let room = Room::open_over(&provider, &[format!("{to} private")], upstream).await;
    // What the environment, every process and every file that can be read say, and the server asked in clear text.
    let said = room
        .sh(&format!(
            "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null; ls -lR /work /tmp /home 2>/dev/null
             find /work /tmp /home /etc /run -type f -size -1M -exec cat {{}} + 2>/dev/null
             curl -sS --noproxy '' -x http://127.0.0.1:13128 http://{to}/all -H 'Authorization: Bearer mine'"
        ))
        .await;
    assert!(said.out.contains("GET /all"), "the server was asked: {}", said.err);
    for form in [secret.clone(), secret.chars().rev().collect(), hex::encode(&secret)] {
        assert!(!said.out.contains(&form) && !said.err.contains(&form), "{}", said.out);
    }
    // What the server was asked comes last; before it stands this very command, as a process's arguments.
    let asked = said.out.rsplit("GET /all").next().unwrap_or_default();
    assert!(!asked.contains("Bearer"), "nor does one of its own go out: {asked}");
}
