//! What set-up says at its end: what was written, and what comes next.

use super::files::Files;
use crate::{
    app::setup::{App, Plan},
    domain::{access::Profile, text},
};
use std::{fmt::Write as _, path::Path};

/// What was written, and the way on.
pub(super) fn next(app: &App, plan: &Plan, files: &Files) -> String {
    let slug = text::terminal(&app.slug);
    let mut said = format!("{slug} is connected (App {}).\n\nWritten:\n", text::terminal(&app.id));
    for (file, what) in [
        (&files.config, ""),
        (&files.key, "  (the App's private key, for you alone)"),
        (&files.secret, "  (what its webhooks are signed with, for you alone)"),
    ] {
        let _ = writeln!(said, "  {}{what}", file.display());
    }
    if plan.profile != Profile::Observe {
        webhook(&mut said, app, plan, files);
    }
    let config = match std::env::current_dir().is_ok_and(|here| files.config.parent() == Some(&here)) {
        true => String::new(),
        false => format!(" --config {}", files.config.display()),
    };
    let install = text::terminal(app.install.as_str());
    let _ = write!(said, "\nNext:\n  1. install it on the repositories it shall work on:\n     {install}\n");
    let rest = match plan.profile {
        Profile::Observe => vec![
            format!("fixpoint observe{config} --repo OWNER/NAME   (one repository, once)"),
            format!("fixpoint serve{config}   (all of them, again and again, as a page on loopback)"),
        ],
        Profile::Fix | Profile::Full => vec![
            "the model's key: ANTHROPIC_API_KEY, or a file that [model] key_file names".to_owned(),
            format!("fixpoint doctor{config}"),
            format!("fixpoint serve{config}"),
        ],
    };
    for (at, step) in rest.iter().enumerate() {
        let _ = writeln!(said, "  {}. {step}", at + 2);
    }
    said
}

/// What a webhook still lacks.
fn webhook(said: &mut String, app: &App, plan: &Plan, files: &Files) {
    let settings = app.settings.as_ref().map(|url| format!(" under {url}")).unwrap_or_default();
    let settings = text::terminal(&settings);
    if app.made && plan.public.is_none() {
        let _ = write!(
            said,
            "\nIts webhook is switched off: no public address was given (--url), so nothing is heard yet.\n\
             Set it{settings}: https://YOUR-HOST/webhooks, active, content type application/json.\n"
        );
    }
    if app.secret_unknown {
        let _ = write!(
            said,
            "\nGitHub does not know the webhook secret yet: set the one in {}{settings}.\n",
            files.secret.display()
        );
    }
}

/// What to do where the browser runs elsewhere.
pub(super) fn elsewhere(file: &Path) -> String {
    format!(
        "1. Open this file in a browser, on whatever machine has one (copy it there):\n\n     {}\n\n\
         2. Agree on GitHub's page. The browser is then sent to an address of its own machine that\n   \
         does not answer: that is meant to be.\n\
         3. Copy that address from the address bar (it holds the code, which is worth the App's key),\n   \
         paste it here and press Enter:\n",
        file.display()
    )
}
