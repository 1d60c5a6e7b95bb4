//! Cases of the grammar, one a line.

use super::{On, Read, command, on_issue, read, reading, said};

fn all(on: On, live: bool, cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(comment, expected)| (comment, *expected, said(read(comment, &reading(on, live)))))
        .filter(|(_, expected, got)| got != expected)
        .map(|(comment, expected, got)| format!("{comment:?}: expected {expected}, got {got}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn f8_words_on_an_issue() {
    all(
        On::Issue,
        false,
        &[
            ("/code", "run []"),
            ("/code ", "run []"),
            ("/code\n", "run []"),
            ("/code make it so", "run [make it so]"),
            ("/CODE make it so", "run [make it so]"),
            ("/Code\tmake it so", "run [make it so]"),
            ("/code\u{a0}make it so", "run [make it so]"),
            ("@fixpoint make it so", "run [make it so]"),
            ("@FixPoint make it so", "run [make it so]"),
            ("@fixpoint /code status", "status []"),
            ("/code run the tests", "run [the tests]"),
            ("/code plan", "plan []"),
            ("/code plan the parser\nand the lexer", "plan [the parser\nand the lexer]"),
            ("/code approve", "approve []"),
            ("/code status", "status []"),
            ("/code Status  ", "status []"),
            ("/code stop", "stop []"),
            ("/code retry", "retry []"),
            ("/code help", "help []"),
            ("/code retry\n\nThe runner was out of disk.", "retry []"),
            ("/code retry the download three times", "run [retry the download three times]"),
            ("/code stop the server from leaking", "run [stop the server from leaking]"),
            ("/code help me", "run [help me]"),
            ("/code approve of nothing", "run [approve of nothing]"),
            ("/code stopwatch", "run [stopwatch]"),
            // These three mean something on pull requests only.
            ("/code fix", "run [fix]"),
            ("/code rebase", "run [rebase]"),
            ("/code review the docs", "run [review the docs]"),
        ],
    );
}

#[test]
fn f8_words_on_a_pull_request() {
    all(
        On::Pull,
        false,
        &[
            ("/code fix", "fix []"),
            ("/code fix --rounds 2", "fix [] rounds=2"),
            ("/code fix the parser", "run [fix the parser]"),
            ("/code rebase", "rebase []"),
            ("/code rebase onto main", "run [rebase onto main]"),
            ("/code review", "review []"),
            ("/code review only the SQL", "review [only the SQL]"),
            ("/code plan", "plan []"),
        ],
    );
}

#[test]
fn stop_stops_whatever_follows_while_a_session_is_live() {
    all(
        On::Issue,
        true,
        &[
            ("/code stop", "stop []"),
            ("/code STOP!!!", "stop []"),
            ("/code stop, this is wrong", "stop []"),
            ("/code stop the server from leaking", "stop []"),
            ("/code --rounds 2 stop", "stop []"),
            ("/code\nstop", "stop []"),
            ("@fixpoint stop please", "stop []"),
            ("/code stop\\\nnow", "stop []"),
            ("/code stopwatch", "run [stopwatch]"),
            ("/code stop-gap for the leak", "run [stop-gap for the leak]"),
            ("/code please stop", "run [please stop]"),
            ("> /code stop", "nothing"),
        ],
    );
}

#[test]
fn f12_what_is_no_command() {
    all(
        On::Issue,
        false,
        &[
            ("", "nothing"),
            ("please /code this", "nothing"),
            ("see src/code fix", "nothing"),
            ("/codex fix", "nothing"),
            ("/code-review", "nothing"),
            ("/code: fix", "nothing"),
            ("/code, fix", "nothing"),
            ("/code/fix", "nothing"),
            ("/code.", "nothing"),
            ("/code`fix`", "nothing"),
            ("/code<!-- -->", "nothing"),
            ("/code\u{200b} fix", "nothing"),
            ("/code\0fix", "nothing"),
            ("\u{200b}/code fix", "nothing"),
            ("\u{2060}/code fix", "nothing"),
            ("\0/code fix", "nothing"),
            ("//code fix", "nothing"),
            ("\\/code fix", "nothing"),
            ("\\@fixpoint fix", "nothing"),
            ("&#47;code fix", "nothing"),
            ("&sol;code fix", "nothing"),
            ("@fixpoint-dev fix", "nothing"),
            ("@fixpointer fix", "nothing"),
            ("@fixpoint, fix", "nothing"),
            ("@fixpoint/team fix", "nothing"),
            ("mail me@fixpoint fix", "nothing"),
            ("/ code fix", "nothing"),
            ("／code fix", "nothing"),
            ("\"/code fix\"", "nothing"),
            ("(/code fix)", "nothing"),
            ("**/code fix**", "nothing"),
            ("_/code fix_", "nothing"),
            ("~~/code fix~~", "nothing"),
        ],
    );
}

#[test]
fn f12_a_command_inside_code() {
    all(
        On::Issue,
        false,
        &[
            ("`/code fix`", "nothing"),
            ("``/code fix``", "nothing"),
            ("write `\n/code fix\n` to start", "nothing"),
            ("```\n/code fix\n```", "nothing"),
            ("~~~\n/code fix\n~~~", "nothing"),
            ("````\n```\n/code fix\n```\n````", "nothing"),
            ("```sh\n/code fix", "nothing"),
            ("```suggestion\n/code fix\n```", "nothing"),
            ("  ```\n/code fix\n  ```", "nothing"),
            ("    /code fix", "nothing"),
            ("\t/code fix", "nothing"),
            ("text\n\n    /code fix", "nothing"),
            // The end of code is the start of text again.
            ("```\nx\n```\n/code fix", "run [fix]"),
            ("    x\n/code fix", "run [fix]"),
        ],
    );
}

#[test]
fn f12_a_stray_backtick_hides_nothing() {
    all(
        On::Issue,
        false,
        &[
            ("it's a ` backtick\n/code fix", "run [fix]"),
            ("it's a ` backtick\n\n/code fix `a`", "run [fix `a`]"),
            ("two `` and one `\n/code fix", "run [fix]"),
            ("/code fix the ` key", "run [fix the ` key]"),
            ("```inline``` fence\n/code fix", "run [fix]"),
            ("text ```\n/code fix", "run [fix]"),
            ("a * star\n/code fix * it", "run [fix * it]"),
            ("*stray\n/code fix it*", "run [fix it*]"),
            ("a [ bracket\n/code fix ] it", "run [fix ] it]"),
            ("a < b\n/code fix > c", "run [fix > c]"),
            ("a | b\n/code fix", "run [fix]"),
        ],
    );
}

#[test]
fn f12_a_command_inside_a_quote() {
    all(
        On::Issue,
        false,
        &[
            ("> /code fix", "nothing"),
            (">/code fix", "nothing"),
            ("> > /code fix", "nothing"),
            ("> quoted\n/code fix", "nothing"),
            ("> [!NOTE]\n> /code fix", "nothing"),
            ("On Monday alice wrote:\n> /code fix\n> it\n", "nothing"),
            ("<blockquote>\n\n/code fix\n\n</blockquote>", "nothing"),
            ("> quoted\n\n/code fix", "run [fix]"),
            ("<blockquote>\n\nx\n\n</blockquote>\n\n/code fix", "run [fix]"),
            (
                "/code fix\n\nOn Monday alice wrote:\n> /code stop",
                "run [fix\n\nOn Monday alice wrote:\n> /code stop]",
            ),
        ],
    );
}

#[test]
fn f12_a_command_inside_html() {
    all(
        On::Issue,
        false,
        &[
            ("<!-- /code fix -->", "nothing"),
            ("<!--\n/code fix\n-->", "nothing"),
            ("<!--\n\n/code fix\n\n-->", "nothing"),
            ("<!-- never closed\n\n/code fix", "nothing"),
            ("text <!--\n/code fix\n--> text", "nothing"),
            ("<div>\n/code fix\n</div>", "nothing"),
            ("<br>\n/code fix", "nothing"),
            ("<pre>\n\n/code fix\n\n</pre>", "nothing"),
            ("<script>\n\n/code fix\n</script>", "nothing"),
            ("<details>\n<summary>log</summary>\n/code fix\n</details>", "nothing"),
            ("<details><summary>log</summary>\n\n/code fix\n\n</details>", "nothing"),
            ("<details>\n\n<details>\n\n</details>\n\n/code fix\n\n</details>", "nothing"),
            ("<DETAILS>\n\n/code fix", "nothing"),
            ("text <details>\n/code fix", "nothing"),
            ("<!-- a template's remark -->\n/code fix", "run [fix]"),
            ("<!-- <details> -->\n\n/code fix", "run [fix]"),
            ("`<details>`\n\n/code fix", "run [fix]"),
            ("<details>\n\nlog\n\n</details>\n\n/code fix", "run [fix]"),
            ("</details>\n\n/code fix", "run [fix]"),
            ("<div>\n\n/code fix", "run [fix]"),
            ("text <b>bold</b>\n/code fix", "run [fix]"),
        ],
    );
}

#[test]
fn f12_a_command_inside_another_block() {
    all(
        On::Issue,
        false,
        &[
            ("- /code fix", "nothing"),
            ("1. /code fix", "nothing"),
            ("- [ ] /code fix", "nothing"),
            ("- item\n/code fix", "nothing"),
            ("- item\n\n  /code fix", "nothing"),
            ("# /code fix", "nothing"),
            ("/code fix\n===", "nothing"),
            ("/code fix\n---", "nothing"),
            ("| a |\n|---|\n| /code fix |", "nothing"),
            ("| a |\n|---|\n/code fix", "nothing"),
            ("/code a | b\n--- | ---", "nothing"),
            ("[/code fix](https://example.org)", "nothing"),
            ("[a link\n/code fix](https://example.org)", "nothing"),
            ("![a picture\n/code fix](https://example.org/x.png)", "nothing"),
            ("[^1]: a note\n/code fix", "nothing"),
            ("[here]:\n/code", "nothing"),
            ("- item\n\n/code fix", "run [fix]"),
            ("# Title\n/code fix", "run [fix]"),
            ("---\n/code fix", "run [fix]"),
        ],
    );
}

#[test]
fn where_a_line_starts() {
    all(
        On::Issue,
        false,
        &[
            ("   /code fix", "run [fix]"),
            ("\n\n  /code fix", "run [fix]"),
            ("hello\n/code fix", "run [fix]"),
            ("hello\n        /code fix", "run [fix]"),
            ("hello  \n/code fix  \nit", "run [fix  \nit]"),
            ("hello\\\n/code fix", "run [fix]"),
            ("/code\\\nfix", "run [fix]"),
            ("hello\r\n/code fix\r\nit\r\n", "run [fix\r\nit]"),
            ("hello\r/code fix", "run [fix]"),
            ("\u{feff}/code fix", "run [fix]"),
            ("/code\nfix", "run [fix]"),
            ("/code\n\n```rust\nfn a() {}\n```", "run [```rust\nfn a() {}\n```]"),
            ("/code fix `a\nb` c", "run [fix `a\nb` c]"),
        ],
    );
}

#[test]
fn the_text_stays_as_it_was_written() {
    let comment =
        "/code **keep** `this` &amp; <b>that</b> \\* [x](y)\n\n> quoted\n\n- item\n\n    code\n<!-- seen -->";
    assert_eq!(command(comment).instruction, comment["/code ".len()..]);
}

#[test]
fn options_stand_before_the_text_or_at_the_end_of_its_line() {
    all(
        On::Issue,
        false,
        &[
            ("/code --model big fix it", "run [fix it] model=big"),
            (
                "/code --model=a/b:c --rounds=2 --base release/1.2 fix it",
                "run [fix it] model=a/b:c rounds=2 base=release/1.2",
            ),
            ("/code --ROUNDS 2 fix it", "run [fix it] rounds=2"),
            ("/code run --rounds 2 fix it", "run [fix it] rounds=2"),
            ("/code plan --model `big` fix it", "plan [fix it] model=big"),
            ("/code --rounds 2", "run [] rounds=2"),
            ("/code --rounds 2\nfix it", "run [fix it] rounds=2"),
            ("/code --rounds 2 retry", "retry [] rounds=2"),
            ("/code retry --model big --rounds=2", "retry [] model=big rounds=2"),
            ("/code fix it --rounds 2", "run [fix it] rounds=2"),
            ("/code fix it --model=big --base main\nand more", "run [fix it\nand more] model=big base=main"),
            // In between, in code, or none of ours: text.
            ("/code add a --rounds option to it", "run [add a --rounds option to it]"),
            ("/code fix `tool --base main`", "run [fix `tool --base main`]"),
            ("/code fix `--base main`", "run [fix `--base main`]"),
            ("/code make it accept --verbose", "run [make it accept --verbose]"),
            ("/code explain --model", "run [explain --model]"),
            ("/code fix it\n--rounds 2", "run [fix it\n--rounds 2]"),
            ("/code -- please fix it", "run [-- please fix it]"),
            ("/code -v is broken", "run [-v is broken]"),
            ("/code retry with --rounds in the text", "run [retry with --rounds in the text]"),
        ],
    );
}

#[test]
fn a_mistake_gets_one_helpful_sentence() {
    let cases = [
        ("/code --verbose fix it", "`--verbose` is not an option"),
        ("/code aprove", "\"aprove\" is not a command (did you mean \"approve\"?)"),
        ("/code Statsu --rounds 2", "did you mean \"status\""),
        ("/code retry --force", "`--force` is not an option"),
        ("/code --rounds many fix it", "`--rounds` wants a whole number from 1 up, not `many`"),
        ("/code --rounds 0 fix it", "not `0`"),
        ("/code --rounds -1 fix it", "not `-1`"),
        ("/code --rounds +1 fix it", "not `+1`"),
        ("/code --rounds 99999999999 fix it", "not `99999999999`"),
        ("/code fix it --rounds 2.5", "not `2.5`"),
        ("/code --rounds", "nothing follows it"),
        ("/code --model= fix it", "nothing follows it"),
        ("/code --model --rounds 2 fix it", "`--model` wants a model's name, and nothing follows it"),
        ("/code --base a..b fix it", "`--base` wants a branch's name, not `a..b`"),
        ("/code --rounds 1 --rounds 2 fix it", "given twice"),
        ("/code --model a fix it --model=b", "given twice"),
        ("/code --@alice fix it", "run"),
        ("/code --x`@alice`<script> fix it", "`--x@alice<script>` is not an option"),
    ];
    for (comment, expected) in cases {
        match on_issue(comment) {
            Read::Mistake(sentence) => assert!(sentence.contains(expected), "{comment:?}: {sentence}"),
            other => assert_eq!(said(other).split(' ').next(), Some(expected), "{comment:?}"),
        }
    }
}

#[test]
fn f11_the_first_command_counts_and_later_ones_are_named() {
    let read = command(
        "Hi!\n\n/code fix it\nlike this\n\n@fixpoint status\n```\n/code no\n```\n/code stop everything at once, whatever it is that you are just now doing there",
    );
    assert_eq!(read.instruction, "fix it\nlike this");
    assert_eq!(
        read.not_taken,
        ["@fixpoint status", "/code stop everything at once, whatever it is that you are j…",]
    );
}

#[test]
fn why_a_comment_is_no_command() {
    let cases = [
        ("hello", "no command stands at the start of a line"),
        ("> /code fix", "it stands in a quote (an empty line before it ends the quote)"),
        ("- /code fix", "it stands in a list (an empty line before it ends the list)"),
        ("`/code`", "it stands in code"),
        ("```\n/code\n```", "it stands in code"),
        ("<div>\n/code", "it stands in raw HTML (an empty line before it ends the HTML)"),
        ("<details>\n\n/code fix", "it stands in a folded part (<details>)"),
        ("# /code", "it stands in a heading"),
        ("| a |\n|---|\n| /code |", "it stands in a table"),
        ("[/code](x)", "it stands in a link"),
        ("\\/code", "its slash or mention is escaped by a backslash"),
        ("/codex", "the word at the start of the line goes on: it is another word"),
        ("please /code", "it does not stand at the start of a line"),
    ];
    for (comment, why) in cases {
        assert_eq!(on_issue(comment), Read::Nothing(why), "{comment:?}");
    }
}

#[test]
fn two_installations_stand_side_by_side() {
    let other = super::Reading { word: "robo.fix", app: "robo", on: On::Issue, live: false };
    assert_eq!(said(read("/robo.fix it", &other)), "run [it]");
    assert_eq!(said(read("/code it", &other)), "nothing");
    assert_eq!(said(read("@fixpoint it", &other)), "nothing");
    let nameless = super::Reading { word: "", app: "", on: On::Issue, live: false };
    assert_eq!(said(read("/ it\n\n@ it", &nameless)), "nothing");
}
