//! What the profile that only observes serves: one page for people, the same as JSON, and that it is alive.
//!
//! Names of private repositories and of their tests stand on it, and nobody signs in. So it answers on loopback alone, and
//! there to loopback's names alone: a page of the web whose name leads here could else read it.

use super::{
    health,
    html::{Html, answer, escape, html},
    loopback,
};
use crate::domain::{
    observe::{Observed, Watched},
    say,
};
use axum::{Json, Router, extract::State, http::StatusCode, middleware, response::Response, routing::get};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tokio::{net::TcpListener, sync::watch};

/// What is known by now.
type Known = watch::Receiver<Vec<Watched>>;

/// What is shown, and of how many days.
#[derive(Clone)]
struct Shown {
    known: Known,
    days: u32,
}

/// Serves until `shutdown` completes. The report is shown only where the listener is on loopback.
pub async fn serve(
    listener: TcpListener,
    known: Known,
    days: u32,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let mut router = Router::new().route("/healthz", get(health::alive));
    if listener.local_addr().is_ok_and(|at| at.ip().is_loopback()) {
        let report = Router::new()
            .route("/", get(page))
            .route("/observed.json", get(data))
            .layer(middleware::from_fn(loopback::guard))
            .with_state(Shown { known, days });
        router = router.merge(report);
    }
    // It has nothing to end with but the shutdown.
    let _ = axum::serve(listener, router).with_graceful_shutdown(shutdown).await;
}

async fn data(State(Shown { known, days }): State<Shown>) -> Json<Value> {
    let repositories: Vec<Value> = known.borrow().iter().map(one).collect();
    Json(json!({ "days": days, "repositories": repositories }))
}

fn one(watched: &Watched) -> Value {
    let name = &watched.repository;
    match &watched.read {
        None => json!({ "repository": name }),
        Some((at, Ok(seen))) => json!({
            "repository": name, "read_at": at.rfc3339(), "runs": seen.runs, "unread": seen.unread, "report": seen.report,
        }),
        Some((at, Err(why))) => json!({ "repository": name, "read_at": at.rfc3339(), "error": why }),
    }
}

async fn page(State(Shown { known, days }): State<Shown>) -> Response {
    answer(StatusCode::OK, draw(&known.borrow(), days))
}

/// The page: what is worth most first, so that nobody scrolls for it.
fn draw(known: &[Watched], days: u32) -> Html {
    let mut order: Vec<&Watched> = known.iter().collect();
    order.sort_by_key(|watched| (std::cmp::Reverse(sessions(watched)), &watched.repository));
    let (all, read) = (known.len(), known.iter().filter(|watched| watched.read.is_some()).count());
    let told = match (all, read) {
        (0, _) => "The App is installed on no repository yet.".to_owned(),
        (all, read) if read < all => format!("{read} of {all} repositories are read so far."),
        _ => {
            let sessions: u64 = order.iter().map(|watched| sessions(watched)).sum();
            format!("Sessions that would have started in {days} days: {sessions}.")
        }
    };
    let cards = order.into_iter().fold(String::new(), |mut cards, watched| {
        card(&mut cards, watched);
        cards
    });
    let body = format!(
        "<h1>What fixpoint would have done</h1>\n<p>{told} It only reads: nothing was written and no model was asked.</p>\n\
         {cards}"
    );
    html("fixpoint observes", &body, "'none'")
}

fn sessions(watched: &Watched) -> u64 {
    watched.read.as_ref().and_then(|(_, read)| read.as_ref().ok()).map_or(0, |seen| seen.report.sessions)
}

fn card(page: &mut String, watched: &Watched) {
    let _ = writeln!(page, "<section><h2>{}</h2>", escape(&watched.repository));
    let _ = match &watched.read {
        None => write!(page, "<p class=\"dim\">Yet to be read.</p>"),
        Some((at, Err(why))) => write!(
            page,
            "<p class=\"mark\">It could not be read: {}</p><p class=\"dim\">Tried at {}; tried again later.</p>",
            escape(why),
            at.clock()
        ),
        Some((at, Ok(seen))) => {
            table(page, seen);
            write!(page, "<p class=\"dim\">As of {}.</p>", at.clock())
        }
    };
    page.push_str("</section>\n");
}

fn table(page: &mut String, seen: &Observed) {
    if seen.report.red == 0 {
        let _ = write!(page, "<p>{} workflow runs, none of them red.</p>", seen.runs);
        return;
    }
    let _ = write!(page, "<p>{} workflow runs, {} red.</p>\n<dl>", seen.runs, seen.report.red);
    for (kind, meaning) in say::KINDS {
        let count = seen.report.by_kind.get(kind).unwrap_or(&0);
        let _ = write!(page, "<dt>{meaning}</dt><dd>{count}</dd>");
    }
    page.push_str("</dl>\n");
    for sentence in say::upshot(seen) {
        let _ = write!(page, "<p>{}</p>", escape(&sentence));
    }
}
