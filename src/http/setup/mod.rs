//! The little server behind `fixpoint setup`: it shows one page on loopback, and takes the code that GitHub sends the
//! browser back with.
//!
//! Whoever gets a foreign code in here would have fixpoint work with an App that is theirs. So the page stands under a
//! path that cannot be guessed, the state that it hands to GitHub must come back, a name of this machine that is no
//! loopback is not answered to (a page of the web whose name leads here could else read ours), and one answer is taken.

mod page;

pub use page::Page;

use super::{
    html::{self, answer},
    loopback,
};
use axum::{
    Router,
    extract::{Path, Query, State},
    http::StatusCode,
    middleware,
    response::Response,
    routing::get,
};
use serde::Deserialize;
use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use url::Url;

/// How long the last page may take to reach the browser, which keeps spare connections open that say nothing.
const FAREWELL: Duration = Duration::from_secs(3);
/// GitHub's codes have forty characters; what is far from that is none.
const LONGEST_CODE: usize = 200;

/// The server, waiting.
#[derive(Debug)]
pub struct Door {
    address: Url,
    answer: oneshot::Receiver<Answer>,
    shutdown: CancellationToken,
    serving: JoinHandle<()>,
}

/// A port of this machine, taken before the page is written: the page names it.
#[derive(Debug)]
pub struct Reserved {
    listener: TcpListener,
    origin: Url,
}

/// The browser that came back, waiting to be told what became of its code.
#[derive(Debug)]
pub struct Visitor {
    told: oneshot::Sender<Result<Made, String>>,
    shutdown: CancellationToken,
    serving: JoinHandle<()>,
}

/// The App that was made, for the last page.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its slug.
    pub slug: String,
    /// Where it is installed on repositories.
    pub install: Url,
}

#[derive(Debug)]
struct Answer {
    code: String,
    told: oneshot::Sender<Result<Made, String>>,
}

struct Shown {
    page: Page,
    /// The path of the page.
    path: String,
    answer: Mutex<Option<oneshot::Sender<Answer>>>,
}

#[derive(Deserialize)]
struct Back {
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
}

impl Reserved {
    /// Takes a free port.
    ///
    /// # Errors
    /// When loopback cannot be listened on.
    pub async fn take() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let origin = Url::parse(&format!("http://127.0.0.1:{port}/")).map_err(std::io::Error::other)?;
        Ok(Self { listener, origin })
    }

    /// Where GitHub must send the browser.
    pub fn back(&self) -> Url {
        let mut url = self.origin.clone();
        url.set_path("created");
        url
    }

    /// Serves the page, under `path`, which nobody can guess.
    pub fn open(self, page: Page, path: &str) -> Door {
        let (sender, answer) = oneshot::channel();
        let shown = Arc::new(Shown { page, path: path.to_owned(), answer: Mutex::new(Some(sender)) });
        let router = Router::new()
            .route("/created", get(created))
            .route("/{path}", get(first))
            .fallback(unknown)
            .layer(middleware::from_fn(loopback::guard))
            .with_state(shown);
        let shutdown = CancellationToken::new();
        let stop = shutdown.clone().cancelled_owned();
        let serving = tokio::spawn(async move {
            // It has nothing to end with but the shutdown.
            let _ = axum::serve(self.listener, router).with_graceful_shutdown(stop).await;
        });
        let mut address = self.origin;
        address.set_path(path);
        Door { address, answer, shutdown, serving }
    }
}

impl Door {
    /// What a person opens.
    pub fn address(&self) -> &Url {
        &self.address
    }

    /// Waits for the browser to come back with a code. `None`: the server has ended.
    pub async fn code(self) -> Option<(String, Visitor)> {
        let Answer { code, told } = self.answer.await.ok()?;
        Some((code, Visitor { told, shutdown: self.shutdown, serving: self.serving }))
    }
}

impl Visitor {
    /// Shows the browser what became of it, and ends the server.
    pub async fn tell(self, outcome: Result<Made, String>) {
        // The browser may be gone: then the terminal says it alone.
        let _ = self.told.send(outcome);
        self.shutdown.cancel();
        let _ = tokio::time::timeout(FAREWELL, self.serving).await;
    }
}

async fn first(State(shown): State<Arc<Shown>>, Path(path): Path<String>) -> Response {
    if path != shown.path {
        return unknown().await;
    }
    let open = shown.answer.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    if open { answer(StatusCode::OK, page::ask(&shown.page)) } else { used() }
}

async fn created(State(shown): State<Arc<Shown>>, Query(back): Query<Back>) -> Response {
    if back.state != shown.page.state {
        return refused("This answer does not belong to the page that fixpoint shows. Nothing was done.");
    }
    let fits = |c: u8| c.is_ascii_alphanumeric() || c == b'-' || c == b'_';
    if back.code.is_empty() || back.code.len() > LONGEST_CODE || !back.code.bytes().all(fits) {
        return refused("GitHub sent no code along. Nothing was done; go back and try once more.");
    }
    let Some(sender) = shown.answer.lock().unwrap_or_else(PoisonError::into_inner).take() else {
        return used();
    };
    let (told, outcome) = oneshot::channel();
    if sender.send(Answer { code: back.code, told }).is_err() {
        return used();
    }
    match outcome.await {
        Ok(Ok(made)) => answer(StatusCode::OK, page::made(&made)),
        Ok(Err(why)) => answer(StatusCode::BAD_GATEWAY, page::failed(&why)),
        Err(_) => used(),
    }
}

async fn unknown() -> Response {
    answer(StatusCode::NOT_FOUND, html::notice("Nothing here", "The terminal shows the whole address."))
}

fn used() -> Response {
    answer(StatusCode::GONE, html::notice("Already answered", "The terminal says what became of it."))
}

fn refused(why: &str) -> Response {
    answer(StatusCode::FORBIDDEN, html::notice("Not taken", why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::access::Profile;

    async fn door() -> (Door, reqwest::Client) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let reserved = Reserved::take().await.unwrap();
        let page = Page {
            account: "<acme>".into(),
            action: Url::parse("https://github.example.com/settings/apps/new?state=right").unwrap(),
            manifest: r#"{"name":"a\"><script>b"}"#.into(),
            name: "a\"><script>b".into(),
            webhook: None,
            profile: Profile::Fix,
            state: "right".into(),
        };
        (reserved.open(page, "secret-path"), reqwest::Client::builder().no_proxy().build().unwrap())
    }

    async fn get(client: &reqwest::Client, door: &Url, below: &str) -> (u16, String) {
        let answer = client.get(door.join(below).unwrap()).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    #[tokio::test]
    async fn one_right_answer_is_taken_and_no_other() {
        let (door, client) = door().await;
        let at = door.address().clone();
        for wrong in ["/", "/other", "/created", "/created?code=c", "/created?code=c&state=wrong"] {
            assert!(get(&client, &at, wrong).await.0 >= 400, "{wrong}");
        }
        for no_code in ["/created?state=right", "/created?state=right&code=a%2Fb"] {
            assert_eq!(get(&client, &at, no_code).await.0, 403, "{no_code}");
        }
        let strange = client.get(at.clone()).header("host", "attacker.example.com").send().await.unwrap();
        assert_eq!(strange.status(), 403);
        let (coming, came) = (
            tokio::spawn({
                let (client, at) = (client.clone(), at.clone());
                async move { get(&client, &at, "/created?code=c0de&state=right").await }
            }),
            door.code(),
        );
        let (code, visitor) = came.await.unwrap();
        assert_eq!(code, "c0de");
        assert_eq!(get(&client, &at, "/created?code=again&state=right").await.0, 410);
        assert_eq!(get(&client, &at, at.path()).await.0, 410);
        let install = Url::parse("https://github.example.com/apps/a/installations/new").unwrap();
        visitor.tell(Ok(Made { slug: "a<b".into(), install })).await;
        let (status, text) = coming.await.unwrap();
        assert!(
            status == 200 && text.contains("a&lt;b") && text.contains("/apps/a/installations/new"),
            "{text}"
        );
        assert!(client.get(at).send().await.is_err(), "it has ended");
    }

    #[tokio::test]
    async fn the_page_escapes_what_it_shows_and_nobody_keeps_or_frames_it() {
        let (door, client) = door().await;
        let answer = client.get(door.address().clone()).send().await.unwrap();
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert_eq!(
            (header("cache-control"), header("referrer-policy")),
            ("no-store".into(), "strict-origin".into())
        );
        let text = answer.text().await.unwrap();
        assert!(!text.contains("<script") && !text.contains("<acme>"), "{text}");
        let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
        assert!(text.contains(&format!("<style nonce=\"{nonce}\">")), "{policy}");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
    }
}
