//! Both ends of the way out in one process: what the toolbox carries, and what the host makes of it, against a server of the
//! world that is on this machine's loopback.

use super::*;
use std::net::{IpAddr, Ipv4Addr};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

mod credentials;
mod guards;
mod proxy;
mod window;
mod world;

use world::{Inside, World};

#[tokio::test]
async fn what_is_allowed_passes_and_nothing_else() {
    let world = World::start().await;
    let at = world.port;
    let inside = Inside::open(&[
        &format!("mirror.test:{at}/npm private"),
        &format!("mirror.test:{at}/ask post private"),
    ])
    .await;
    let mirror = format!("mirror.test:{at}");
    let get = |path: &str| {
        format!("GET http://{mirror}{path} HTTP/1.1\r\nHost: {mirror}\r\nConnection: close\r\n\r\n")
    };
    let said = inside.ask(&get("/npm/left?x=1")).await;
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("GET /npm/left?x=1"), "{said}");
    for (question, status) in [
        (get("/other"), "403"),
        (get("/npm/../other"), "403"),
        (get("/npm/x").replace("GET", "PUT"), "403"),
        (get("/npm/x").replace("GET", "DELETE"), "403"),
        (get("/npm/x").replacen("GET", "POST", 1), "403"),
        (get("/npm/x").replace(&format!("Host: {mirror}"), "Host: other.test"), "421"),
        (get("/npm/x").replace(&format!("http://{mirror}"), "http://other.test"), "403"),
        (get("/npm/x").replace(&format!("http://{mirror}"), ""), "400"),
        (get("/npm/x").replace("http://", "ftp://"), "400"),
        ("CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n".to_owned(), "403"),
        ("CONNECT mirror.test:443 HTTP/1.1\r\nHost: mirror.test:443\r\n\r\n".to_owned(), "403"),
        (format!("CONNECT 2130706433:{at} HTTP/1.1\r\n\r\n"), "403"),
        (format!("CONNECT [::ffff:127.0.0.1]:{at} HTTP/1.1\r\n\r\n"), "403"),
        (
            format!(
                "GET http://mirror.test:{at}/npm/x HTTP/1.1\r\nHost: {mirror}\r\nContent-Length: 5\r\n\r\nhello"
            ),
            "413",
        ),
    ] {
        let said = inside.ask(&question).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{question}{said}");
    }
    let posted = format!(
        "POST http://{mirror}/ask HTTP/1.1\r\nHost: {mirror}\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
    );
    assert!(inside.ask(&posted).await.contains("POST /ask"));
    let refusals = inside.way.refusals();
    let named: Vec<&str> = refusals.all.iter().map(|refused| refused.to.as_str()).collect();
    assert!(named.contains(&"other.test:443") && named.contains(&"mirror.test:443"), "{named:?}");
    assert_eq!(world.asked().await, ["GET /npm/left?x=1", "POST /ask"]);
}

#[tokio::test]
async fn t14_no_credential_of_the_sandbox_goes_out() {
    let world = World::start().await;
    let mirror = format!("mirror.test:{}", world.port);
    let inside = Inside::open(&[&format!("{mirror} private")]).await;
    let question = format!(
        "GET http://{mirror}/ HTTP/1.1\r\nHost: {mirror}\r\nAuthorization: Bearer evil\r\nX-Api-Key: evil\r\nCookie: evil=1\r\n\
         Proxy-Authorization: Basic evil\r\nConnection: close, X-Hop\r\nX-Hop: evil\r\nX-Kept: good\r\n\r\n"
    );
    let said = inside.ask(&question).await.to_lowercase();
    assert!(said.contains("x-kept: good") && !said.contains("evil"), "{said}");
}

#[tokio::test]
async fn t18_a_name_that_leads_inside_leads_nowhere() {
    let world = World::start().await;
    let at = world.port;
    // Allowed by name; its address is this machine, and nobody said that it may be.
    let inside = Inside::open(&[
        &format!("mirror.test:{at}"),
        &format!("metadata.test:{at} private"),
        &format!("both.test:{at}"),
    ])
    .await;
    for host in ["mirror.test", "metadata.test", "both.test"] {
        let question =
            format!("GET http://{host}:{at}/ HTTP/1.1\r\nHost: {host}:{at}\r\nConnection: close\r\n\r\n");
        let said = inside.ask(&question).await;
        assert!(said.starts_with("HTTP/1.1 403") && said.contains("not public"), "{said}");
    }
    assert!(world.asked().await.is_empty());
    assert!(inside.way.refusals().all.iter().all(|refused| refused.why == Reason::Address));
}

#[tokio::test]
async fn t18_what_a_name_leads_to_is_looked_at_each_time_it_is_dialled() {
    let world = World::start().await;
    let at = world.port;
    // The first look leads to a public address where nothing answers in this test, every later one inside.
    let count = AtomicU64::new(0);
    let resolver: Resolver = Arc::new(move |_| {
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        let address = if first { Ipv4Addr::new(1, 1, 1, 1) } else { Ipv4Addr::LOCALHOST };
        Box::pin(async move { Ok(vec![IpAddr::V4(address)]) })
    });
    let upstream = Upstream::new(resolver).unwrap();
    let to = format!("rebinding.test:{at}").parse().unwrap();
    // What was looked at is what is dialled: the first connection does not end up inside.
    let first = tokio::time::timeout(Duration::from_millis(300), upstream.dial(&to, false)).await;
    assert!(!matches!(first, Ok(Ok(_))));
    for _ in 0..3 {
        assert!(matches!(upstream.dial(&to, false).await, Err(upstream::Failure::NotPublic)));
    }
    assert!(world.asked().await.is_empty());
}

#[tokio::test]
async fn redirects_are_the_sandboxs_to_follow() {
    let world = World::start().await;
    let mirror = format!("mirror.test:{}", world.port);
    let inside = Inside::open(&[&format!("{mirror} private")]).await;
    let question =
        format!("GET http://{mirror}/redirect HTTP/1.1\r\nHost: {mirror}\r\nConnection: close\r\n\r\n");
    let said = inside.ask(&question).await;
    assert!(said.starts_with("HTTP/1.1 302") && said.contains("location: http://other.test/"), "{said}");
    assert_eq!(world.asked().await, ["GET /redirect"]);
}

#[tokio::test]
async fn t37_what_is_let_go_is_cut() {
    let world = World::start().await;
    let mirror = format!("mirror.test:{}", world.port);
    let mut inside = Inside::open(&[&format!("{mirror} private")]).await;
    let mut stream = inside.connect().await;
    let question = format!("GET http://{mirror}/endless HTTP/1.1\r\nHost: {mirror}\r\n\r\n");
    stream.write_all(question.as_bytes()).await.unwrap();
    let mut piece = [0; 1 << 10];
    stream.read_exact(&mut piece).await.unwrap();
    inside.attached = None;
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut rest)).await;
    assert!(ended.is_ok(), "still open after the way was let go");
    world.until_nobody_listens().await;
}

#[tokio::test]
async fn a_garbled_stream_and_a_second_one_are_the_end() {
    let way = world::way(&["mirror.test:443"]);
    let (host, mut agent) = tokio::io::duplex(1 << 10);
    agent.write_all(b"ready\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").await.unwrap();
    let (stdout, stdin) = tokio::io::split(host);
    let mut attached = way.attach(stdin, stdout).await.unwrap();
    let broken = tokio::time::timeout(Duration::from_secs(60), attached.broken()).await.unwrap();
    assert!(broken.to_string().starts_with("the sandbox's stream is broken: "), "{broken}");

    let (host, _agent) = tokio::io::duplex(1 << 10);
    let (stdout, stdin) = tokio::io::split(host);
    assert!(matches!(way.attach(stdin, stdout).await, Err(EgressError::Second)));
}

#[tokio::test]
async fn t17_tls_greeting_connection_and_request_must_agree() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let inside = Inside::open(&["mirror.test:443", "other.test:443"]).await;
    // (connection, greeting, Host): the first is what all must be.
    for (greeting, host, status) in [
        ("mirror.test", "mirror.test", "403"), // allowed, and refused for its address alone
        ("mirror.test", "mirror.test:443", "403"),
        ("mirror.test", "other.test", "421"),
        ("mirror.test", "mirror.test:8443", "421"),
        ("other.test", "mirror.test", "421"),
        ("other.test", "other.test", "421"),
    ] {
        let said = inside.ask_by_tls("mirror.test:443", greeting, host).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{greeting} {host}: {said}");
    }
}

#[tokio::test]
async fn what_is_opaque_passes_by_its_name_alone() {
    let world = World::start().await;
    let at = world.port;
    let inside = Inside::open(&[&format!("mirror.test:{at} opaque private")]).await;
    // A greeting with the right name is carried to the world as it is, one with another is not.
    let (right, wrong) = (world::greeting("mirror.test"), world::greeting("other.test"));
    let connect = format!("CONNECT mirror.test:{at} HTTP/1.1\r\nHost: mirror.test:{at}\r\n\r\n");
    let mut stream = inside.tunnel(&connect).await;
    stream.write_all(&right).await.unwrap();
    assert_eq!(world.next_bytes(right.len()).await, right);
    for other in [wrong, b"SSH-2.0-evil\r\n".repeat(4)] {
        let mut stream = inside.tunnel(&connect).await;
        stream.write_all(&other).await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert!(rest.is_empty());
    }
    let reasons: Vec<Reason> = inside.way.refusals().all.iter().map(|refused| refused.why).collect();
    assert_eq!(reasons, [Reason::Mismatch, Reason::NotTls]);
}

#[tokio::test]
async fn the_reserved_name_is_answered_here_and_only_where_something_answers() {
    let question = "POST http://model.internal/v1/x HTTP/1.1\r\nHost: model.internal\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    let without = Inside::open(&["mirror.test:443"]).await;
    assert!(without.ask(question).await.starts_with("HTTP/1.1 403"));
    let local: Local = Arc::new(|request| {
        Box::pin(async move {
            use http_body_util::{BodyExt, Full};
            let said = format!("{} {}", request.uri().path(), String::from_utf8_lossy(request.body()));
            http::Response::new(Full::new(said.into()).map_err(|never| match never {}).boxed_unsync())
        })
    });
    let with = Inside::open_with(&[], Some(local)).await;
    assert!(with.ask(question).await.ends_with("/v1/x hello"));
    assert!(with.ask(&question.replace("model.internal", "mirror.test")).await.starts_with("HTTP/1.1 403"));
    assert!(
        with.ask(&question.replacen("Host: model.internal", "Host: mirror.test", 1))
            .await
            .starts_with("HTTP/1.1 421")
    );
}

#[test]
fn a_sessions_certificate_is_good_for_its_hosts_alone() {
    use rustls::{
        RootCertStore,
        client::WebPkiServerVerifier,
        pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    };
    let authority =
        Authority::new(["mirror.test", "model.internal"].into_iter(), Duration::from_secs(60)).unwrap();
    let root = CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(root).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let verify = |host: &str| {
        use rustls::client::danger::ServerCertVerifier;
        let leaf = authority.certificate(host).unwrap();
        let name = ServerName::try_from(host.to_owned()).unwrap();
        verifier.verify_server_cert(&leaf, &[], &name, &[], UnixTime::now()).is_ok()
    };
    assert!(verify("mirror.test") && verify("model.internal"));
    assert!(!verify("elsewhere.test") && !verify("10.0.0.1"));
}
