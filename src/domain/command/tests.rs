//! The grammar as a table, and what must hold for any comment.

use super::{Command, On, Read, Reading, Word, read};

fn on_issue(comment: &str) -> Read {
    read(comment, &Reading { word: "code", app: "fixpoint", on: On::Issue, live: false })
}

fn command(read: Read) -> Command {
    match read {
        Read::Command(command) => command,
        other => panic!("expected a command, got {other:?}"),
    }
}

fn said(comment: &str) -> String {
    match on_issue(comment) {
        Read::Command(c) => {
            let word = serde_json::to_value(c.command).unwrap();
            format!("{} [{}]", word.as_str().unwrap(), c.instruction)
        }
        Read::Mistake(_) => "mistake".to_owned(),
        Read::Nothing(_) => "nothing".to_owned(),
    }
}

#[test]
fn probe() {
    for c in [
        "/code fix",
        "foo\n   /code fix",
        "foo\\\n/code\\\nbar",
        "foo  \n/code  \nbar",
        "\\/code x",
        "a\r\n/code b\r\nc",
        "a\r/code b\rc",
        "/code fix `a\nb` c",
        "foo\n          /code deep",
        "> q\n/code lazy",
        "- l\n/code lazy",
        "|a|\n|-|\n/code x",
        "<br>\n/code",
        "/code x\n---\n",
        "\0/code",
        "/code\0",
        "\u{b}/code x",
        "[a\n/code x](b)",
        "*a\n/code x*",
        "[^1]: a\n/code x",
        "x ` y\n/code z",
    ] {
        println!("{c:?} => {} {:?}", said(c), on_issue(c));
    }
    let _ = (Word::Run, command(on_issue("/code")));
}
