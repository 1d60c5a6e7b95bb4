//! Tests that are no longer there, or no longer found by their runner.

use super::{Moved, Sides};
use crate::domain::{policy::paths, text::pattern::pattern};
use regex::Regex;

/// What tests a change takes away.
pub(super) fn gone(sides: &Sides<'_>, moved: &Moved) -> Vec<String> {
    let file = sides.file;
    if !sides.had_tests() {
        return data(sides)
            .or_else(|| unlisted(&sides.old.code, &sides.new.code, moved))
            .into_iter()
            .collect();
    }
    let before = names(sides.old_path, &sides.old.test);
    let lost = lost(&before, sides, moved);
    if file.new_mode.is_none() {
        let is_moved = lost.is_empty() && !before.is_empty();
        return if is_moved || sides.old.test.trim().is_empty() {
            Vec::new()
        } else {
            vec!["the test file was deleted".to_owned()]
        };
    }
    if sides.old_path != file.path && !is_found_like(sides.old_path, &file.path) {
        return vec![format!("{} was renamed so that it may no longer be run", super::shown(sides.old_path))];
    }
    let mut seen: Vec<String> =
        lost.iter().map(|name| format!("the test {} is gone", super::shown(name))).collect();
    seen.extend(unlisted(&sides.old.test, &sides.new.test, moved));
    if is_script(&file.path) && file.old_mode == Some(0o100_755) && file.new_mode == Some(0o100_644) {
        seen.push("the test script can no longer be executed".to_owned());
    }
    seen
}

/// Names this file lost and no test file of the change gained. A renamed test counts as kept when the file has as many
/// tests as before: what it demands is looked at by itself.
fn lost(before: &[String], sides: &Sides<'_>, moved: &Moved) -> Vec<String> {
    let after = names(&sides.file.path, &sides.new.test);
    if sides.file.new_mode.is_some() && after.len() >= before.len() {
        return Vec::new();
    }
    let mut rest = after.clone();
    let lost = before.iter().filter(|name| match rest.iter().position(|other| other == *name) {
        Some(at) => {
            rest.swap_remove(at);
            false
        }
        None => true,
    });
    lost.filter(|name| moved.tests.get(*name).is_some_and(|count| *count < 0)).cloned().collect()
}

/// Would a runner that found the old path find the new one?
fn is_found_like(old: &str, new: &str) -> bool {
    let shape = |path: &str| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split('.').next().unwrap_or(name);
        let ends = ["test", "tests", "Test", "Tests", "spec", "Spec"].iter().any(|word| stem.ends_with(word));
        let is_marked = name.contains(".test.") || name.contains(".spec.");
        // Cargo builds a test of each file in `tests`, not of those in its folders.
        let is_in_tests = paths::ending(path) == "rs" && (folder == "tests" || folder.ends_with("/tests"));
        (stem.starts_with("test"), ends, is_marked, is_in_tests, paths::ending(path))
    };
    paths::is_test(new) && shape(old) == shape(new)
}

fn is_script(path: &str) -> bool {
    matches!(paths::ending(path).as_str(), "sh" | "bash" | "bats" | "t" | "py" | "pl")
}

/// A list of tests that names one less.
fn unlisted(old: &str, new: &str, moved: &Moved) -> Option<String> {
    let entry = pattern!(
        r#"^\s*(?:pub\s+)?mod\s+\w+\s*;|\b(?:addTest\w*|RUN_TEST|MU_RUN_TEST|suite_add_tcase|tcase_add_\w+|CU_add_test|add_test)\s*\(|^\s*(?:import|require|load|from)\b.*["'./\s]\w*(?i:test_|_test|\.test|\.spec|_spec)"#
    );
    super::added(new, old)
        .into_iter()
        .filter(|(_, line)| moved.lines.get(&super::squeezed(line)).is_none_or(|count| *count < 0))
        .find(|(_, line)| entry.is_match(line))
        .map(|(_, line)| format!("{} no longer names a test", super::shown(line)))
}

/// Files that hold what tests expect: a new one is welcome, a changed or deleted one is looked at.
fn data(sides: &Sides<'_>) -> Option<String> {
    let file = sides.file;
    if file.old_mode.is_none() || !paths::is_test_data(sides.old_path) || file.old == file.new {
        return None;
    }
    match file.new_mode {
        None => Some("a file that tests read was deleted".to_owned()),
        Some(_) => Some("what tests expect, or are given, was changed".to_owned()),
    }
}

/// The names of all tests in a test file's text.
pub(super) fn names(path: &str, text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let header = header(path);
    let name = |found: regex::Captures<'_>| {
        found.iter().skip(1).flatten().last().map(|name| name.as_str().to_owned())
    };
    header.captures_iter(text).filter_map(name).collect()
}

/// Where a test begins: the header's last group is its name.
pub(super) fn header(path: &str) -> &'static Regex {
    match paths::ending(path).as_str() {
        "rs" => pattern!(
            r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b[^\]\n]*\]\s*(?:#\[[^\n]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(\w+)"
        ),
        "py" | "pyi" => {
            pattern!(r"(?m)^[ \t]*(?:async\s+)?def\s+(test\w*)\s*\(|^class\s+(Test\w*|\w+Tests?(?:Case)?)\b")
        }
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => pattern!(
            r#"(?m)(?:^|[^\w.])(?:it|test|specify)(?:\.(?:concurrent|sequential|only|each(?:\([^\n]*?\)|`[^`]*`)))*\s*\(\s*(?:"([^"\n]*)"|'([^'\n]*)'|`([^`\n]*)`)"#
        ),
        "go" => pattern!(
            r#"(?m)^func\s+(?:\([^)]*\)\s*)?((?:Test|Fuzz|Example)\w*)\s*\(|\bt\.Run\(\s*"([^"\n]*)""#
        ),
        "java" | "kt" | "kts" | "scala" | "groovy" => pattern!(
            r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b(?:\([^)]*\))?\s*(?:@\w+(?:\([^)]*\))?\s*)*(?:[\w<>\[\]]+\s+)*?(`[^`]+`|\w+)\s*\(|\bvoid\s+(test\w+)\s*\("
        ),
        "rb" => pattern!(
            r#"(?m)^\s*(?:it|specify|scenario|example|test|should)\s*\(?\s*(?:"([^"\n]*)"|'([^'\n]*)')|^\s*def\s+(test_\w+)"#
        ),
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "m" => pattern!(
            r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|TEST_CASE|TEST_CASE_METHOD|SCENARIO|SECTION|SUBCASE|BOOST_AUTO_TEST_CASE|BOOST_FIXTURE_TEST_CASE|CATCH_TEST_CASE|TEST_METHOD|START_TEST|RUN_TEST|MU_TEST|tcase_add_test|CU_add_test)\s*\(([^)\n]*)\)|\bvoid\s+(test\w+)\s*\("
        ),
        "cs" | "fs" | "vb" => pattern!(
            r"\[(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b[^\]\n]*\]\s*(?:\[[^\n]*\]\s*)*(?:[\w<>\[\]]+\s+)*?(\w+)\s*\("
        ),
        "php" | "phpt" => pattern!(
            r#"\bfunction\s+(test\w+)\s*\(|#\[Test\]\s*(?:\w+\s+)*function\s+(\w+)|(?m)^\s*(?:it|test)\(\s*(?:"([^"\n]*)"|'([^'\n]*)')"#
        ),
        "ex" | "exs" => pattern!(r#"(?m)^\s*test\s+"([^"\n]*)""#),
        "swift" => pattern!(r#"\bfunc\s+(test\w+)\s*\(|@Test\b[^\n]*\s+func\s+(\w+)"#),
        _ => pattern!(
            r#"(?m)^\s*@test\s+(?:"([^"\n]*)"|'([^'\n]*)')|^\s*(?:function\s+)?(test\w*)\s*(?:\(\s*\))?\s*\{"#
        ),
    }
}
