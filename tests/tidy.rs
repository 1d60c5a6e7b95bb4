//! Holds the arrows between modules, and a few rules about where a library may be used.
//!
//! The map below is the picture in `ARCHITECTURE.md`; a new arrow is a decision, made here first.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Whom each module may know, besides itself.
fn arrows() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("main", &["cli"] as &[_]),
        ("cli", &["app", "config", "toolbox", "emulator", "digest", "domain"]),
        (
            "app",
            &[
                "agent", "config", "digest", "domain", "egress", "git", "github", "http", "llm", "sandbox",
                "store", "work",
            ],
        ),
        ("config", &["domain"]),
        ("domain", &[]),
        ("digest", &[]),
        ("emulator", &[]),
        ("store", &["domain"]),
        ("github", &["domain"]),
        ("git", &["domain", "toolbox::wire"]),
        // The provider is the host's end of `toolbox init`.
        ("sandbox", &["domain", "toolbox::wire"]),
        ("egress", &["domain", "toolbox::wire"]),
        ("llm", &["domain"]),
        ("agent", &["llm", "sandbox", "domain", "toolbox::wire"]),
        ("toolbox", &["domain"]),
        (
            "work",
            &["agent", "store", "github", "git", "digest", "egress", "sandbox", "domain", "toolbox::wire"],
        ),
        ("http", &["store", "github", "domain"]),
    ])
}

/// Crates that one module alone may use, so that each can be replaced in one place.
const ONLY: &[(&str, &[&str])] = &[
    ("sqlx::", &["store"]),
    ("octocrab::", &["github"]),
    ("bollard::", &["sandbox"]),
    ("rcgen::", &["egress"]),
    ("axum::", &["http", "emulator"]),
    // The emulator knows nothing of ours, the configuration included: it hands `PATH` to git and to CI's commands.
    ("std::env::var", &["config", "emulator"]),
];

#[test]
fn modules_know_only_whom_they_may() {
    let arrows = arrows();
    let mut wrong = Vec::new();
    for (file, module, text) in sources() {
        let Some(allowed) = arrows.get(module.as_str()) else {
            wrong.push(format!("{}: the module {module} has no place in the map", file.display()));
            continue;
        };
        for name in known(&text) {
            let whole = name.as_str();
            let top = whole.split("::").next().unwrap_or_default();
            let fits = |a: &&str| *a == top || whole == *a || whole.starts_with(&format!("{a}::"));
            if top != module && arrows.contains_key(top) && !allowed.iter().any(fits) {
                wrong.push(format!("{}: {module} may not know {whole}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "arrows that are not in the map:\n{}", wrong.join("\n"));
}

#[test]
fn each_outside_library_has_one_home() {
    let mut wrong = Vec::new();
    for (file, module, text) in sources() {
        for (library, homes) in ONLY {
            let used =
                text.lines().filter(|l| !l.trim_start().starts_with("//")).any(|l| l.contains(library));
            if used && !homes.contains(&module.as_str()) {
                wrong.push(format!("{}: {library} belongs to {}", file.display(), homes.join(" and ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_why_it_exists() {
    let silent: Vec<_> = sources().into_iter().filter(|(_, _, text)| !text.starts_with("//!")).collect();
    let names: Vec<_> = silent.iter().map(|(file, _, _)| file.display().to_string()).collect();
    assert!(names.is_empty(), "files without a `//!` at the top:\n{}", names.join("\n"));
}

/// A promise is worth what its test is: each that the page on security names is there.
#[test]
fn every_test_that_the_page_on_security_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/security.md")).unwrap();
    let mut code = String::new();
    for folder in ["src", "tests"] {
        let mut files = Vec::new();
        all(&root.join(folder), &mut files);
        files.iter().for_each(|file| code.push_str(&fs::read_to_string(file).unwrap()));
    }
    let is_test = |name: &&str| name.matches('_').count() > 1 && !name.contains(' ');
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).filter(is_test).collect();
    // Of a whole family the page names the beginning alone.
    // Some are made by a macro from their name and what they run.
    let made = ["fn {}(", "!({},", "!(\n    {},"];
    let is_there = |name: &&&str| {
        name.ends_with('…') || made.iter().any(|made| code.contains(&made.replace("{}", name)))
    };
    let missing: Vec<&&str> = named.iter().filter(|name| !is_there(name)).collect();
    assert!(named.len() > 20 && missing.is_empty(), "{missing:?}");
}

/// A probe for a mistake is worth what its test is: each that can be made is made by one.
#[test]
fn every_mistake_that_can_be_made_is_caught_by_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let faults = fs::read_to_string(root.join("src/domain/fault.rs")).unwrap();
    let faults = faults.split_once("pub enum Fault {").unwrap().1.split_once("\n}").unwrap().0;
    let is_name = |line: &&str| line.ends_with(',') && !line.starts_with('/');
    let names: Vec<&str> =
        faults.lines().map(str::trim).filter(is_name).map(|line| line.trim_end_matches(',')).collect();
    let mut tests = String::new();
    for folder in ["src", "tests"] {
        let mut files = Vec::new();
        all(&root.join(folder), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let is_test = folder == "tests"
                || file
                    .components()
                    .any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs");
            tests.push_str(if is_test {
                &text
            } else {
                text.split_once("#[cfg(test)]").map_or("", |(_, tests)| tests)
            });
        }
    }
    let unmade: Vec<&&str> = names
        .iter()
        .filter(|name| {
            !tests.contains(&format!("Fault::{name}")) && !tests.contains(&format!("Mistake::{name}"))
        })
        .collect();
    assert!(names.len() > 30 && unmade.is_empty(), "{unmade:?}");
}

/// Every Rust file below a folder.
fn all(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

/// Every source file with the module it belongs to and its text without test modules.
fn sources() -> Vec<(PathBuf, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.sort();
    let module = |file: &Path| {
        let first = file.strip_prefix(&root).unwrap().components().next().unwrap();
        first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned();
        (file.clone(), module(&file), code)
    };
    files.into_iter().map(read).filter(|(_, module, _)| module != "lib").collect()
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name == "tests" {
                continue;
            }
            walk(&path, files);
        } else if name.ends_with(".rs") && name != "tests.rs" && !name.ends_with("_tests.rs") {
            files.push(path);
        }
    }
}

/// Everything a file names under `crate::`, with grouped imports spelled out.
fn known(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let code: String =
        text.lines().filter(|l| !l.trim_start().starts_with("//")).map(|l| format!("{l}\n")).collect();
    let mut rest = code.as_str();
    while let Some(at) = rest.find("crate::") {
        rest = &rest[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            names.extend(grouped(group));
        } else {
            names.push(path_at(rest));
        }
    }
    names
}

/// The first-level names of a `{a::b, c::{d, e}}` group, after its opening brace.
fn grouped(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut fresh) = (0, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && c.is_alphanumeric() => {
                names.push(path_at(&group[at..]));
                fresh = false;
            }
            _ => {}
        }
    }
    names
}

fn path_at(text: &str) -> String {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    text[..end].trim_end_matches(':').to_owned()
}
