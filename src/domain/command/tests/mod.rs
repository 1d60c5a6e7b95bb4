//! The grammar: a table of cases, what must hold for any comment, and that no comment takes long.

mod cost;
mod laws;
mod table;

use super::{Command, On, Read, Reading, read};

fn reading(on: On, live: bool) -> Reading<'static> {
    Reading { word: "code", app: "fixpoint", on, live }
}

fn on_issue(comment: &str) -> Read {
    read(comment, &reading(On::Issue, false))
}

/// The command of a comment on an issue that must have one.
fn command(comment: &str) -> Command {
    match on_issue(comment) {
        Read::Command(command) => command,
        other => panic!("{comment:?}: expected a command, got {other:?}"),
    }
}

/// `run [text]`, with options behind it; `mistake`; or `nothing`.
fn said(read: Read) -> String {
    match read {
        Read::Command(Command { command, instruction, options, .. }) => {
            let word = serde_json::to_value(command).unwrap();
            let mut said = format!("{} [{instruction}]", word.as_str().unwrap());
            for (name, value) in [
                ("model", options.model),
                ("rounds", options.rounds.map(|rounds| rounds.to_string())),
                ("base", options.base),
            ] {
                said += &value.map(|value| format!(" {name}={value}")).unwrap_or_default();
            }
            said
        }
        Read::Mistake(_) => "mistake".to_owned(),
        Read::Nothing(_) => "nothing".to_owned(),
    }
}
