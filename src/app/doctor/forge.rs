//! The App as GitHub has it: what it may do, what it hears, where it is installed.

use super::{Finding, Patient};
use crate::{
    domain::{
        access::{self, Level, NEVER, Profile},
        text,
    },
    github::{GitHubError, Grants, Installation, Registration},
};

pub(super) const APP: &str = "github app";
const WEBHOOK: &str = "webhook";
const INSTALLED: &str = "installations";

/// Shown of a list that may be long.
const SHOWN: usize = 10;

/// The key works, and the App asks for what the profile needs.
pub(super) async fn app(patient: &Patient) -> Vec<Finding> {
    let github = match patient.github() {
        None => return Vec::new(),
        Some(Err(found)) => return vec![found],
        Some(Ok(github)) => github,
    };
    match github.registration().await {
        Err(error) => vec![refused(&error)],
        Ok(app) => {
            let mut found = lacking(&app, patient.profile);
            if found.is_empty() {
                let profile = patient.profile.name();
                let (slug, owner) = (text::terminal(&app.slug), text::terminal(&app.owner));
                found.push(Finding::ok(
                    APP,
                    format!("{slug} ({}) of {owner}; may do all that the profile {profile} needs", app.id),
                ));
            }
            found.extend(excessive(&app));
            found
        }
    }
}

fn refused(error: &GitHubError) -> Finding {
    let found = Finding::fail(APP, text::terminal(&error.to_string()));
    match error {
        GitHubError::Unauthorized(_) | GitHubError::NotFound(_) => found
            .mend("look whether github.app_id and github.private_key_file belong together, whether the key")
            .mend("was deleted in the App's settings, and whether this machine's clock is right"),
        GitHubError::Unavailable(_) => {
            found.mend("look whether this machine may reach github.api_url, and at its proxy")
        }
        _ => found,
    }
}

/// Permissions and events that the profile needs and the App does not ask for.
fn lacking(app: &Registration, profile: Profile) -> Vec<Finding> {
    let page = settings(app);
    let mut found = Vec::new();
    for (permission, level) in profile.permissions() {
        if granted(&app.permissions, permission.name) >= Some(level) {
            continue;
        }
        let what =
            format!("permission \"{}: {level}\" is missing: {}", permission.words(), permission.without);
        found.push(
            Finding::fail(APP, what)
                .mend(format!("set it under {page}/permissions,"))
                .mend("then an owner accepts it on each installation"),
        );
    }
    for event in profile.events().iter().filter(|event| !app.events.iter().any(|has| has == event.name)) {
        let what = format!("event \"{}\" is missing: {}", event.name, event.without);
        let found_it = if event.asks { Finding::fail(APP, what) } else { Finding::warn(APP, what) };
        found.push(found_it.mend(format!("tick it under {page}/permissions, Subscribe to events")));
    }
    found
}

/// What no profile has and no thief should get. Workflows may be granted on purpose: a repository's own configuration must
/// then allow them too.
fn excessive(app: &Registration) -> Option<Finding> {
    let too_much = NEVER.iter().filter(|name| **name != "workflows" && app.permissions.contains_key(**name));
    let held: Vec<String> = too_much.map(|name| access::words(name)).collect();
    let what = format!("it may use more than it ever needs: {}", held.join(", "));
    let page = settings(app);
    (!held.is_empty())
        .then(|| Finding::warn(APP, what).mend(format!("take it away under {page}/permissions")))
}

/// Where webhooks go, as far as GitHub tells.
pub(super) async fn webhook(patient: &Patient) -> Vec<Finding> {
    let Some(github) = patient.usable() else { return Vec::new() };
    if patient.only_observes() {
        return Vec::new();
    }
    // The App's own check says what is wrong where neither can be read.
    let (Ok(app), Ok(hook)) = (github.registration().await, github.hook().await) else { return Vec::new() };
    let page = settings(&app);
    let url = text::terminal(&hook.url);
    if patient.config.server.pull {
        return vec![match hook.url.is_empty() {
            true => Finding::fail(WEBHOOK, "no address is set: GitHub keeps no list of deliveries then")
                .mend(format!("set any address, such as https://fixpoint.invalid, under {page}, and Active")),
            false => {
                Finding::ok(WEBHOOK, format!("{url}; not needed, deliveries are read from GitHub's list"))
            }
        }];
    }
    let mut found = Vec::new();
    let ours = patient.config.server.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/'));
    if hook.url.is_empty() || hook.url.starts_with("https://example.com/") {
        found.push(
            Finding::warn(WEBHOOK, "no address is set: nothing is heard")
                .mend(format!("set https://YOUR-HOST/webhooks under {page}, and Active")),
        );
    } else if let Some(ours) = ours.filter(|ours| !hook.url.starts_with(*ours)) {
        found.push(
            Finding::warn(WEBHOOK, format!("it goes to {url}, server.public_url is {ours}"))
                .mend(format!("set {ours}/webhooks under {page}, or another server.public_url")),
        );
    }
    if !hook.url.is_empty() && hook.content_type != "json" {
        found.push(
            Finding::fail(WEBHOOK, format!("its content type is {:?}", text::terminal(&hook.content_type)))
                .mend(format!("set application/json under {page}")),
        );
    }
    if hook.url.starts_with("https:") && !hook.is_verified() {
        found.push(
            Finding::warn(WEBHOOK, "GitHub does not check the certificate of the receiver")
                .mend(format!("enable SSL verification under {page}")),
        );
    }
    if found.is_empty() {
        found.push(Finding::ok(WEBHOOK, url));
    }
    found
}

/// Where it is installed, and whether everything was granted there.
pub(super) async fn installations(patient: &Patient) -> Vec<Finding> {
    let Some(github) = patient.usable() else { return Vec::new() };
    let Ok(app) = github.registration().await else { return Vec::new() };
    let all = match github.installations().await {
        Ok(all) => all,
        Err(error) => return vec![Finding::fail(INSTALLED, text::terminal(&error.to_string()))],
    };
    if all.is_empty() {
        let page = text::terminal(&app.html_url);
        return vec![
            Finding::fail(INSTALLED, "the App is installed nowhere")
                .mend(format!("install it: {page}/installations/new")),
        ];
    }
    let told = |one: &Installation| {
        let reach = if one.everywhere { "all repositories" } else { "chosen repositories" };
        format!("{} ({reach})", text::terminal(&one.account))
    };
    let mut names: Vec<String> = all.iter().take(SHOWN).map(told).collect();
    if all.len() > SHOWN {
        names.push(format!("and {} more", all.len() - SHOWN));
    }
    let mut found = vec![Finding::ok(INSTALLED, names.join(", "))];
    found.extend(all.iter().filter(|one| one.suspended).map(|one| {
        Finding::warn(INSTALLED, format!("{} has suspended it", text::terminal(&one.account)))
            .mend(format!("an owner lets it go on: {}", text::terminal(&one.html_url)))
    }));
    found.extend(all.iter().filter_map(|one| unaccepted(&app, one)));
    found
}

/// What the App asks for and this account has not granted.
fn unaccepted(app: &Registration, one: &Installation) -> Option<Finding> {
    let waiting: Vec<String> = app
        .permissions
        .iter()
        .filter(|(name, level)| granted(&one.permissions, name) < Level::parse(level))
        .map(|(name, level)| text::terminal(&format!("\"{}: {level}\"", access::words(name))))
        .collect();
    let account = text::terminal(&one.account);
    (!waiting.is_empty()).then(|| {
        Finding::warn(INSTALLED, format!("{account} has not accepted {}", waiting.join(", ")))
            .mend(format!("an owner accepts it: {}", text::terminal(&one.html_url)))
    })
}

fn granted(grants: &Grants, name: &str) -> Option<Level> {
    grants.get(name).and_then(|level| Level::parse(level))
}

fn settings(app: &Registration) -> String {
    text::terminal(app.settings_url.as_str())
}
