//! What switches a test off, makes it pass whatever happens, or gives it more room.

use super::{Moved, Sides, added, cases, shown};
use crate::domain::text::pattern::pattern;
use regex::Regex;

/// Marks in the new tests that were not in the old ones and touch tests that were there.
pub(super) fn off(sides: &Sides<'_>, moved: &Moved) -> Vec<String> {
    if !sides.had_tests() || sides.file.new_mode.is_none() {
        return Vec::new();
    }
    let lines = added(&sides.old.test, &sides.new.test);
    let known = Known::of(sides, moved);
    let mut seen = Vec::new();
    for (at, line) in &lines {
        let what = if is_skip(line) {
            "a test is skipped"
        } else if is_swallowed(line) {
            "a failure is swallowed"
        } else if is_dead(line) {
            "a part of a test is never reached"
        } else if is_faked(line) {
            "what is tested is replaced"
        } else {
            continue;
        };
        if known.touches(*at) {
            seen.push(format!("{what}: {}", shown(line)));
        }
    }
    seen.extend(lost_marks(sides));
    seen.extend(more_room(&sides.old.test, &sides.new.test));
    seen
}

/// Which lines of the new tests belong to tests that were there before.
struct Known {
    /// Line and "was there before" of each test's header, in order.
    headers: Vec<(usize, bool)>,
}

impl Known {
    fn of(sides: &Sides<'_>, moved: &Moved) -> Self {
        let text = &sides.new.test;
        let before = cases::names(sides.old_path, &sides.old.test);
        // Where a name was lost, a new one may be the old test under another name.
        let is_any_lost = before.iter().any(|name| moved.tests.get(name).is_some_and(|count| *count < 0));
        let headers = cases::header(&sides.file.path)
            .captures_iter(text)
            .filter_map(|found| {
                let name = found.iter().skip(1).flatten().last()?;
                let line = text[..name.start()].matches('\n').count();
                Some((line, is_any_lost || before.iter().any(|known| known == name.as_str())))
            })
            .collect();
        Self { headers }
    }

    /// Does a mark on this line touch an old test? Before the first header it touches all; a decorator belongs to the
    /// next header, anything else to the last one.
    fn touches(&self, line: usize) -> bool {
        let after = self.headers.iter().find(|(at, _)| *at >= line && at - line <= 3);
        let before = self.headers.iter().rev().find(|(at, _)| *at <= line);
        match (before, after) {
            (None, None) => true,
            // A mark between two tests belongs to one of them: to be new, both have to be.
            (before, after) => {
                before.is_none_or(|(_, old)| *old) && self.headers.len() > 0 && before.is_some()
                    || after.is_some_and(|(_, old)| *old)
                    || (before.is_none() && after.is_none_or(|(_, old)| *old))
            }
        }
    }
}

fn is_skip(line: &str) -> bool {
    pattern!(concat!(
        r"(?i)\bskip(?:if|unless|test|now|f)?\b\s*[(=:!]|\.skip\w*\b|@\w*\.?skip\w*|\bxfail\b|\bx(?:it|describe|test|context|specify|scenario)\s*[(\s]|\bf(?:it|describe|context)\s*\(",
        r"|\.only\s*\(|\.todo\s*\(|\.fixme\b|\.failing\b|\bpending\b|\btest\.fails\b|\bSkipTest\b|\b__test__\s*=\s*False|\bcollect_ignore|\bimportorskip\b|pytestmark\s*=",
        r"|#\[ignore|#\[should_panic|cfg\(any\(\)\)|cfg\(not\(test\)\)|#\[cfg\(feature|\bt\.Skip|testing\.Short\(\)|^\s*//go:build\b|^\s*// \+build\b",
        r"|@Disabled|@Ignore\b|@EnabledIf|@DisabledOn|\bassumeTrue|\bassumeFalse|\bassumeThat|\bAssumptions\.|\benabled\s*=\s*false",
        r"|\bGTEST_SKIP|\bDISABLED_\w|\[\.\w*\]|\[!(?:shouldfail|mayfail|hide|benchmark)\]|doctest::(?:skip|may_fail|should_fail|expected_failures)|\bdisabled\(\)|boost::unit_test::(?:disabled|expected_failures)|\bTEST_IGNORE",
        r"|\[(?:Ignore|Explicit)\b|\bSkip\s*=|Assert\.(?:Ignore|Inconclusive|Pass)\b|markTest(?:Skipped|Incomplete)|->skip\(|@group\s+disabled|@doesNotPerformAssertions|@requires\b",
        r"|^\s*skip\b|^\s*return\s+(?:true|0|nil|None)?;?\s*$|^\s*return;?\s*$|^\s*exit\s+0\b|\b(?:sys\.exit|os\._exit|process\.exit|exit|os\.Exit|System\.exit|std::process::exit)\s*\(\s*0?\s*\)|@unittest\.expectedFailure|@pytest\.mark\.(?:skip|xfail|flaky|slow|manual|disabled)|@tag\s+:?skip|@moduletag|\bthis\.retries\(|\bjest\.retryTimes|\bflaky\b"
    ))
    .is_match(line)
}

fn is_swallowed(line: &str) -> bool {
    pattern!(concat!(
        r"\bexcept\s*(?:\(?\s*(?:AssertionError|Exception|BaseException)\b[^:]*)?:|\bsuppress\s*\(|\bcatch\s*(?:\([^)]*\))?\s*\{|\.catch\s*\(\s*\(?\w*\)?\s*=>|\brescue\b",
        r"|catch_unwind|\brecover\s*\(\s*\)|\bset\s+\+e\b|\|\|\s*(?:true|:|exit\s+0|return\s+0|echo\b)|;\s*true\s*$|\btry!\s*\{|\bensure\b|@\$"
    ))
    .is_match(line)
}

fn is_dead(line: &str) -> bool {
    pattern!(
        r"(?i)\bif\s*\(?\s*(?:false|0|!true|not\s+true)\s*\)?\s*[:{]?|\bwhile\s*\(?\s*(?:false|0)\s*\)?|\bif\s+.*\b(?:environ|getenv|process\.env|ENV\[|std::env|os\.Getenv|sys\.platform|sys\.version)|^\s*if\s+(?:\[\[?\s+)?.*\$\{?(?:CI|GITHUB_ACTIONS)\b|^\s*#if\b|\bif\s+False\b|\bunless\s+true\b|^\s*<<'?\w+'?\s*$|^\s*:\s*<<"
    )
    .is_match(line)
}

fn is_faked(line: &str) -> bool {
    pattern!(
        r"\b(?:mock|patch|stub|spy|fake)\w*\.?(?:object|dict)?\s*\(|\bjest\.(?:mock|spyOn|fn)\b|\bvi\.(?:mock|spyOn|fn)\b|\bmonkeypatch\.setattr|\bsinon\.(?:stub|fake|replace)|@patch\b|@Mock(?:Bean)?\b|\bwhen\s*\(.*\)\.then|\ballow\s*\(.*\)\.to\s+receive|\.mockReturnValue|\.mockImplementation|return_value\s*="
    )
    .is_match(line)
}

/// Attributes that make a function a test, fewer than before while the functions are still there.
fn lost_marks(sides: &Sides<'_>) -> Option<String> {
    let marks = pattern!(
        r"#\[(?:\w+::)*(?:test|rstest)\b|@Test\b|@ParameterizedTest\b|\[(?:Fact|Theory|Test|TestMethod|TestCase|InlineData)\b|#\[Test\]|@pytest\.mark\.parametrize|#\[case\b|@(?:ValueSource|CsvSource|MethodSource|EnumSource|DataProvider)"
    );
    let count = |text: &str| marks.find_iter(text).count();
    let (before, after) = (count(&sides.old.test), count(&sides.new.test));
    // Gone tests are named one by one elsewhere.
    let cases = |path: &str, text: &str| cases::names(path, text).len();
    let tests_gone =
        cases(sides.old_path, &sides.old.test).saturating_sub(cases(&sides.file.path, &sides.new.test));
    (before > after + tests_gone)
        .then(|| format!("{} of {before} marks that make tests run are gone", before - after))
}

/// Times and tolerances that were raised.
pub(super) fn more_room(old: &str, new: &str) -> Option<String> {
    let gone = added(new, old);
    let come = added(old, new);
    for what in [times(), tolerances()] {
        for (_, line) in &come {
            let Some((name, value)) = amount(what, line) else { continue };
            let before =
                gone.iter().filter_map(|(_, line)| amount(what, line)).find(|(other, _)| *other == name);
            let is_time = std::ptr::eq(what, times());
            let is_raised = match before {
                Some((_, before)) => value > before,
                None => {
                    is_time
                        && value > 0.0
                        && pattern!(r"(?i)setTimeout\(|mark\.timeout|@Timeout|retr(?:y|ies)").is_match(line)
                }
            };
            if is_raised {
                return Some(format!("more room than before: {}", shown(line)));
            }
        }
    }
    None
}

fn times() -> &'static Regex {
    pattern!(
        r#"(?i)(time_?out|deadline|wait|retr(?:y|ies)|re_?runs?|max_?attempts|patience)\w*["']?\s*(?:[:=(]|\s)\s*(?:time\.|Duration\.?(?:::)?)?[\w.]*?\(?\s*(\d[\d_.eE+-]*)"#
    )
}

fn tolerances() -> &'static Regex {
    pattern!(
        r#"(?i)(eps(?:ilon)?|tol(?:erance)?|delta|threshold|precision|max_?warnings|max_?diff\w*|allowed_?\w*|slack|margin)\w*["']?\s*(?::\s*\w+\s*)?[:=(]\s*(\d[\d_.]*(?:[eE][+-]?\d+)?)"#
    )
}

fn amount(what: &Regex, line: &str) -> Option<(String, f64)> {
    let found = what.captures(line)?;
    let number = found.get(2)?.as_str().replace('_', "");
    let number = number.trim_end_matches(['.', '-', '+', 'e', 'E']).parse().ok()?;
    Some((found.get(1)?.as_str().to_lowercase(), number))
}
