//! What a file is, by its path: a test, something CI runs, a list of dependencies.

use std::collections::HashSet;

/// Endings of files that are code.
const CODE: &str = "rs py pyi js jsx mjs cjs ts tsx mts cts go java kt kts scala groovy rb c h cc cpp cxx hpp hh hxx cs fs \
                    vb php phpt sh bash bats zsh swift m ex exs erl hs lua feature t";

/// Words that make a folder or a file one of tests.
const TEST_WORDS: &str =
    "test tests testing testcase testcases testsuite unittest unittests e2e testdata bats cypress";

/// Languages whose tests are called specs; elsewhere a `spec` folder is as likely to hold a specification.
const SPEC_ENDINGS: &str = "rb js jsx mjs cjs ts tsx mts cts scala groovy kt swift php lua hs";

/// Words of places where tests are put that shall not be run.
const PARKED: &str = "disabled skip skipped ignored parked bak backup attic archive archived broken unused";

/// Words of files that hold what tests expect.
const EXPECTED_WORDS: &str = "snap snapshot snapshots golden goldens expected expect approved baseline";

/// Files, by name in lower case, that CI or a test runner reads as orders.
const RUN_NAMES: &str = "\
    makefile gnumakefile justfile taskfile.yml taskfile.yaml rakefile build.rs conftest.py tox.ini pytest.ini .pytest.ini \
    noxfile.py setup.py setup.cfg sitecustomize.py usercustomize.py pytest.py unittest.py .coveragerc codecov.yml \
    .codecov.yml .coveralls.yml runtests.py manage.py dockerfile containerfile docker-compose.yml docker-compose.yaml \
    compose.yml compose.yaml jenkinsfile .gitlab-ci.yml .travis.yml appveyor.yml .appveyor.yml azure-pipelines.yml \
    bitbucket-pipelines.yml .drone.yml .cirrus.yml wercker.yml buildspec.yml cloudbuild.yaml cloudbuild.yml \
    codeship-steps.yml .nycrc .nycrc.json .c8rc.json .npmrc phpunit.xml phpunit.xml.dist phpunit.dist.xml .rspec \
    build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties gradlew cmakelists.txt \
    ctestcustom.cmake nextest.toml .pre-commit-config.yaml directory.build.props directory.build.targets .gitmodules \
    .runsettings mypy.ini .flake8 .pylintrc ruff.toml .ruff.toml .rubocop.yml clippy.toml .clippy.toml deny.toml \
    rust-toolchain rust-toolchain.toml .golangci.yml .golangci.yaml phpstan.neon psalm.xml checkstyle.xml workspace build \
    build.bazel workspace.bazel meson.build sonar-project.properties lerna.json nx.json turbo.json dangerfile earthfile";

/// First words of names of configuration files whose ending differs: `jest.config.ts`, `.eslintrc.json`.
const RUN_STEMS: &str = "jest. vitest. .mocharc karma.conf playwright.config cypress.config cypress.json ava.config \
    wdio.conf protractor.conf babel.config webpack.config rollup.config vite.config gulpfile gruntfile dockerfile. \
    makefile. codeception. pest. nightwatch. .eslintrc eslint.config tsconfig. stryker.conf";

/// Folders, at the root, whose files CI usually runs or reads.
const RUN_FOLDERS: &str = "scripts script ci .ci hack .github .circleci .buildkite .woodpecker .gitlab .cargo .config .husky \
    .devcontainer .azure-pipelines .teamcity buildsrc";

/// Folders of programs that are the project's own as often as CI's: there only scripts count.
const SCRIPT_FOLDERS: &str = "bin tools build build_scripts test-scripts devtools dev etc";

/// Folders of installed packages: what lies there runs in place of the real one.
const INSTALLED: &str = "node_modules site-packages dist-packages";

/// Endings of files that are always orders.
const RUN_ENDINGS: &str = "pth mk gradle bazel bzl sbt cmake";

/// Endings of scripts of a shell.
const SCRIPTS: &str = "sh bash ps1 bat cmd";

/// Files, by name, and folders at the root that hold a CI's own orders, whichever CI it is.
const CI_NAMES: &str = "jenkinsfile .gitlab-ci.yml .travis.yml appveyor.yml .appveyor.yml azure-pipelines.yml \
    bitbucket-pipelines.yml .drone.yml .cirrus.yml wercker.yml buildspec.yml cloudbuild.yaml cloudbuild.yml earthfile";
const CI_FOLDERS: &str = ".circleci .buildkite .woodpecker .gitlab .azure-pipelines .teamcity";

/// Lists of dependencies, and what belongs to them.
const MANIFESTS: &str = "cargo.toml cargo.lock package.json package-lock.json yarn.lock pnpm-lock.yaml go.mod go.sum \
    requirements.txt pyproject.toml poetry.lock uv.lock pipfile pipfile.lock gemfile gemfile.lock composer.json \
    composer.lock pom.xml build.gradle build.gradle.kts packages.config directory.packages.props mix.exs mix.lock \
    pubspec.yaml";

/// Is `word` in one of the lists above?
fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

/// Is any word of a list among `words`?
fn has_any(words: &HashSet<String>, list: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| words.contains(listed))
}

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
    is_in(CODE, &ending(path))
}

/// Does it hold tests, or helpers of tests, that a runner finds?
pub(super) fn is_test(path: &str) -> bool {
    let all = words_of(path);
    let is_spec = is_in(SPEC_ENDINGS, &ending(path)) && has_any(&all, "spec specs");
    is_code(path) && (is_spec || has_any(&all, TEST_WORDS)) && !has_any(&all, PARKED)
}

/// Does it hold what tests expect or are fed with?
pub(super) fn is_test_data(path: &str) -> bool {
    let all = words_of(path);
    !is_code(path)
        && !is_in("md rst adoc", &ending(path))
        && (has_any(&all, TEST_WORDS) || has_any(&all, EXPECTED_WORDS))
}

/// Does it say what the project depends on?
pub(super) fn is_manifest(path: &str) -> bool {
    is_in(MANIFESTS, &name(path))
}

/// Is it a script in the top folder? It may be the project itself, or what CI runs: its orders tell.
pub(super) fn is_top_script(path: &str) -> bool {
    !path.contains('/') && is_in(SCRIPTS, &ending(path)) && !is_run_by_ci(path)
}

/// Does it hold a CI's own orders?
pub(super) fn is_of_ci(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let root = lower.split('/').next().unwrap_or_default();
    is_in(CI_NAMES, &name(path)) || lower.starts_with(".github/workflows/") || is_in(CI_FOLDERS, root)
}

/// Is it something that CI runs, whatever it says? (Manifests are judged by their content, scripts in the top folder by
/// who names them.)
pub(super) fn is_run_by_ci(path: &str) -> bool {
    let (name, ending) = (name(path), ending(path));
    let lower = path.to_ascii_lowercase();
    let mut folders: Vec<&str> = lower.split('/').collect();
    folders.pop();
    // A library of a project may have a folder of such a name too: only at the root are its files orders.
    let root = folders.first().copied().unwrap_or_default();
    let is_script = is_in(SCRIPTS, &ending) || !name.contains('.');
    is_in(RUN_NAMES, &name)
        || RUN_STEMS.split_ascii_whitespace().any(|stem| name.starts_with(stem))
        || is_in(RUN_ENDINGS, &ending)
        || is_in(RUN_FOLDERS, root)
        || (is_in(SCRIPT_FOLDERS, root) && is_script)
        // Services keep their orders in hidden files at the root.
        || (folders.is_empty() && name.starts_with('.') && is_in("yml yaml", &ending))
        || folders.iter().any(|folder| is_in(INSTALLED, folder))
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

fn words_of(path: &str) -> HashSet<String> {
    path.split('/').flat_map(words).collect()
}
