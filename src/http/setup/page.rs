//! The pages of set-up, as plain HTML: no script, nothing from elsewhere, light and dark, narrow and wide.

use super::Made;
use crate::domain::access::Profile;
use crate::http::html::{Html, escape, html, notice};
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

/// Code spans of a sentence of ours.
fn ticks(sentence: &str) -> String {
    let parts = sentence.split('`').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() })
        .collect()
}
