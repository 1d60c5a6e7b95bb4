//! The provider before an engine that a test plays: what it does with answers that a real one seldom gives.

use super::*;
use bollard::API_DEFAULT_VERSION;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    task::JoinHandle,
};

/// An engine that gives these answers, one for each request, and then is done.
async fn answering(statuses: &'static [u16]) -> (DockerProvider, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let done = tokio::spawn(async move {
        for status in statuses {
            let mut stream = BufReader::new(listener.accept().await.unwrap().0);
            // To the empty line that ends the header.
            while stream.read_line(&mut String::new()).await.unwrap() > 2 {}
            let body = if *status == 204 { "" } else { r#"{"message":"did not receive an exit event"}"# };
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    let docker = Docker::connect_with_http(&address, 60, API_DEFAULT_VERSION).unwrap();
    let settings = Arc::new(DockerSettings::default());
    let provider =
        DockerProvider { docker, settings, arch: String::new(), podman: false, volume: Arc::default() };
    (provider, done)
}

#[tokio::test]
async fn a_container_whose_end_the_engine_did_not_see_in_time_is_removed_in_the_end() {
    for statuses in [&[204_u16][..], &[404], &[500, 500, 204], &[500, 409, 409, 404]] {
        let (provider, done) = answering(statuses).await;
        provider.remove("fx").await.unwrap();
        done.await.unwrap();
    }
    let (provider, done) = answering(&[403]).await;
    let refused = provider.remove("fx").await;
    assert!(matches!(&refused, Err(SandboxError::Engine(why)) if why.contains("exit event")), "{refused:?}");
    done.await.unwrap();
}
