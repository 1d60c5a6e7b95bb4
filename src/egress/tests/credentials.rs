//! The operator's credentials against a sandbox that does everything to see one, or to have one sent elsewhere.

use super::{
    world::{Inside, World, resolver, way_over},
    *,
};
use secrecy::SecretString;

const CANARY: &str = "canary-of-the-old-bridge";

/// A server of packages by TLS, another one beside it, and what is asked of them on behalf of `repository`.
struct Packages {
    packages: World,
    other: World,
    inside: Inside,
}

impl Packages {
    async fn start(repository: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let hosts = ["packages.test", "other.test"];
        let authority = Authority::new(hosts.into_iter(), Duration::from_secs(60)).unwrap();
        let packages = World::start_tls(&authority, "packages.test").await;
        let other = World::start_tls(&authority, "other.test").await;
        let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
        let upstream =
            Upstream::built(resolver(), |builder| builder.tls_certs_merge([root.clone()])).unwrap();
        let credential = Credential::new(
            format!("packages.test:{}", packages.port).parse().unwrap(),
            &Kind::Bearer,
            &SecretString::from(CANARY),
            vec!["acme/*".to_owned()],
        );
        let upstream = upstream.with(vec![credential.unwrap()]).of(repository);
        let allow = [
            format!("packages.test:{}/npm private", packages.port),
            format!("packages.test:{}/quiet private", packages.port),
            format!("packages.test:{}/header private", packages.port),
            format!("packages.test:{}/redirect private", packages.port),
            format!("other.test:{} private", other.port),
        ];
        let allow: Vec<&str> = allow.iter().map(String::as_str).collect();
        Self { packages, other, inside: Inside::over(way_over(&allow, upstream, None)).await }
    }

    async fn ask(&self, host: &str, path: &str, more: &str) -> String {
        let port = if host == "other.test" { self.other.port } else { self.packages.port };
        let to = format!("{host}:{port}");
        let question = format!("GET {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n{more}\r\n");
        self.inside.ask_in_tunnel(&to, host, &question).await
    }
}

#[tokio::test]
async fn t14_a_credential_is_added_where_it_belongs_and_replaces_the_sandboxs_own() {
    let t = Packages::start("acme/calendar").await;
    let said = t
        .ask(
            "packages.test",
            "/quiet",
            "Authorization: Bearer evil\r\nAccept-Encoding: gzip\r\nRange: bytes=0-9\r\n",
        )
        .await;
    assert!(said.ends_with("quiet"), "{said}");
    let head = t.packages.heads().await.concat().to_lowercase();
    assert_eq!(head.matches("authorization: ").count(), 1, "{head}");
    assert!(head.contains(&format!("authorization: bearer {CANARY}")), "{head}");
    assert!(!head.contains("evil") && !head.contains("gzip") && !head.contains("range"), "{head}");
    // Another host, another path, another method: there it is not.
    t.ask("other.test", "/quiet", "").await;
    assert!(!t.other.heads().await.concat().contains(CANARY));
    for (path, more) in [("/private", ""), ("/npm/../private", "")] {
        let said = t.ask("packages.test", path, more).await;
        assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    }
    assert_eq!(t.packages.heads().await.len(), 1, "what is not allowed is not asked, with or without it");
}

#[tokio::test]
async fn t14_a_credential_of_other_repositories_is_none() {
    let t = Packages::start("stranger/fork").await;
    assert!(t.ask("packages.test", "/quiet", "").await.ends_with("quiet"));
    assert!(!t.packages.heads().await.concat().contains(CANARY));
}

#[tokio::test]
async fn evil_a_credential_never_comes_back() {
    let t = Packages::start("acme/calendar").await;
    // The server shows all that it was asked, and once only the header.
    for path in ["/npm/x", "/header"] {
        let said = t.ask("packages.test", path, "").await;
        assert!(!said.contains(CANARY) && !said.contains("canary-of"), "{said}");
    }
    assert!(t.packages.heads().await.iter().all(|head| head.contains(CANARY)), "it was sent");
    let refusals = t.inside.way.refusals();
    assert!(refusals.all.iter().any(|refused| refused.why == Reason::Credential), "{refusals:?}");
    // A redirect is shown, and followed by nobody: whoever asks the other host asks without it.
    let said = t.ask("packages.test", "/redirect", "").await;
    assert!(said.starts_with("HTTP/1.1 302") && !said.contains(CANARY), "{said}");
    assert_eq!(t.other.heads().await.len(), 0);
}

#[tokio::test]
async fn evil_a_credential_is_never_sent_in_clear_text() {
    let world = World::start().await;
    let to = format!("packages.test:{}", world.port);
    let secret = SecretString::from(CANARY);
    let credential = Credential::new(to.parse().unwrap(), &Kind::Bearer, &secret, Vec::new()).unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let upstream = Upstream::new(resolver()).unwrap().with(vec![credential]);
    let inside = Inside::over(way_over(&[&format!("{to} private")], upstream, None)).await;
    let said =
        inside.ask(&format!("GET http://{to}/ HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n")).await;
    assert!(said.starts_with("HTTP/1.1 200") && !said.contains(CANARY), "{said}");
    assert!(!world.heads().await.concat().contains(CANARY));
}
