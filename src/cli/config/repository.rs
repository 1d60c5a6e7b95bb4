//! Checks a repository's `.github/fixpoint.yml` before it is committed, and says what it comes to.

use crate::{
    config::{Config, Flags},
    domain::{
        money::dollars,
        repo_config::{self, Ask, Effective, Operator, People, Rerun, SecondPerson, Update},
        text::terminal,
    },
};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// A repository's configuration is YAML, the server's is TOML.
pub(super) fn is_one(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "yml" || ending == "yaml")
}

/// Prints the mistakes, or what holds: 2 for a mistake, 1 where the server's own file has one.
pub(super) fn check(file: &Path, within: Option<PathBuf>) -> io::Result<u8> {
    let name = terminal(&file.display().to_string());
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => return complain(&format!("{name} cannot be read: {error}"), 2),
    };
    let read = repo_config::read(&bytes);
    let operator = match within.map(|file| Config::load(&Flags { config: Some(file), ..Flags::default() })) {
        Some(Ok(config)) => config.operator(),
        Some(Err(error)) => return complain(&error.to_string(), 1),
        // Which models and images an unknown operator allows nobody can say.
        None => Config::default().operator().allowing(&read.config),
    };
    // Nor which permissions the App has.
    let holds = Effective::of(read, &Operator { workflows: true, ..operator }, true);
    for mistake in &holds.mistakes {
        writeln!(io::stderr(), "{}", mistake.in_file(&name))?;
    }
    if !holds.mistakes.is_empty() {
        return Ok(2);
    }
    let mut out = io::stdout();
    for (what, holds) in lines(&holds) {
        writeln!(out, "{what:<14} {}", terminal(&holds))?;
    }
    Ok(0)
}

fn complain(sentence: &str, status: u8) -> io::Result<u8> {
    writeln!(io::stderr(), "{sentence}")?;
    Ok(status)
}

/// What holds, as it stands in the example's order.
fn lines(holds: &Effective) -> Vec<(&'static str, String)> {
    let labels = &holds.labels;
    let own = |name: &Option<String>| name.clone().unwrap_or_else(|| "the operator's".to_owned());
    vec![
        ("enabled", yes(holds.enabled).to_owned()),
        ("model", format!("{}; --model may choose {}", own(&holds.model), some(&holds.models, "no other"))),
        ("image", own(&holds.image)),
        ("services", services(holds)),
        ("dependencies", dependencies(holds)),
        ("setup", some(&holds.setup, "none")),
        ("rounds", format!("{} a request", holds.limits.rounds)),
        (
            "budget",
            format!(
                "{} a request, {} a day",
                dollars(holds.limits.request_micros),
                dollars(holds.day_micros)
            ),
        ),
        ("checks", checks(&holds.checks)),
        ("autofix", autofix(holds)),
        (
            "labels",
            format!("start {}, needs human {}, opt out {}", labels.start, labels.needs_human, labels.opt_out),
        ),
        ("paths", paths(holds)),
        ("workflows", if holds.rules.workflows { "where the App may" } else { "closed" }.to_owned()),
        ("publish", ask(holds.ask).to_owned()),
        ("second person", second_person(holds.second_person).to_owned()),
        ("update", if holds.update == Update::Merge { "merge" } else { "rebase" }.to_owned()),
        ("sign-off", yes(holds.sign_off).to_owned()),
        ("title", holds.title.as_ref().map_or_else(|| "{summary}".to_owned(), ToString::to_string)),
        (
            "instructions",
            match holds.instructions.as_deref().map_or(0, |text| text.lines().count()) {
                0 => "none besides AGENTS.md".to_owned(),
                1 => "1 line".to_owned(),
                lines => format!("{lines} lines"),
            },
        ),
    ]
}

fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

fn some(names: &[String], none: &str) -> String {
    if names.is_empty() { none.to_owned() } else { names.join(", ") }
}

fn services(holds: &Effective) -> String {
    let each = holds.services.iter().map(|service| format!("{} ({})", service.name, service.image));
    some(&each.collect::<Vec<_>>(), "none")
}

fn dependencies(holds: &Effective) -> String {
    let Some(wanted) = &holds.dependencies else { return "none".to_owned() };
    format!("{}; kept until {} changes", wanted.install.join(", "), wanted.files.join(" or "))
}

fn checks(checks: &repo_config::Checks) -> String {
    let rerun = match checks.rerun {
        Rerun::Evidence => "a red one is run again on evidence",
        Rerun::First => "a red one is run again first",
    };
    format!(
        "ignored {}; required {}; {rerun}",
        some(&checks.ignore, "none"),
        some(&checks.require, "as at GitHub")
    )
}

fn autofix(holds: &Effective) -> String {
    let people = match holds.autofix.people {
        People::Off => "off for people".to_owned(),
        People::Label => format!("for people where {} stands", holds.labels.start),
        People::Writers => "for people with write access".to_owned(),
    };
    format!("{people}; for bots: {}", some(&holds.autofix.bots, "off"))
}

fn paths(holds: &Effective) -> String {
    let only =
        holds.rules.allow.as_ref().map_or_else(|| "everything".to_owned(), |allow| some(allow, "nothing"));
    format!("{only}; never {}", some(&holds.rules.deny, "none"))
}

fn ask(ask: Ask) -> &'static str {
    match ask {
        Ask::Always => "a person is asked before every push",
        _ => "auto: what the policy allows is pushed",
    }
}

fn second_person(rule: SecondPerson) -> &'static str {
    match rule {
        SecondPerson::Off => "off",
        SecondPerson::OtherThanAsker => "`fixpoint/second-person` waits for somebody other than who asked",
        SecondPerson::Two => "`fixpoint/second-person` waits for two people",
    }
}
