//! Code that behaves otherwise when it is tested, or knows what the tests expect.

use super::{Sides, added, shown};
use crate::domain::{policy::paths, text::pattern::pattern};

/// What in code that is no test was made for the tests alone.
pub(super) fn cases(sides: &Sides<'_>) -> Vec<String> {
    let path = &sides.file.path;
    if !paths::is_code(path) || paths::is_test(path) || sides.file.new_mode.is_none() {
        return Vec::new();
    }
    let lines = added(&sides.old.code, &sides.new.code);
    let mut seen: Vec<String> = lines
        .iter()
        .filter(|(_, line)| knows_it_is_tested(line) || ends_well_always(line))
        .map(|(_, line)| format!("it tells apart whether it is tested: {}", shown(line)))
        .collect();
    seen.extend(always_equal(sides));
    seen.extend(told(sides));
    seen.extend(answers(&sides.new.code, &lines));
    seen
}

fn knows_it_is_tested(line: &str) -> bool {
    pattern!(concat!(
        r#"PYTEST_CURRENT_TEST|["'](?:pytest|unittest|nose|_pytest)["']\s+in\s+sys\.|\bsys\.modules\b.*(?:pytest|unittest)|\bsys\.argv\b.*test|\binspect\.(?:stack|currentframe)\(|sys\._getframe"#,
        r"|JEST_WORKER_ID|VITEST\b|NODE_ENV\W+.*test|process\.env\.(?:CI|TEST)\b|typeof\s+(?:jest|describe|it|expect|vi|mocha)\b|global(?:This)?\.(?:jest|describe|__coverage__|it)\b",
        r#"|\bcfg!\(test\)|#\[cfg\(not\(test\)\)\]|\btesting\.Testing\(\)|flag\.Lookup\("test\.|os\.Args.*\.test|runtime\.Caller\(|getStackTrace\(\)|\bStackTrace\b.*(?:[Tt]est|xunit|junit)"#,
        r#"|(?:junit|testng|xunit|nunit|phpunit|PHPUnit|minitest|Minitest|RSpec|rspec|gtest|XCTest)\w*\b.*(?:\?|defined|in\b|getenv|exists|contains|Contains|!=|==)|defined\?\(\s*(?:RSpec|Minitest|Test)|class_exists\(.*(?:PHPUnit|TestCase)|defined\(.*(?:PHPUNIT|TEST)"#,
        r#"|Rails\.env\.test\?|(?:RAILS|RACK|APP|NODE|MIX|FLASK|DJANGO)_ENV\W.*test|(?i:environ|getenv|env::var|Getenv|env\.get|ENV\[)\W.*\b(?:CI|GITHUB_ACTIONS|TEST\w*|TESTING|UNIT_TEST|GTEST_\w+|BATS\w*)\b|\$\{?(?:CI|GITHUB_ACTIONS|BATS_\w+)\b|#\s*if(?:def)?\s+.*\b(?:UNIT_?TEST\w*|TESTING|GTEST\w*|TEST)\b"#
    ))
    .is_match(line)
}

/// Ends the test process as if all were well, or changes what the test framework reports.
fn ends_well_always(line: &str) -> bool {
    pattern!(
        r"\bos\._exit\(\s*0|\batexit\.register|unittest\.TestCase\.\w+\s*=|\bpytest\.\w+\s*=|\brep(?:ort)?\.outcome\s*=|pytest_runtest_makereport|pytest_collection_modifyitems|pytest_sessionfinish|exitstatus\s*=\s*0|builtins?\.\w+\s*=|__builtins__|\bglobal(?:This)?\.(?:expect|assert)\s*="
    )
    .is_match(line)
}

/// An equality that says yes to everything.
fn always_equal(sides: &Sides<'_>) -> Option<String> {
    let equal = pattern!(
        r"(?s)(?:def\s+__(?:eq|ne|lt|le|contains|bool)__\s*\([^)]*\)[^:]*:\s*return\s+True\b|\bboolean\s+equals\s*\([^)]*\)\s*\{\s*return\s+true|\bbool\s+(?:override\s+)?Equals\s*\([^)]*\)\s*(?:\{\s*return|=>)\s*true|operator==\s*\([^)]*\)[^{]*\{\s*return\s+true|fn\s+eq\s*\([^)]*\)\s*->\s*bool\s*\{\s*true\s*\}|def\s+==\s*\(?\w*\)?\s*\n?\s*true\b|fun\s+equals\([^)]*\)[^={]*(?:=|\{\s*return)\s*true)"
    );
    let now = equal.find(&sides.new.code)?;
    (!equal.is_match(&sides.old.code))
        .then(|| format!("an equality that is always true: {}", shown(now.as_str())))
}

/// Comments that say it.
fn told(sides: &Sides<'_>) -> Option<String> {
    let words = pattern!(
        r"(?i)(?:#|//|/\*|\*|--).*(?:special[\s-]*cas\w*|hard[\s-]*cod\w*|cheat|fak(?:e|ing)|trick|hack\w*|work\s*around|so\s+that|make|makes|get|to\s+pass|expected\s+by|for|satisf\w+|please).{0,40}\b(?:unit\s*)?tests?\b(?:.{0,20}\bpass\w*)?"
    );
    let strict = pattern!(r"(?i)pass|expect|special|hard|cheat|fak|trick|hack|satisf|please");
    added(&sides.old.raw, &sides.new.raw).into_iter().find_map(|(_, line)| {
        let found = words.find(line)?;
        strict
            .is_match(found.as_str())
            .then(|| format!("a comment says that it is for the tests: {}", shown(line)))
    })
}

/// `if x == 17: return 42`: an answer known beforehand. Small numbers and empty texts are the ends of recursions, names
/// are tags of a mapping; both are honest.
fn answers(code: &str, lines: &[(usize, &str)]) -> Option<String> {
    let all: Vec<&str> = code.lines().collect();
    let branch = lines.iter().find_map(|(at, line)| {
        let following = all.get(*at..(*at + 3).min(all.len())).unwrap_or_default().join(" ");
        let (input, _) = answer(&following)?;
        line.contains(input).then_some(following)
    });
    let branch = branch.or_else(|| table(lines)).or_else(|| arms(lines));
    branch.map(|code| format!("a known answer is returned for one input: {}", shown(&code)))
}

/// A literal: a text, a number, a list.
macro_rules! literal {
    () => {
        r#"("[^"]*"|'[^']*'|-?\d[\d._]*|(?i:true|false)|(?:&|vec!)?[\[({][^\n]*?[\])}])"#
    };
}

/// The compared literal and the returned one, where both are telling.
fn answer(text: &str) -> Option<(&str, &str)> {
    let before = pattern!(concat!(
        r#"^\s*(?:\}\s*)?(?:el(?:se\s+)?if|elif|elsif|if|when)\b[^:{]*?(?:={2,3}|\beq\b|\.equals\(|\bis\b|-eq|\bin\b)\s*"#,
        literal!(),
        r#"[^:{]*?(?:[:{]|\bthen\b|\))\s*(?:return\b|echo\b|\w+\s*:?=|=)?\s*(?:(?:Ok|Some|Just|Right|String::from)\()?\(?"#,
        literal!(),
        r"(?:\.\w+\(\))*\s*\)*\s*;?\s*(?:\}|$|\s)",
    ));
    let after = pattern!(concat!(
        r"^\s*(?:return|result\s*=)\s+",
        literal!(),
        r"\s+(?:if|unless|when)\b.*?(?:={2,3}|\bin\b)\s*",
        literal!(),
    ));
    let chosen = pattern!(concat!(r"(?:={2,3})\s*", literal!(), r"\s*\)?\s*\?\s*", literal!(), r"\s*:"));
    let pairs = [(before, 1, 2), (after, 2, 1), (chosen, 1, 2)];
    pairs.into_iter().find_map(|(pattern, input, output)| {
        let found = pattern.captures(text)?;
        let (input, output) = (found.get(input)?.as_str(), found.get(output)?.as_str());
        (is_telling(input) && is_answer(output, input)).then_some((input, output))
    })
}

/// Could this only be an input of a test? A number above two, a list, a text that is no name.
fn is_telling(literal: &str) -> bool {
    let inner = literal.trim_matches(['"', '\'', '[', ']', '(', ')', '{', '}', '&', ' ']);
    match literal.trim_start_matches('-').replace('_', "").parse::<f64>() {
        Ok(number) => number > 2.0,
        Err(_) if literal.starts_with(['"', '\'']) => {
            inner.chars().count() >= 3 && !inner.chars().all(|c| c.is_alphanumeric() || "_-./:".contains(c))
        }
        Err(_) => inner.contains(|c: char| c.is_alphanumeric()),
    }
}

/// Could this only be the output that a test expects for it?
fn is_answer(literal: &str, input: &str) -> bool {
    let inner = literal.trim_matches(['"', '\'', '[', ']', '(', ')', '{', '}', '&', ' ']);
    match literal.trim_start_matches('-').replace('_', "").parse::<f64>() {
        Ok(number) => number > 1.0,
        // Yes and no answer many questions: for a list or a text it is telling, for a number it is not.
        Err(_) if matches!(inner.to_ascii_lowercase().as_str(), "true" | "false") => {
            input.parse::<f64>().is_err()
        }
        Err(_) => !inner.is_empty(),
    }
}

/// A table of answers that is asked before anything is computed.
fn table(lines: &[(usize, &str)]) -> Option<String> {
    let code = lines.iter().map(|(_, line)| line.trim()).collect::<Vec<_>>().join(" ");
    let tables = pattern!(
        r"(\w+)\s*(?::[^=;]{1,60})?:?=\s*(?:new\s+\w+\s*(?:<[^>]*>)?\s*(?:\(\)\s*)?|\w+(?:::\w+)*!?\s*\(?\[?)?\{([^{}]*)\}"
    );
    tables.captures_iter(&code).find_map(|found| {
        let (name, rows) = (found.get(1)?.as_str(), found.get(2)?.as_str());
        let row = pattern!(concat!(literal!(), r"\s*(?::|=>|,)\s*", literal!()));
        let telling = row
            .captures_iter(rows)
            .filter(|row| row.get(1).is_some_and(|key| is_telling(key.as_str())))
            .count();
        let asked = [
            "in NAME:",
            "in NAME)",
            "in NAME ",
            "NAME.get",
            "NAME.has",
            "NAME.contains",
            "NAME.Contains",
            "NAME.TryGet",
            "NAME.include",
            "NAME.key?",
        ];
        let is_asked = asked.iter().any(|ask| code.contains(&ask.replace("NAME", name)))
            || code.contains(&format!("isset(${name}"))
            || (code.contains(&format!("if ({name}[")) || code.contains(&format!("if {name}[")));
        (telling >= 2 && is_asked).then(|| found[0].to_owned())
    })
}

/// Two or more arms from one large number to another: `220 => 284`. Smaller ones are days, months, levels.
fn arms(lines: &[(usize, &str)]) -> Option<String> {
    const SMALL: f64 = 31.0;
    let arm = pattern!(r"\b(?:case\s+|when\s+)?(\d[\d_]*)\s*(?:=>|:|then\b|->)\s*(?:return\s+)?(\d[\d_]*)\b");
    let code = lines.iter().map(|(_, line)| line.trim()).collect::<Vec<_>>().join(" ");
    let large = |number: Option<regex::Match<'_>>| {
        number
            .and_then(|number| number.as_str().replace('_', "").parse::<f64>().ok())
            .is_some_and(|number| number.abs() > SMALL)
    };
    // In a data file or a table of constants the numbers stand alone: only where something is chosen are they answers.
    let is_chosen = pattern!(r"\b(?:match|switch|case|when)\b").is_match(&code);
    let found: Vec<_> =
        arm.captures_iter(&code).filter(|arm| large(arm.get(1)) && large(arm.get(2))).collect();
    (is_chosen && found.len() >= 2).then(|| found[0][0].to_owned())
}
