//! A machine that reaches GitHub and models by a proxy: client and git ask it, and it alone.

use fixpoint::{
    app,
    domain::network::Proxy,
    git::{Mirrors, Remote},
};
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Takes note of what it is asked, and answers 407 to everybody who does not say who asks.
async fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = heads.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let answer = match head.to_lowercase().contains("proxy-authorization: basic bwu6cgfzcw==") {
                true if head.starts_with("CONNECT") => "502 Bad Gateway",
                true => "200 OK",
                false => "407 Proxy Authentication Required",
            };
            kept.lock().unwrap().push(head);
            let told = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(told.as_bytes()).await;
        }
    });
    (address, heads)
}

#[tokio::test]
async fn requests_of_the_server_go_by_the_proxy_and_loopback_does_not() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (address, heads) = proxy().await;
    let by = Proxy::parse(&format!("http://me:pass@{address}"), &["direct.invalid"]).unwrap();
    let http = app::http_client(Some(by)).unwrap();
    let answer = http.get("http://api.invalid/meta").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(heads.lock().unwrap()[0].starts_with("GET http://api.invalid/meta "), "{heads:?}");
    assert!(http.get("https://api.invalid/meta").send().await.is_err());
    assert!(heads.lock().unwrap()[1].starts_with("CONNECT api.invalid:443 "), "{heads:?}");
    assert!(http.get("http://direct.invalid/").send().await.is_err(), "there is no such name");
    // The proxy itself is on loopback: asked as a server of its own, it sees no absolute address.
    let _ = http.get(format!("http://{address}/own")).send().await;
    let heads = heads.lock().unwrap();
    assert!(heads.len() == 3 && heads[2].starts_with("GET /own "), "{heads:?}");
}

#[tokio::test]
async fn git_goes_by_the_proxy_and_shows_its_account_to_nobody_else() {
    let (address, heads) = proxy().await;
    let by = Proxy::parse(&format!("http://me:pass@{address}"), &[""; 0]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mirror = Mirrors::new(folder.path().into()).through(Some(by)).open("7").await.unwrap();
    let remote = Remote {
        url: "https://git.invalid/a/b.git".parse().unwrap(),
        token: Some("forge-token".to_owned().into()),
    };
    let error = mirror.fetch(&remote, &["refs/heads/main".to_owned()]).await.unwrap_err().to_string();
    assert!(!error.contains("pass") && !error.contains("forge-token"), "{error}");
    let heads = heads.lock().unwrap();
    assert!(
        !heads.is_empty() && heads.iter().all(|head| head.starts_with("CONNECT git.invalid:443 ")),
        "{heads:?}"
    );
    assert!(
        heads.iter().all(|head| !head.contains("forge-token") && !head.contains("Authorization: Basic eC1"))
    );
}
