//! A machine that reaches the world by a proxy: what the proxy is asked, and what it is never asked.

use super::{
    world::{Inside, World, greeting, resolver, way_over},
    *,
};
use crate::domain::network::Proxy;
use std::sync::Mutex;
use tokio::net::TcpStream;

/// A proxy that opens what it is asked for on this machine, whatever its name is, but for `forbidden.test`.
struct Gateway {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Gateway {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = heads.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass(stream, kept.clone()));
            }
        });
        Self { port, heads }
    }

    fn proxy(&self, except: &[&str]) -> Option<Proxy> {
        Some(Proxy::parse(&format!("http://me:pass-of-mine@127.0.0.1:{}", self.port), except).unwrap())
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn pass(mut stream: TcpStream, heads: Arc<Mutex<Vec<String>>>) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let asked = head.split(' ').nth(1)?.to_owned();
    let connect = head.starts_with("CONNECT");
    heads.lock().unwrap().push(head.clone());
    if asked.contains("forbidden.test") {
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").await.ok()?;
        return None;
    }
    let authority = asked.trim_start_matches("http://").split('/').next()?.to_owned();
    let port: u16 = authority.rsplit(':').next()?.parse().ok()?;
    let mut onward = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    match connect {
        true => stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?,
        // Its own form of the address is for the proxy alone.
        false => {
            let own = head.replacen(&format!("http://{authority}"), "", 1);
            onward.write_all(own.as_bytes()).await.ok()?;
        }
    }
    tokio::io::copy_bidirectional(&mut stream, &mut onward).await.ok().map(drop)
}

/// Names that this machine cannot resolve, as behind most proxies, but for two.
fn blind() -> Resolver {
    let known = resolver();
    Arc::new(move |host| match host.as_str() {
        "metadata.test" | "here.test" => known(host),
        _ => Box::pin(async { Err(std::io::Error::other("no such name")) }),
    })
}

fn upstream(gateway: &Gateway, except: &[&str]) -> Upstream {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Upstream::new(blind()).unwrap().through(gateway.proxy(except)).unwrap()
}

async fn inside(gateway: &Gateway, except: &[&str], allow: &[String]) -> Inside {
    let allow: Vec<&str> = allow.iter().map(String::as_str).collect();
    Inside::over(way_over(&allow, upstream(gateway, except), None)).await
}

fn get(to: &str) -> String {
    format!("GET http://{to}/quiet HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn what_is_allowed_is_asked_of_the_proxy_by_its_name() {
    let (gateway, world) = (Gateway::start().await, World::start().await);
    let mirror = format!("mirror.test:{}", world.port);
    let t = inside(&gateway, &[], &[mirror.clone(), "forbidden.test:443".into()]).await;
    let said = t.ask(&get(&mirror)).await;
    assert!(said.ends_with("quiet"), "{said}");
    let said = t.ask(&get(&mirror).replace("mirror.test", "other.test")).await;
    assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    let heads = gateway.heads();
    assert_eq!(heads.len(), 1, "what is not on the list is not asked of it: {heads:?}");
    // Its account is for the proxy, which is trusted to keep it: a destination gets no header of that name from us.
    assert!(heads[0].to_lowercase().contains("proxy-authorization: basic bwu6cgfzcy1vzi1taw5l"), "{heads:?}");
}

#[tokio::test]
async fn tls_passes_the_proxy_unopened_and_its_account_stays_there() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let gateway = Gateway::start().await;
    let authority = Authority::new(["mirror.test"].into_iter(), Duration::from_secs(60)).unwrap();
    let world = World::start_tls(&authority, "mirror.test").await;
    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let trusting = |builder: reqwest::ClientBuilder| builder.tls_certs_merge([root.clone()]);
    let upstream = Upstream::new(blind()).unwrap().built_through(gateway.proxy(&[]), trusting).unwrap();
    let to = format!("mirror.test:{}", world.port);
    let t = Inside::over(way_over(&[&to], upstream, None)).await;
    let said = t.ask_by_tls(&to, "mirror.test", &to).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    assert!(gateway.heads()[0].starts_with(&format!("CONNECT {to} ")), "{:?}", gateway.heads());
    let asked = world.heads().await.concat().to_lowercase();
    assert!(!asked.contains("proxy-authorization"), "{asked}");
}

#[tokio::test]
async fn t18_what_this_machine_sees_to_be_closed_is_closed_behind_a_proxy_too() {
    let (gateway, world) = (Gateway::start().await, World::start().await);
    let at = world.port;
    let closed = ["metadata.test", "here.test", "169.254.169.254", "10.1.2.3"];
    let allow: Vec<String> = closed.iter().map(|host| format!("{host}:{at}")).collect();
    let t = inside(&gateway, &[], &allow).await;
    for to in &allow {
        let said = t.ask(&get(to)).await;
        assert!(said.starts_with("HTTP/1.1 403") && said.contains("not public"), "{said}");
    }
    assert_eq!(gateway.heads(), Vec::<String>::new());
}

#[tokio::test]
async fn an_excepted_host_is_dialled_from_here_with_every_check() {
    let (gateway, world) = (Gateway::start().await, World::start().await);
    let to = format!("here.test:{}", world.port);
    let closed = inside(&gateway, &["here.test"], std::slice::from_ref(&to)).await;
    assert!(closed.ask(&get(&to)).await.contains("not public"));
    let open = inside(&gateway, &["here.test"], &[format!("{to} private")]).await;
    assert!(open.ask(&get(&to)).await.ends_with("quiet"));
    assert_eq!(gateway.heads(), Vec::<String>::new());
}

#[tokio::test]
async fn what_passes_unopened_goes_through_the_proxy_or_nowhere() {
    let (gateway, world) = (Gateway::start().await, World::start().await);
    let (vault, forbidden) = (format!("vault.test:{}", world.port), format!("forbidden.test:{}", world.port));
    let t = inside(&gateway, &[], &[format!("{vault} opaque"), format!("{forbidden} opaque")]).await;
    let hello = greeting("vault.test");
    let mut tunnel = t.tunnel(&format!("CONNECT {vault} HTTP/1.1\r\nHost: {vault}\r\n\r\n")).await;
    tunnel.write_all(&hello).await.unwrap();
    assert_eq!(world.next_bytes(hello.len()).await, hello);
    let mut tunnel = t.tunnel(&format!("CONNECT {forbidden} HTTP/1.1\r\nHost: {forbidden}\r\n\r\n")).await;
    tunnel.write_all(&greeting("forbidden.test")).await.unwrap();
    let mut said = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(60), tunnel.read_to_end(&mut said)).await;
    assert!(said.is_empty());
    assert_eq!(world.heads().await.len(), 1, "refused by the proxy, it is not dialled past it");
    let asked: Vec<String> = gateway.heads();
    assert!(
        asked.iter().all(|head| head.starts_with("CONNECT ") && head.contains("Proxy-Authorization: Basic "))
    );
}
