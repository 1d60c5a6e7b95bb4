//! What must hold for any comment.

use super::{On, Read, command, on_issue, read, reading, said};
use proptest::prelude::*;

/// Pieces of which comments that confuse a reader of Markdown are made.
const PIECES: &[&str] = &[
    "/code",
    "/CODE ",
    "@fixpoint ",
    "stop",
    "retry",
    "fix",
    "plan ",
    "--rounds ",
    "--rounds=2",
    "--model x",
    "--",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    "\\",
    "`",
    "``",
    "```",
    "~~~",
    "> ",
    "- ",
    "1. ",
    "# ",
    "===",
    "---",
    "|",
    "|-|",
    "<!--",
    "-->",
    "<details>",
    "</details>",
    "<b",
    "<div>",
    "[",
    "](x)",
    "![",
    "[^1]:",
    "*",
    "**",
    "_",
    "&#47;",
    "\0",
    "\u{200b}",
    "\u{feff}",
    "\u{202e}",
    "é",
    "🦀",
    "word",
    "e\u{301}",
];

fn confusing() -> impl Strategy<Value = String> {
    let piece =
        prop_oneof![8 => proptest::sample::select(PIECES).prop_map(str::to_owned), 1 => any::<String>()];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Lines of plain words: nothing in them means anything to Markdown.
fn plain() -> impl Strategy<Value = String> {
    proptest::collection::vec("[a-z]{1,8}( [a-z]{1,8}){0,5}", 1..5).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_comment_is_read_and_its_text_stays_as_written(comment in confusing(), pull: bool, live: bool) {
        let on = if pull { On::Pull } else { On::Issue };
        if let Read::Command(command) = read(&comment, &reading(on, live))
            && command.options == super::super::Options::default()
        {
            prop_assert!(comment.contains(&command.instruction));
        }
    }

    #[test]
    fn f12_whatever_is_quoted_commands_nothing(comment in confusing()) {
        let quoted: String = comment.split_inclusive(['\n', '\r']).map(|line| format!("> {line}")).collect();
        prop_assert_eq!(said(on_issue(&quoted)), "nothing");
    }

    #[test]
    fn f12_whatever_is_fenced_commands_nothing(comment in confusing()) {
        let fence = "`".repeat(comment.len() + 3);
        prop_assert_eq!(said(on_issue(&format!("{fence}\n{comment}\n{fence}"))), "nothing");
    }

    #[test]
    fn f12_whatever_is_commented_out_commands_nothing(comment in confusing()) {
        let inner = comment.replace("-->", "").replace("->", "").replace('>', "");
        prop_assert_eq!(said(on_issue(&format!("<!--\n{inner}\n-->"))), "nothing");
    }

    #[test]
    fn a_command_after_plain_text_is_found_with_all_its_text(before in plain(), text in plain()) {
        let text = format!("do {text}");
        for between in ["\n", "\n\n", "  \n", "\\\n", "\n   "] {
            let comment = format!("{before}{between}/code {text}");
            prop_assert_eq!(command(&comment).instruction, text.as_str(), "{:?}", comment);
        }
    }

    #[test]
    fn line_ends_decide_nothing(comment in confusing()) {
        let unix = comment.replace('\r', "");
        let windows = unix.replace('\n', "\r\n");
        prop_assert_eq!(said(on_issue(&unix)), said(on_issue(&windows)).replace('\r', ""));
    }

    #[test]
    fn f11_what_follows_never_changes_which_command_counts(first in plain(), later in confusing()) {
        // A line of its own between them, so that nothing of what follows reaches back.
        let comment = format!("/code do {first}\n\n{later}");
        let read = command(&comment);
        let expected = format!("do {first}");
        prop_assert!(read.instruction.starts_with(&expected), "{:?}", read);
    }
}
