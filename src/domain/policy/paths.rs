//! What a file is, by its path: a test, something CI runs, a list of dependencies.

use std::collections::HashSet;

/// Endings of files that are code.
const CODE: [&str; 44] = [
    "rs", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "go", "java", "kt", "kts",
    "scala", "groovy", "rb", "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "cs", "fs", "vb", "php",
    "phpt", "sh", "bash", "bats", "zsh", "swift", "m", "ex", "exs", "erl", "hs", "lua", "feature", "t",
];

/// Words that make a folder or a file one of tests.
const TEST_WORDS: [&str; 14] = [
    "test",
    "tests",
    "testing",
    "testcase",
    "testcases",
    "testsuite",
    "unittest",
    "unittests",
    "spec",
    "specs",
    "e2e",
    "testdata",
    "bats",
    "cypress",
];

/// Endings and words of files that hold what tests expect.
const EXPECTED_WORDS: [&str; 9] =
    ["snap", "snapshot", "snapshots", "golden", "goldens", "expected", "expect", "approved", "baseline"];

/// Files, by name in lower case, that CI or a test runner reads as orders.
const RUN_NAMES: [&str; 68] = [
    "makefile",
    "gnumakefile",
    "justfile",
    "taskfile.yml",
    "taskfile.yaml",
    "rakefile",
    "build.rs",
    "conftest.py",
    "tox.ini",
    "pytest.ini",
    ".pytest.ini",
    "noxfile.py",
    "setup.py",
    "setup.cfg",
    "sitecustomize.py",
    "usercustomize.py",
    ".coveragerc",
    "codecov.yml",
    ".codecov.yml",
    ".coveralls.yml",
    "runtests.py",
    "manage.py",
    "dockerfile",
    "containerfile",
    "docker-compose.yml",
    "docker-compose.yaml",
    "compose.yml",
    "compose.yaml",
    "jenkinsfile",
    ".gitlab-ci.yml",
    ".travis.yml",
    "appveyor.yml",
    ".appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".drone.yml",
    ".cirrus.yml",
    "wercker.yml",
    "buildspec.yml",
    "cloudbuild.yaml",
    "cloudbuild.yml",
    "codeship-steps.yml",
    ".mocharc.json",
    ".mocharc.js",
    ".mocharc.cjs",
    ".mocharc.yml",
    ".mocharc.yaml",
    ".nycrc",
    ".nycrc.json",
    ".c8rc.json",
    "phpunit.xml",
    "phpunit.xml.dist",
    "phpunit.dist.xml",
    ".rspec",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "cmakelists.txt",
    "ctestcustom.cmake",
    "nextest.toml",
    ".npmrc",
    ".pre-commit-config.yaml",
    "directory.build.props",
    "directory.build.targets",
    ".gitmodules",
    "gradlew",
];

/// First words of names of configuration files whose ending differs: `jest.config.ts`, `vitest.workspace.js`.
const RUN_STEMS: [&str; 20] = [
    "jest.",
    "vitest.",
    "karma.conf",
    "playwright.config",
    "cypress.config",
    "cypress.json",
    "ava.config",
    "wdio.conf",
    "protractor.conf",
    "babel.config",
    "webpack.config",
    "rollup.config",
    "vite.config",
    "gulpfile",
    "gruntfile",
    "dockerfile.",
    "makefile.",
    "codeception.",
    "pest.",
    "nightwatch.",
];

/// Folders whose programs CI usually runs.
const RUN_FOLDERS: [&str; 19] = [
    "scripts",
    "script",
    "ci",
    ".ci",
    "build_scripts",
    "hack",
    ".circleci",
    ".buildkite",
    ".woodpecker",
    ".gitlab",
    ".cargo",
    ".config",
    "tools",
    "bin",
    ".husky",
    ".devcontainer",
    ".azure-pipelines",
    ".teamcity",
    "buildsrc",
];

/// Lists of dependencies, and what belongs to them.
const MANIFESTS: [&str; 26] = [
    "cargo.toml",
    "cargo.lock",
    "package.json",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "go.mod",
    "go.sum",
    "requirements.txt",
    "pyproject.toml",
    "poetry.lock",
    "uv.lock",
    "pipfile",
    "pipfile.lock",
    "gemfile",
    "gemfile.lock",
    "composer.json",
    "composer.lock",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "packages.config",
    "directory.packages.props",
    "mix.exs",
    "mix.lock",
    "pubspec.yaml",
];

/// Its name, in lower case.
fn name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase()
}

/// Its ending, in lower case.
pub(super) fn ending(path: &str) -> String {
    let name = name(path);
    name.rsplit_once('.').map_or(String::new(), |(_, ending)| ending.to_owned())
}

/// Is it code, by its ending?
pub(super) fn is_code(path: &str) -> bool {
    CODE.contains(&ending(path).as_str())
}

/// Does it hold tests, or helpers of tests?
pub(super) fn is_test(path: &str) -> bool {
    is_code(path) && path.split('/').any(|part| words(part).any(|word| TEST_WORDS.contains(&word.as_str())))
}

/// Does it hold what tests expect or are fed with?
pub(super) fn is_test_data(path: &str) -> bool {
    if is_test(path) || matches!(ending(path).as_str(), "md" | "rst" | "adoc") {
        return false;
    }
    let all: HashSet<String> = path.split('/').flatten_words();
    EXPECTED_WORDS.iter().any(|word| all.contains(*word))
        || TEST_WORDS.iter().filter(|word| !word.starts_with("spec")).any(|word| all.contains(*word))
}

/// Does it say what the project depends on?
pub(super) fn is_manifest(path: &str) -> bool {
    MANIFESTS.contains(&name(path).as_str())
}

/// Is it something that CI runs, whatever it says? (Manifests and scripts within them are judged by their content.)
pub(super) fn is_run_by_ci(path: &str) -> bool {
    let name = name(path);
    let mut folders = path.split('/').map(str::to_ascii_lowercase).collect::<Vec<_>>();
    folders.pop();
    RUN_NAMES.contains(&name.as_str())
        || RUN_STEMS.iter().any(|stem| name.starts_with(stem))
        || matches!(ending(path).as_str(), "pth" | "mk" | "gradle" | "bazel" | "bzl" | "sbt" | "cmake")
        // Shared libraries of a project live in folders of such names too: only from the root on are they orders.
        || folders.first().is_some_and(|first| RUN_FOLDERS.contains(&first.as_str()))
        || (matches!(ending(path).as_str(), "sh" | "bash" | "ps1" | "bat" | "cmd") && folders.is_empty())
        || folders.first().is_some_and(|first| first == ".github")
}

/// The words of a path's part: `PagerTest_v2.py` gives pager, test, v, py.
fn words(part: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in part.chars() {
        let joins = c.is_ascii_alphabetic() && !(c.is_ascii_uppercase() && before.is_ascii_lowercase());
        // `e2e` is a word, other digits end one.
        let joins = joins || (c == '2' && words.last().is_some_and(|word| word == "e"));
        if !joins {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_ascii_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase().filter(|_| c.is_ascii_alphabetic() || c == '2'));
        }
        before = c;
    }
    words.into_iter().filter(|word| !word.is_empty())
}

trait FlattenWords {
    fn flatten_words(self) -> HashSet<String>;
}

impl<'a, I: Iterator<Item = &'a str>> FlattenWords for I {
    fn flatten_words(self) -> HashSet<String> {
        self.flat_map(|part| words(part).collect::<Vec<_>>()).collect()
    }
}
