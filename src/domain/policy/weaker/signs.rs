//! What switches a test off, lets it pass whatever happens, or gives it more room.

use super::{Moved, Sides, added, cases, shown};
use crate::domain::{policy::paths, text::pattern::pattern};
use regex::Regex;

/// Marks in the new tests that were not in the old ones and touch tests that were there.
pub(super) fn off(sides: &Sides<'_>, moved: &Moved) -> Vec<String> {
    if !sides.had_tests() || sides.file.new_mode.is_none() {
        return Vec::new();
    }
    let known = Known::of(sides, moved);
    let skip = skip(&sides.file.path);
    let mut seen = Vec::new();
    for (at, line) in added(&sides.old.test, &sides.new.test) {
        if let Some(what) = mark(skip, line).filter(|_| ends_all(line) || known.touches(at, line)) {
            seen.push(format!("{what}: {}", shown(line)));
        }
    }
    seen.extend(build_tag(sides));
    seen.extend(lost_marks(sides));
    seen.extend(more_room(&sides.old.test, &sides.new.test));
    seen
}

/// What a line does to the test it stands in.
fn mark(skip: &Regex, line: &str) -> Option<&'static str> {
    match line {
        line if skip.is_match(line) || ends_early(line) => Some("a test is skipped"),
        line if is_swallowed(line) => Some("a failure is swallowed"),
        line if is_dead(line) => Some("a part of a test is not always reached"),
        line if is_faked(line) => Some("what is tested is replaced"),
        _ => None,
    }
}

/// Which lines of the new test file belong to what was there before.
struct Known<'a> {
    /// Line and "was there before" of each test and function, in order.
    headers: Vec<(usize, bool)>,
    /// The test file as it was.
    old: &'a str,
    /// A test's name was lost: a new one may be the old test under another name.
    is_any_lost: bool,
}

impl<'a> Known<'a> {
    fn of(sides: &'a Sides<'_>, moved: &Moved) -> Self {
        let text = &sides.new.test;
        let tests = cases::names(sides.old_path, &sides.old.test);
        let is_any_lost = tests.iter().any(|name| moved.tests.get(name).is_some_and(|count| *count < 0));
        let function = pattern!(
            r"(?m)^[ \t]*(?:(?:pub(?:\([^)]*\))?|async|export|default|static|public|private|protected|final|override|suspend|unsafe|const)\s+)*(?:def|function|func|fn|fun|class|const|let)\s+(?:\([^)]*\)\s*)?(\w+)"
        );
        let mut before: Vec<String> = function
            .captures_iter(&sides.old.test)
            .filter_map(|found| Some(found.get(1)?.as_str().to_owned()))
            .collect();
        before.extend(tests);
        let mut headers = Vec::new();
        for header in [cases::header(&sides.file.path), function] {
            for found in header.captures_iter(text) {
                let Some(name) = found.iter().skip(1).flatten().last() else { continue };
                let line = text[..name.start()].matches('\n').count();
                headers.push((line, is_any_lost || before.iter().any(|known| known == name.as_str())));
            }
        }
        headers.sort_unstable();
        Self { headers, old: &sides.old.test, is_any_lost }
    }

    /// Does a mark on this line touch an old test? A decorator belongs to the header below it, a line that declares a
    /// test to that test, anything else to the header above it; what stands above all headers touches everything.
    fn touches(&self, at: usize, line: &str) -> bool {
        let is_decorator = pattern!(r"^\s*(?:@|#\[|\[\w)").is_match(line);
        let declared = pattern!(r#"^\s*[\w.]+\s*\(?\s*["'`]([^"'`]+)["'`]"#)
            .captures(line)
            .and_then(|found| found.get(1));
        if let (Some(name), false) = (declared, self.is_any_lost)
            && pattern!(
                r"\b(?:it|test|describe|context|specify|scenario|suite)\b|^\s*[xf](?:it|describe|context)"
            )
            .is_match(line)
        {
            return self.old.contains(name.as_str());
        }
        let below = self.headers.iter().find(|(header, _)| *header >= at);
        let above = self.headers.iter().rev().find(|(header, _)| *header <= at);
        let owner = if is_decorator { below } else { above };
        owner.is_none_or(|(_, was_there)| *was_there)
    }
}

/// How a test is switched off, by language.
fn skip(path: &str) -> &'static Regex {
    match paths::ending(path).as_str() {
        "py" | "pyi" => pattern!(
            r"@(?:\w+\.)*(?:skip\w*|xfail|expectedFailure|flaky|slow|manual|disabled|ignore)\b|\bpytest\.(?:skip|xfail|importorskip|exit|param)\(|\.skipTest\(|\bSkipTest\b|\b__test__\s*=\s*False|\bcollect_ignore|\bpytestmark\s*=|\bmarks\s*=.*(?:skip|xfail)"
        ),
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => pattern!(
            r#"(?:^|[^\w.])[xf](?:it|describe|test|context|specify)\s*\(\s*["'`]|\b(?:it|test|describe|context|suite|specify|bench|t|this|ctx)(?:\.\w+)*\.(?:skip\w*|only|todo|fixme|fails|failing|runIf)\b|\b(?:skip|todo|only)\s*:|\bpending\(|\bjest\.retryTimes|\.retries\("#
        ),
        "rs" => pattern!(
            r"#\[(?:ignore|should_panic)\b|#!?\[cfg\(|#!?\[cfg_attr\(.*ignore|\bstd::process::exit\("
        ),
        "go" => pattern!(r"\b\w\.Skip(?:f|Now)?\(|\btesting\.Short\(\)|\bos\.Exit\(0\)"),
        "java" | "kt" | "kts" | "scala" | "groovy" => pattern!(
            r"@(?:Disabled|Ignore|EnabledIf|EnabledOn|DisabledIf|DisabledOn|Tag|Category|Requires|PendingFeature)\w*|\bassume\w*\b|\bAssumptions?\.|\benabled\s*=\s*false|\bexpected\s*=|\bignore\s*\(|\bxdescribe|\bxit\b|\bpending\b|System\.exit\("
        ),
        "rb" => pattern!(
            r#"^\s*x(?:it|describe|context|specify|scenario|example)\b|^\s*f(?:it|describe|context)\b|\bskip\b\s*(?:["'(:]|$|if\b|unless\b)|\bpending\b\s*(?:["'(:]|$|if\b)|\b(?:skip|pending|focus):\s|,\s*:(?:skip|pending|focus|slow|broken)\b|\bexit!?\b"#
        ),
        "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "m" => pattern!(
            r"\bGTEST_SKIP|\bDISABLED_\w|\[\.\w*\]|\[!(?:shouldfail|mayfail|hide|benchmark)\]|\bdoctest::|\bdisabled\(\)|\bexpected_failures\b|\bTEST_IGNORE|\bXCTSkip|\bSKIP\(|\bexit\s*\(\s*0"
        ),
        "cs" | "fs" | "vb" => pattern!(
            r"[\[,]\s*(?:Ignore|Explicit|Category|Trait|Platform)\b|\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive|Pass|Skip)\b|\bSkip\.If|Environment\.Exit"
        ),
        "php" | "phpt" => pattern!(
            r"markTest(?:Skipped|Incomplete)|->(?:skip|todo|only)\(|@group\b|#\[Group|@doesNotPerformAssertions|DoesNotPerformAssertions|@requires\b|#\[Requires|\bexit\b"
        ),
        "swift" => pattern!(r"\bXCTSkip|\.disabled\(|\.enabled\(if"),
        "ex" | "exs" => pattern!(r"@(?:module|describe)?tag\b"),
        _ => pattern!(r"^\s*(?:skip|startSkipping)\b|\bBATS_TEST_SKIPPED|\bplan\s+skip_all"),
    }
}

/// A bare return, the next turn of a loop, or the end of the program, in whatever language.
fn ends_early(line: &str) -> bool {
    pattern!(
        r"^\s*return(?:\s+(?:0|true|True|nil|None|null|undefined|Ok\(\(\)\)))?\s*;?\s*$|^\s*exit\s+0\b|\b(?:sys\.exit|os\._exit|process\.exit|os\.Exit|System\.exit)\s*\(\s*0?\s*\)|^\s*if\b.*\)?\s*(?:\{\s*)?return\s*;?\s*\}?\s*$|^\s*(?:if\b.*\{\s*)?(?:continue|next)\b\s*;?\s*\}?\s*$"
    )
    .is_match(line)
}

/// The end of the whole run, wherever it stands.
fn ends_all(line: &str) -> bool {
    pattern!(
        r"\b(?:sys\.exit|os\._exit|process\.exit|os\.Exit|System\.exit|Environment\.Exit)\s*\(\s*0?\s*\)"
    )
    .is_match(line)
}

fn is_swallowed(line: &str) -> bool {
    pattern!(concat!(
        r"\bexcept\s*(?:\(?\s*(?:AssertionError|Exception|BaseException)\b[^:]*)?:|\bsuppress\s*\(|\bcatch\s*(?:\([^)]*\))?\s*\{|\.catch\s*\(\s*\(?\w*\)?\s*=>|\brescue\b",
        r"|\bcatch_unwind\b|\brecover\s*\(\s*\)|\bset\s+\+e\b|\|\|\s*(?:true|:|exit\s+0|return\s+0|echo\b)|;\s*true\s*$|\btry!\s*\{|\bensure\s*$|\bassertAll\b|\bsoft(?:ly|_assert)\w*\("
    ))
    .is_match(line)
}

fn is_dead(line: &str) -> bool {
    pattern!(concat!(
        r"(?i)\b(?:if|while|elif)\s*\(?\s*(?:false|0|!true|not\s+true|1\s*==\s*0)\s*\)?\s*[:{]?\s*$|\bunless\s+true\b|^\s*if\s+(?:\[\[?\s+)?.*\$\{?(?:CI|GITHUB_ACTIONS)\b|^\s*#\s*if(?:n?def)?\b|^\s*:\s*<<",
        r"|\bif\b.*\b(?:environ|getenv|process\.env|ENV\[|std::env|env::var|os\.Getenv|sys\.platform|sys\.version|runtime\.GOOS|Environment\.GetEnv)"
    ))
    .is_match(line)
}

fn is_faked(line: &str) -> bool {
    pattern!(concat!(
        r"\b(?:mock|patch|stub|spy|fake)\w*(?:\.(?:object|dict|multiple))?\s*\(|\b(?:jest|vi)\.(?:mock|spyOn|fn|doMock)\b|\bmonkeypatch\.|\bsinon\.(?:stub|fake|replace)|@patch\b|@Mock(?:Bean)?\b|\bwhen\s*\(.*\)\.then",
        r"|\ballow(?:_any_instance_of)?\s*\(.*\)\.to\s+receive|\.mock(?:Return|Resolved|Implementation)\w*\(|\bassert\w*\s*=[^=]|\breturn_value\s*=|\bside_effect\s*=|\.and_return\(|^\s*(?:from|import|use|require)\b.*\b(?:fake|stub|dummy|mock)s?\b"
    ))
    .is_match(line)
}

/// A build tag keeps a whole file from being compiled; in Go it is a comment.
fn build_tag(sides: &Sides<'_>) -> Option<String> {
    let tag = pattern!(
        r"^\s*//(?:go:build\b|\s*\+build\b)|eslint-disable|istanbul ignore|@ts-nocheck|pragma: no cover|phpunit-ignore|^\s*#\s*pytest:\s*skip|doctest:\s*\+SKIP"
    );
    let (_, line) = added(&sides.old.raw, &sides.new.raw).into_iter().find(|(_, line)| tag.is_match(line))?;
    Some(format!("a mark in a comment leaves something out: {}", shown(line)))
}

/// Marks that make a function a test, fewer than before while the functions are still there.
fn lost_marks(sides: &Sides<'_>) -> Option<String> {
    let marks = pattern!(
        r"#\[(?:\w+::)*(?:test|rstest|case|test_case)\b|@Test\b|@ParameterizedTest\b|\[(?:Fact|Theory|Test|TestMethod|TestCase|InlineData|DataRow)\b|@pytest\.mark\.parametrize|@given\b|@(?:ValueSource|CsvSource|MethodSource|EnumSource|DataProvider)|#\[DataProvider|@dataProvider"
    );
    let count = |text: &str| marks.find_iter(text).count();
    let (before, after) = (count(&sides.old.test), count(&sides.new.test));
    // Gone tests are named one by one elsewhere.
    let tests = |path: &str, text: &str| cases::names(path, text).len();
    let gone =
        tests(sides.old_path, &sides.old.test).saturating_sub(tests(&sides.file.path, &sides.new.test));
    (before > after + gone)
        .then(|| format!("{} of {before} marks that make tests run are gone", before - after))
}

/// Times and tolerances that were raised.
pub(super) fn more_room(old: &str, new: &str) -> Option<String> {
    let (gone, come) = (added(new, old), added(old, new));
    for (what, is_new_worth_it) in [(times(), true), (tolerances(), false)] {
        for (_, line) in &come {
            let Some((name, value)) = amount(what, line) else { continue };
            let before =
                gone.iter().filter_map(|(_, line)| amount(what, line)).find(|(other, _)| *other == name);
            let is_raised = match before {
                Some((_, before)) => value > before,
                None => is_new_worth_it && raises_a_default(line),
            };
            if is_raised {
                return Some(format!("more room than before: {}", shown(line)));
            }
        }
    }
    None
}

fn raises_a_default(line: &str) -> bool {
    pattern!(r"(?i)\bsetTimeout\(\s*\d+\s*\)|mark\.timeout|@Timeout|this\.timeout\(|default_?timeout|\bretr(?:y|ies)\b|re_?runs").is_match(line)
}

fn times() -> &'static Regex {
    pattern!(
        r#"(?i)(time_?out|deadline|\bwait|\bafter|retr(?:y|ies)|re_?runs?|max_?attempts|patience|from_(?:secs|millis)|duration)\w*["']?\s*(?:[:=(]|\s)\s*(?:\w+\s*=\s*)?(?:time\.|Duration\.?(?:::)?)?[\w.]*?\(?\s*(\d[\d_]*(?:\.\d+)?)"#
    )
}

fn tolerances() -> &'static Regex {
    pattern!(
        r#"(?i)(eps(?:ilon)?|tol(?:erance)?|delta|threshold|max_?warnings|max_?diff\w*|allowed_?\w*|slack|margin)\w*["']?\s*(?::\s*\w+\s*)?[:=(]\s*(\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)"#
    )
}

/// Is it a time or a tolerance, which may be made stricter?
pub(super) fn is_amount(line: &str) -> bool {
    amount(times(), line).or_else(|| amount(tolerances(), line)).is_some()
}

/// The name and the number of a setting on a line.
fn amount(what: &Regex, line: &str) -> Option<(String, f64)> {
    let found = what.captures(line)?;
    let number = found.get(2)?.as_str().replace('_', "").parse().ok()?;
    Some((found.get(1)?.as_str().to_lowercase(), number))
}
