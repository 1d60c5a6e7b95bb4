//! The pages of set-up, as plain HTML: no script, nothing from elsewhere, light and dark, narrow and wide.

use super::Made;
use crate::domain::access::Profile;
use std::fmt::Write as _;
use url::Url;

/// What the first page shows, and what its form sends.
#[derive(Clone, Debug)]
pub struct Page {
    /// For whom the App is made: an organisation, or "your own account".
    pub account: String,
    /// Where the form goes: a page of GitHub's.
    pub action: Url,
    /// The manifest, JSON.
    pub manifest: String,
    /// The App's name.
    pub name: String,
    /// Where its webhook goes, if it has one.
    pub webhook: Option<String>,
    /// What it may do.
    pub profile: Profile,
    /// What GitHub must bring back.
    pub state: String,
}

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

impl Page {
    /// The first page as a file, for a browser on another machine.
    pub fn file(&self) -> String {
        let Html { text, policy } = ask(self);
        // In a file there is no header to say it.
        let said = policy.split("; frame-ancestors").next().unwrap_or_default();
        let meta = format!("<meta http-equiv=\"content-security-policy\" content=\"{}\">", escape(said));
        text.replacen("<title>", &format!("{meta}\n<title>"), 1)
    }

    /// What the form may be sent to. On its way GitHub may ask a company's own sign-in, wherever that is.
    fn targets(&self) -> String {
        format!("{} https:", self.action.origin().ascii_serialization())
    }
}

/// The first page: what will be made, and the way to GitHub.
pub(super) fn ask(page: &Page) -> Html {
    let webhook = match &page.webhook {
        // It may break where its parts meet.
        Some(url) => format!("<code>{}</code>", escape(url).replace('/', "/<wbr>")),
        None if page.profile == Profile::Observe => "none: it only reads".to_owned(),
        None => "<span class=\"mark\">switched off</span>: set-up was not told a public address (<code>--url</code>)"
            .to_owned(),
    };
    let body = format!(
        "<h1>A GitHub App for fixpoint</h1>\n\
         <p>GitHub makes it and hands its key to this machine, to nobody else. On GitHub’s page you can still change \
         its name; until you agree there, nothing happens.</p>\n\
         <dl><dt>For</dt><dd>{account}</dd><dt>Name</dt><dd>{name}</dd><dt>Webhook</dt><dd>{webhook}</dd>\
         <dt>Profile</dt><dd><b>{profile}</b>, {meaning}</dd></dl>\n\
         <form method=\"post\" action=\"{action}\"><input type=\"hidden\" name=\"manifest\" value=\"{manifest}\">\
         <button class=\"go\" id=\"continue\">Continue to {host}</button></form>\n\
         <h2>What it asks for, and what stops working without it</h2>\n<ul>{rows}</ul>\n\
         <p class=\"dim\">Never asked for: administration, members, secrets, workflows.</p>",
        account = escape(&page.account),
        name = escape(&page.name),
        profile = page.profile.name(),
        meaning = ticks(page.profile.meaning()),
        action = escape(page.action.as_str()),
        manifest = escape(&page.manifest),
        host = escape(page.action.host_str().unwrap_or("GitHub")),
        rows = rows(page.profile),
    );
    html("Set up fixpoint", &body, &page.targets())
}

fn rows(profile: Profile) -> String {
    profile.permissions().fold(String::new(), |mut rows, (permission, level)| {
        let _ = write!(
            rows,
            "<li><b>{}: {level}</b><span>{}</span></li>",
            permission.words(),
            permission.without
        );
        rows
    })
}

/// The last page.
pub(super) fn made(made: &Made) -> Html {
    let body = format!(
        "<h1 id=\"made\">{} is made</h1>\n<p>Its key and secret are in files on this machine.</p>\n\
         <p>Next, say on which repositories it may work; the terminal has the rest.</p>\n\
         <a class=\"go\" id=\"install\" href=\"{}\">Install it on repositories</a>",
        escape(&made.slug),
        escape(made.install.as_str()),
    );
    html("fixpoint is set up", &body, "'none'")
}

/// The last page, where something went wrong.
pub(super) fn failed(why: &str) -> Html {
    notice("This did not work", why)
}

/// A page of one sentence.
pub(super) fn notice(title: &str, sentence: &str) -> Html {
    html(title, &format!("<h1>{}</h1>\n<p>{}</p>", escape(title), escape(sentence)), "'none'")
}

fn html(title: &str, body: &str, targets: &str) -> Html {
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

/// Code spans of a sentence of ours.
fn ticks(sentence: &str) -> String {
    let parts = sentence.split('`').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() })
        .collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
