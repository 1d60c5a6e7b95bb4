//! Files that CI runs, and what in them makes CI see less.

use super::{Sides, added, shown, signs};
use crate::domain::{
    policy::{Orders, paths},
    text::pattern::pattern,
};

/// Is this a file that CI runs, changed in a part that matters?
pub(super) fn is_run(sides: &Sides<'_>, orders: &Orders) -> bool {
    let path = &sides.file.path;
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    if sides.file.old == sides.file.new
        && sides.file.old_mode == sides.file.new_mode
        && sides.old_path == path
    {
        return false;
    }
    match name.as_str() {
        "package.json" => package(&sides.old.raw) != package(&sides.new.raw),
        "composer.json" => package(&sides.old.raw) != package(&sides.new.raw),
        "cargo.toml" | "pyproject.toml" => manifest(&sides.old.raw) != manifest(&sides.new.raw),
        "pom.xml" => is_changed_beyond(
            sides,
            pattern!(r"^\s*</?(?:dependency|dependencies|groupId|artifactId|version|scope)\b.*$|^\s*$"),
        ),
        "go.mod" => is_changed_beyond(
            sides,
            pattern!(r"^\s*(?:require\b.*|[\w.-]+\.[\w./-]+\s+v\S+.*|go\s+\d.*|[()])\s*$|^\s*$"),
        ),
        name if name.ends_with(".csproj") || name.ends_with(".fsproj") => {
            is_changed_beyond(sides, pattern!(r"^\s*</?(?:PackageReference|ItemGroup)\b.*$|^\s*$"))
        }
        _ => runs(path, orders) || runs(sides.old_path, orders),
    }
}

fn runs(path: &str, orders: &Orders) -> bool {
    paths::is_run_by_ci(path) || (paths::is_top_script(path) && orders.name(path))
}

fn is_changed_beyond(sides: &Sides<'_>, harmless: &regex::Regex) -> bool {
    let beyond = |old: &str, new: &str| added(old, new).iter().any(|(_, line)| !harmless.is_match(line));
    beyond(&sides.old.raw, &sides.new.raw) || beyond(&sides.new.raw, &sides.old.raw)
}

/// A package.json without what only names versions; text that cannot be read stands for itself.
fn package(text: &str) -> Result<serde_json::Value, String> {
    let mut json: serde_json::Value = serde_json::from_str(text).map_err(|_| text.to_owned())?;
    if let Some(fields) = json.as_object_mut() {
        const ASIDE: [&str; 14] = [
            "version",
            "description",
            "keywords",
            "author",
            "contributors",
            "license",
            "dependencies",
            "devDependencies",
            "peerDependencies",
            "optionalDependencies",
            "bundledDependencies",
            "require",
            "require-dev",
            "homepage",
        ];
        ASIDE.iter().for_each(|field| {
            fields.remove(*field);
        });
    }
    Ok(json)
}

/// A Cargo.toml or pyproject.toml without what only names versions.
fn manifest(text: &str) -> Result<toml::Table, String> {
    let mut table: toml::Table = text.parse().map_err(|_| text.to_owned())?;
    strip_versions(&mut table);
    Ok(table)
}

fn strip_versions(table: &mut toml::Table) {
    const ASIDE: [&str; 10] = [
        "dependencies",
        "dev-dependencies",
        "build-dependencies",
        "dependency-groups",
        "optional-dependencies",
        "version",
        "description",
        "authors",
        "keywords",
        "classifiers",
    ];
    ASIDE.iter().for_each(|field| {
        table.remove(*field);
    });
    table.iter_mut().filter_map(|(_, value)| value.as_table_mut()).for_each(strip_versions);
}

/// What a changed order of CI or of a test runner leaves out now.
pub(super) fn softer(sides: &Sides<'_>, orders: &Orders) -> Vec<String> {
    let path = &sides.file.path;
    let is_order = runs(path, orders) || paths::is_manifest(path) || is_configuration(path);
    if !is_order || sides.file.new_mode.is_none() || sides.file.old_mode.is_none() || !sides.is_text {
        return Vec::new();
    }
    let mut seen: Vec<String> = added(&sides.old.raw, &sides.new.raw)
        .into_iter()
        .filter(|(_, line)| leaves_out(line))
        .map(|(_, line)| format!("what CI runs leaves something out now: {}", shown(line)))
        .collect();
    seen.extend(signs::more_room(&sides.old.raw, &sides.new.raw));
    seen.extend(lower(sides));
    seen
}

fn is_configuration(path: &str) -> bool {
    matches!(
        paths::ending(path).as_str(),
        "yml" | "yaml" | "toml" | "ini" | "cfg" | "json" | "xml" | "gradle"
    ) && pattern!(r"(?i)coverage|codecov|lint|eslint|tox|nextest|test|ci\b").is_match(path)
}

fn leaves_out(line: &str) -> bool {
    pattern!(concat!(
        r"\|\|\s*(?:true|:|exit\s+0|echo\b)|\bset\s+\+e\b|continue-on-error:\s*true|allow_failure:\s*true|allowFailure|ignoreFailures|failOnError|failIfNoTests|testFailureIgnore|ignore_failures|--no-verify",
        r"|--pass-?with-?no-?tests|--deselect|--ignore(?:-glob)?[ =]|-k\s*['\x22]?not\b|-m\s*['\x22]?not\b|\bnorecursedirs|collect_ignore|python_files|testpaths|python_functions|\s-p\s+no:|--exit-?zero|--skip[ =]|--exclude[ =]|--no-fail-fast|--no-run\b|--lib\b|--bail",
        r"|-DskipTests|maven\.test\.skip|skipTests|-x\s+test\b|testPathIgnorePatterns|testIgnore|\bexclude\w*\b.*test|test.*\bexclude|-run\s+['\x22]?\^?\$|-short\b|\bif:\s*(?:false|\$\{\{\s*false)|^\s*-?\s*exit\s+0|\btest\s*=\s*false|\bharness\s*=\s*false|--testNamePattern|-t\s+['\x22]|-e\s+.*-v\b|continue_on_error|retry|--reruns|--forceExit|--allow-?\w*fail",
        r#"|"test(?::\w+)?"\s*:\s*"(?:echo|true|exit 0|:)|^\s*test\w*:\s*(?:;.*)?$|^\t@?(?:true|:|echo\b.*|exit 0)\s*$|^\t-\S"#
    ))
    .is_match(line)
}

/// Thresholds that were lowered.
fn lower(sides: &Sides<'_>) -> Option<String> {
    let threshold = pattern!(
        r#"(?i)["']?(fail[_-]?under|minimum_?coverage\w*|cover\w*|branches|functions|lines|statements|threshold|target|min(?:imum)?\w*|patch|project)["']?\s*[:=(>\s]\s*["']?(\d+(?:\.\d+)?)\s*%?"#
    );
    let read = |line: &str| {
        let found = threshold.captures(line)?;
        Some((found.get(1)?.as_str().to_lowercase(), found.get(2)?.as_str().parse::<f64>().ok()?))
    };
    let gone: Vec<_> =
        added(&sides.new.raw, &sides.old.raw).into_iter().filter_map(|(_, line)| read(line)).collect();
    added(&sides.old.raw, &sides.new.raw)
        .into_iter()
        .find(|(_, line)| {
            read(line)
                .is_some_and(|(name, now)| gone.iter().any(|(other, before)| *other == name && now < *before))
        })
        .map(|(_, line)| format!("a threshold is lower than before: {}", shown(line)))
}
