//! What tests demand: assertions, expected values, cases in tables. Each must still be demanded, or more strictly.

use super::{Moved, Sides, signs, squeezed, weight};
use crate::domain::{policy::paths, text::pattern::pattern};
use regex::Regex;
use std::collections::{HashMap, HashSet};

/// Lines an assertion may go on for.
const STATEMENT: usize = 40;

/// Demands compared with each other: every one with every one.
const PAIRS: usize = 300;

/// Demands that a change takes away or makes looser.
pub(super) fn fewer(sides: &Sides<'_>, moved: &Moved) -> Vec<String> {
    if !sides.had_tests()
        || sides.file.new_mode.is_none()
        || squeezed(&sides.old.test) == squeezed(&sides.new.test)
    {
        return Vec::new();
    }
    let before = all(sides.old_path, &sides.old.test);
    let after = all(&sides.file.path, &sides.new.test);
    let mut gone = minus(&before, &after);
    gone.retain(|demand| moved.demands.get(demand).is_none_or(|count| *count < 0));
    if gone.len() > PAIRS {
        return vec![format!("{} demands are gone or changed, too many to compare one by one", gone.len())];
    }
    let mut new = minus(&after, &before);
    new.truncate(PAIRS);
    let mut seen: Vec<String> = gone.iter().filter_map(|demand| looser(demand, &mut new, moved)).collect();
    if seen.is_empty() {
        seen.extend(values(sides, moved));
    }
    seen
}

/// What became of a demand that is no longer there word for word.
fn looser(gone: &str, new: &mut Vec<String>, moved: &Moved) -> Option<String> {
    let best = new
        .iter()
        .enumerate()
        .map(|(at, other)| (at, likeness(gone, other)))
        .filter(|(_, likeness)| *likeness >= 40)
        .max_by_key(|(_, likeness)| *likeness);
    let Some((at, _)) = best else {
        return Some(format!("{} is no longer demanded", super::shown(gone)));
    };
    let now = new.swap_remove(at);
    if weight::keeps(gone, &now, moved) {
        return None;
    }
    Some(format!("{} became {}", super::shown(gone), super::shown(&now)))
}

/// What `these` has more often than `those`.
pub(super) fn without(these: &[String], those: &[String]) -> Vec<String> {
    let mut rest = those.to_vec();
    let gone = these.iter().filter(|token| match rest.iter().position(|other| other == *token) {
        Some(at) => {
            rest.swap_remove(at);
            false
        }
        None => true,
    });
    gone.cloned().collect()
}

/// Lines that are gone and looked at; a change of more is read by nobody line by line.
const LINES: usize = 2_000;

/// Lines that decide what is tested (rows of tables, inputs, loops, conditions, calls) that are gone or changed.
fn values(sides: &Sides<'_>, moved: &Moved) -> Option<String> {
    let hunks = hunks(&super::added(&sides.old.test, &sides.new.test));
    let whole = squeezed(&sides.new.test);
    super::added(&sides.new.test, &sides.old.test)
        .into_iter()
        .take(LINES)
        .filter(|(_, line)| decides(line, is_shell(&sides.file.path)) && !signs::is_amount(line))
        .filter(|(_, line)| moved.lines.get(&squeezed(line)).is_none_or(|count| *count < 0))
        .find(|(_, line)| !hunks.iter().any(|hunk| holds(hunk, &whole, line, moved)))
        .map(|(_, line)| format!("{} is gone or changed", super::shown(line)))
}

/// Does a line of a test decide what is tested? In a script every command does.
fn decides(line: &str, is_shell: bool) -> bool {
    let telling = pattern!(
        r#"["'`]|\b\d|^\s*(?:\}\s*)?(?:for|while|if|else if|elif|switch|match|case|when|unless|until)\b|^\s*(?:await\s+)?[\w.:>-]+\([^()]*\)\??;?\s*$"#
    );
    let aside = pattern!(
        r#"^\s*(?:import|from|use|using|require|include|#include|package|load|source|\.|echo|print\w*)\b|\brequire\(|^\s*[})\]]|^\s*(?:@|#\[)?(?:it|test|def|describe|func|fn|class|context)\b|^\s*@test\b|^\s*$"#
    );
    (is_shell || telling.is_match(line)) && !aside.is_match(line)
}

fn is_shell(path: &str) -> bool {
    matches!(paths::ending(path).as_str(), "sh" | "bash" | "bats" | "zsh")
}

/// Does a run of new lines say all that a line that is gone said?
fn holds(hunk: &HashMap<String, usize>, whole: &str, line: &str, moved: &Moved) -> bool {
    let row = pattern!(r"[(\[{][^()\[\]{}]*[)\]}]");
    let text = pattern!(r#""[^"]*"|'[^']*'"#);
    let how = pattern!(r"^(?:const|let|var|val|final|static|mut|auto)$");
    // A row of numbers is held together by its brackets: all of it is there, or it is another row.
    let is_there = |row: &str| {
        !text.replace_all(row, "").contains(|c: char| c.is_ascii_digit()) || whole.contains(&squeezed(row))
    };
    let is_said = |token: &String, times: usize| {
        hunk.get(token).is_some_and(|count| *count >= times)
            || moved.lost_names.contains(token)
            || how.is_match(token)
    };
    counted(tokens(line)).iter().all(|(token, times)| is_said(token, *times))
        && row.find_iter(line).all(|row| is_there(row.as_str()))
}

/// Runs of neighbouring lines, as tokens with how often each stands there.
fn hunks(lines: &[(usize, &str)]) -> Vec<HashMap<String, usize>> {
    let mut hunks: Vec<(usize, Vec<String>)> = Vec::new();
    for (at, line) in lines {
        match hunks.last_mut() {
            Some((last, hunk)) if *at <= *last + 2 => {
                *last = *at;
                hunk.extend(tokens(line));
            }
            _ => hunks.push((*at, tokens(line))),
        }
    }
    hunks.into_iter().map(|(_, hunk)| counted(hunk)).collect()
}

fn counted(tokens: Vec<String>) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    tokens.into_iter().for_each(|token| *counts.entry(token).or_default() += 1);
    counts
}

/// All demands of a test file, each on one line.
pub(super) fn all(path: &str, text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let sign = sign(path);
    let lines: Vec<&str> = text.lines().collect();
    let mut demands = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let length = if sign.is_match(lines[at]) { statement(&lines[at..]) } else { 0 };
        if length > 0 {
            let text = lines[at..at + length].iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
            demands.push(plain(&text));
        }
        at += length.max(1);
    }
    demands
}

/// The same for all spellings of one demand.
fn plain(text: &str) -> String {
    let one = crate::domain::text::line(text);
    let one = pattern!(r",\s*([)\]}])").replace_all(&one, "$1");
    let one = pattern!(r"([(\[{])\s+|\s+([)\]}])").replace_all(&one, "$1$2");
    one.trim_end_matches([';', ',']).to_owned()
}

/// How many lines the statement takes that begins here: until its brackets are closed.
fn statement(lines: &[&str]) -> usize {
    let mut open = 0_i64;
    for (count, line) in lines.iter().take(STATEMENT).enumerate() {
        for c in line.chars() {
            match c {
                '(' | '[' => open += 1,
                ')' | ']' => open -= 1,
                _ => {}
            }
        }
        if open <= 0 && !line.trim_end().ends_with('\\') {
            return count + 1;
        }
    }
    1
}

/// How alike two demands are, in hundredths: common words of all words.
pub(super) fn likeness(one: &str, other: &str) -> usize {
    let (a, b) = (tokens(one), tokens(other));
    let common = a.len() - without(&a, &b).len();
    common * 100 / (a.len() + b.len() - common).max(1)
}

/// Names, numbers, texts and operators, in order.
pub(super) fn tokens(text: &str) -> Vec<String> {
    pattern!(r#"[A-Za-z_]\w*|\d[\w.]*|"[^"]*"|'[^']*'|[=!<>]=+|\|\||&&|[-+*/%<>?]"#)
        .find_iter(text)
        .map(|token| token.as_str().trim_matches(['"', '\'']).to_owned())
        .collect()
}

/// Names alone.
pub(super) fn names(text: &str) -> HashSet<String> {
    pattern!(r"[A-Za-z_]\w*").find_iter(text).map(|token| token.as_str().to_owned()).collect()
}

/// What `these` has more often than `those`.
pub(super) fn minus(these: &[String], those: &[String]) -> Vec<String> {
    let mut left: HashMap<String, usize> = HashMap::new();
    those.iter().for_each(|demand| *left.entry(squeezed(demand)).or_default() += 1);
    these
        .iter()
        .filter(|demand| match left.get_mut(&squeezed(demand)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .cloned()
        .collect()
}

/// Where an assertion stands, by language.
fn sign(path: &str) -> &'static Regex {
    match paths::ending(path).as_str() {
        "rs" => pattern!(
            r"\b(?:debug_)?assert\w*!|\bprop_assert\w*!|\bpanic!\s*\(|#\[should_panic|\.unwrap_err\(\)|\.expect_err\("
        ),
        "py" | "pyi" => pattern!(
            r"^\s*assert\b|\bassert\w+\s*\(|\bself\.(?:assert|fail)\w*\b|\bpytest\.(?:raises|warns|fail)\b|\braise\s+AssertionError"
        ),
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => pattern!(
            r"\bexpect\w*(?:\.\w+)?\s*[(<]|\bassert\w*(?:\.\w+)*\s*\(|\.should\b|\bshould\.|\bt\.(?:is|not|deepEqual|true|false|truthy|falsy|throws\w*|like|regex|equal|same|ok|fail|plan|snapshot|match)\s*\(|\bthrow new Error"
        ),
        "go" => pattern!(
            r"\bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require|is|qt|c|must|suite|s)\.(?:\w*Equal\w*|True|False|Nil|NotNil|NoError|Error\w*|Contains|Len|Empty|Panics|Assert|Zero|Regexp|Greater\w*|Less\w*|JSONEq|ElementsMatch|InDelta|Is)\("
        ),
        "java" | "kt" | "kts" | "scala" | "groovy" => {
            pattern!(r"\bassert\w*\b|\bverify\w*\s*\(|\bfail\s*\(|\bshould\w*\b|\bexpect\w*\s*[(<]")
        }
        "rb" => pattern!(
            r"\b(?:assert|refute)\w*\b|\bexpect\s*[({]|\.should\b|\.should_not\b|\b(?:must|wont)_\w+|\bflunk\b"
        ),
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "m" => pattern!(
            r"\b(?:ASSERT|EXPECT|CHECK|REQUIRE|BOOST_(?:CHECK|REQUIRE|TEST|WARN)|TEST_ASSERT|CU_ASSERT|CATCH_CHECK|CATCH_REQUIRE|STATIC_REQUIRE|QCOMPARE|QVERIFY|DOUBLES_EQUAL|LONGS_EQUAL|STRCMP_EQUAL|XCTAssert)\w*\s*\(|\b(?:ck_|mu_|g_)?assert\w*\s*\("
        ),
        "cs" | "fs" | "vb" => pattern!(r"\b\w*Assert\w*\.\w+|\.Should\w*\(|\.Verify\w*\(|\bExpect\w*\("),
        "php" | "phpt" => pattern!(r"\bassert\w*\s*\(|\bexpect\w*\s*\(|->fail\s*\(|->should\w*\s*\("),
        "swift" => pattern!(r"\bXCT\w+\s*\(|#expect\b|#require\b"),
        "ex" | "exs" => pattern!(r"\b(?:assert|refute)\w*\b"),
        _ => pattern!(
            r"\bassert\w*\b|\brefute\w*\b|\[\[?\s|\btest\s|\|\|\s*(?:fail|exit|return)|\bgrep\s+-\w*q|\bdiff\s|\bcmp\s|\bshould\b|\bexit\s+[1-9]|\bfail\b"
        ),
    }
}
