//! The look of every page of ours, and how one is answered with: plain HTML, no script, nothing from elsewhere, light and
//! dark, narrow and wide.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

/// A page with the policy that it is shown under.
pub(super) struct Html {
    pub(super) text: String,
    pub(super) policy: String,
}

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c2024; --dim: #59636e; --paper: #f6f7f9; --card: #fff; --line: #d9dee3;
  --go: #1a6b3c; --go-ink: #fff; --mark: #b0470e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --dim: #a3acb5; --paper: #121417; --card: #1b1f23;
  --line: #343b42; --go: #3fb573; --go-ink: #08150d; --mark: #f0a06a; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, \"Segoe UI\", Roboto, \"Noto Sans\", \"DejaVu Sans\", sans-serif; }
main { max-width: 40rem; margin: 0 auto; padding: 1.5rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .75rem; }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 1.75rem 0 .5rem; font-size: 1rem; }
p { margin: .5rem 0; }
.dim { color: var(--dim); }
.mark { color: var(--mark); }
dl { margin: 1rem 0 0; display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
ul { margin: 0; padding: 0; list-style: none; }
li { padding: .6rem 0; border-top: 1px solid var(--line); }
li b { font-weight: 600; }
li span { display: block; color: var(--dim); font-size: .9rem; }
li span::first-letter { text-transform: uppercase; }
code { font-family: ui-monospace, Menlo, Consolas, \"DejaVu Sans Mono\", monospace; font-size: .92em; }
.go { display: inline-block; margin-top: 1.5rem; padding: .7rem 1.25rem; border: 0; border-radius: .5rem;
  background: var(--go); color: var(--go-ink); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer; }
.go:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
@media (max-width: 30rem) { body { padding: .5rem; } main { padding: 1rem; } dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; } .go { width: 100%; text-align: center; } }
";

/// A page; its forms may be sent to `targets` alone.
pub(super) fn html(title: &str, body: &str, targets: &str) -> Html {
    let nonce = hex::encode(rand::random::<[u8; 16]>());
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <style nonce=\"{nonce}\">{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n",
        escape(title)
    );
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; form-action {targets}; base-uri 'none'; frame-ancestors 'none'"
    );
    Html { text, policy }
}

/// A page of one sentence.
pub(super) fn notice(title: &str, sentence: &str) -> Html {
    html(title, &format!("<h1>{}</h1>\n<p>{}</p>", escape(title), escape(sentence)), "'none'")
}

/// Nobody keeps it, frames it, or learns its address from it. GitHub does see the origin: to a form that comes from
/// nowhere (`no-referrer` makes the origin `null`) it might not answer.
pub(super) fn answer(status: StatusCode, Html { text, policy }: Html) -> Response {
    let fixed = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "strict-origin"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    let mut response = (status, fixed, text).into_response();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Text as a part of HTML, also within quotes.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
