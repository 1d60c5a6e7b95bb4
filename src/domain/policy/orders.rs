//! Which scripts at the top of a repository CI runs: those that its orders name.
//!
//! A script there may as well be what the project is about. Orders are whatever gives CI or a test runner its commands:
//! workflows, makefiles, package scripts, the scripts that those name in turn. Where in doubt a script counts: when no
//! order of a CI is in the repository (it stands elsewhere then), when there was more than is read, when a name is put
//! together at run time.

use super::{FileDiff, paths};
use std::collections::BTreeSet;

/// Files that are read to tell.
pub const MOST_ORDERS: usize = 2_000;

/// Of one of them so many bytes are read; longer ones are not written by hand.
pub const ORDER: usize = 512 << 10;

/// Bytes of all of them together, and scripts at the top: with more every such script counts.
const MOST: (usize, usize) = (4 << 20, 50);

/// Bytes of a word that are looked at; no file has a longer name.
const WORD: usize = 256;

/// What stands beside a name in a command that is put together at run time: patterns, variables, expressions.
const MADE: [char; 7] = ['*', '?', '$', '{', '}', '[', ']'];

/// Endings that Windows' shells add by themselves.
const ADDED: [&str; 3] = ["bat", "cmd", "ps1"];

/// What CI's orders say.
#[derive(Clone, Debug, Default)]
pub struct Orders(Option<Known>);

#[derive(Clone, Debug, Default)]
struct Known {
    /// Texts of orders.
    texts: Vec<String>,
}

impl Orders {
    /// Of all files of a tree that [`is_order`], by path and text, `None` for one that was not read whole; and what CI is told
    /// besides, in no file of the repository.
    pub fn of<'a>(
        files: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
        besides: Option<&str>,
    ) -> Self {
        let (mut scripts, mut has_ci, mut bytes) = (Vec::new(), besides.is_some(), 0);
        let mut texts: Vec<String> = besides.map(str::to_ascii_lowercase).into_iter().collect();
        for (path, text) in files {
            let Some(text) = text else { return Self(None) };
            bytes += text.len();
            if bytes > MOST.0 || scripts.len() >= MOST.1 {
                return Self(None);
            }
            has_ci |= paths::is_of_ci(path);
            match paths::is_top_script(path) {
                true => scripts.push((path.to_ascii_lowercase(), text.to_ascii_lowercase())),
                false => texts.push(text.to_ascii_lowercase()),
            }
        }
        if !has_ci {
            return Self(None);
        }
        let mut known = Known { texts };
        // What a script that is run names is run too, and so on: each is taken in at most once.
        while let Some(at) = scripts.iter().position(|(path, _)| known.names(path)) {
            known.texts.push(scripts.swap_remove(at).1);
        }
        Self(Some(known))
    }

    /// Does CI run this script at the top of the repository, as far as can be told?
    pub(super) fn name(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|known| known.names(&path.to_ascii_lowercase()))
    }
}

impl Known {
    fn names(&self, path: &str) -> bool {
        let ending = paths::ending(path);
        let stem = path.strip_suffix(&format!(".{ending}")).unwrap_or(path);
        let mut wanted = BTreeSet::from([path]);
        if ADDED.contains(&ending.as_str()) {
            wanted.insert(stem);
        }
        let made = format!(".{ending}");
        self.texts.iter().any(|text| {
            wanted.iter().any(|name| is_named(text, name)) || made_up(text, &made) || all_of_it(text)
        })
    }
}

/// Does a name stand in a text, not as a part of a longer one?
fn is_named(text: &str, name: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(name).any(|(at, _)| {
        let after = &text[at + name.len()..];
        // `x.test.sh` is another file than `test.sh`, and `test.sh.in` too; a sentence may end after it.
        let longer = after.strip_prefix('.').unwrap_or(after).starts_with(joins);
        !longer && !text[..at].ends_with(|c| joins(c) || c == '.')
    })
}

/// A word with this ending whose name is known only when it runs; one that is too long to be a name is in doubt.
fn made_up(text: &str, ending: &str) -> bool {
    text.match_indices(ending).any(|(at, _)| {
        let begin = text.floor_char_boundary(at.saturating_sub(WORD));
        let before = &text[begin..at];
        let parts = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=' | ';' | '(');
        if begin > 0 && !before.contains(parts) {
            return true;
        }
        if is_filter(before, &text[at..text.ceil_char_boundary((at + WORD).min(text.len()))]) {
            return false;
        }
        // What only its folder hides (`$dir/build.sh`) has its name in sight.
        let word = before.rsplit(parts).next();
        word.and_then(|word| word.rsplit(['/', '\\']).next()).is_some_and(|name| name.contains(MADE))
    })
}

/// An item of a list that is a pattern and nothing else, as `paths:` of a workflow has them: it says when, not what.
fn is_filter(before: &str, after: &str) -> bool {
    let begin = before.rsplit('\n').next().unwrap_or_default();
    let line = format!("{begin}{}", after.lines().next().unwrap_or_default());
    let item = line.trim().strip_prefix("- ");
    item.is_some_and(|item| item.contains('*') && !item.contains(char::is_whitespace))
}

/// Runs whatever there is: `find . -type f -exec sh {} \;`, `run-parts .`.
fn all_of_it(text: &str) -> bool {
    text.contains("run-parts") || (text.contains("-exec") && text.contains("{}"))
}

/// Is there a script in a change of which only the orders can tell whether CI runs it?
pub fn wants_orders(files: &[FileDiff]) -> bool {
    files
        .iter()
        .flat_map(|file| [Some(&file.path), file.old_path.as_ref()])
        .flatten()
        .any(|path| paths::is_top_script(path))
}

/// Is it a file that gives orders, or may be run by one, and is therefore read?
pub fn is_order(path: &str) -> bool {
    paths::is_run_by_ci(path) || paths::is_manifest(path) || paths::is_top_script(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CI: &str = ".github/workflows/ci.yml";

    fn runs(files: &[(&str, &str)], script: &str) -> bool {
        Orders::of(files.iter().map(|(path, text)| (*path, Some(*text))), None).name(script)
    }

    #[test]
    fn a_script_counts_where_an_order_names_it() {
        for order in
            ["run: sh pager.sh", "run: ./pager.sh --quick", "run: bash '../pager.sh'", "run: $DIR/pager.sh;x"]
        {
            assert!(runs(&[(CI, order)], "pager.sh"), "{order}");
        }
        for order in
            ["run: cargo test", "run: sh my-pager.sh", "run: sh pager.sh.in", "run: sh pager.shim", "pager"]
        {
            assert!(!runs(&[(CI, order)], "pager.sh"), "{order}");
        }
        let quiet = (CI, "run: make check");
        assert!(runs(&[quiet, ("Makefile", "check:\n\tsh test.sh\n")], "test.sh"));
        assert!(runs(&[quiet, ("package.json", r#"{"scripts":{"check":"./test.sh"}}"#)], "test.sh"));
        assert!(runs(&[quiet, ("scripts/all", ". ./test.sh\n")], "test.sh"));
        assert!(runs(&[(CI, "run: .\\Build -All")], "build.ps1"), "Windows adds the ending");
    }

    #[test]
    fn what_a_script_that_runs_names_runs_too() {
        let files = [
            (CI, "run: ./all.sh"),
            ("all.sh", ". ./more.sh"),
            ("more.sh", "sh last.sh"),
            ("app.sh", "sh x.sh"),
        ];
        for script in ["all.sh", "more.sh", "last.sh"] {
            assert!(runs(&files, script), "{script}");
        }
        assert!(!runs(&files, "app.sh"));
        assert!(!runs(&files, "x.sh"), "named by one that nobody runs");
    }

    #[test]
    fn where_in_doubt_it_counts() {
        for order in
            ["run: for f in *.sh; do sh $f; done", "run: sh ${{ matrix.what }}.sh", "run: sh test_$n.sh"]
        {
            assert!(runs(&[(CI, order)], "pager.sh"), "{order}");
        }
        assert!(
            !runs(&[(CI, "on:\n  push:\n    paths:\n      - '**.sh'\njobs:")], "pager.sh"),
            "that says only when"
        );
        assert!(runs(&[(CI, "run: find . -name x -exec sh {} +")], "pager.sh"));
        assert!(runs(&[("Makefile", "all:\n\ttrue\n")], "pager.sh"), "its CI stands elsewhere");
        assert!(Orders::default().name("pager.sh"));
        let endless = ".sh".repeat(170_000);
        assert!(runs(&[(CI, "run: true"), ("Makefile", &endless)], "pager.sh"), "no file has such a name");
        assert!(
            Orders::of([(CI, Some("run: true")), ("Makefile", None)], None).name("pager.sh"),
            "not all was read"
        );
        let told = |script| Orders::of([(CI, Some("run: true"))], Some("sh test.sh && true")).name(script);
        assert!(told("test.sh") && !told("pager.sh"), "the check of the terminal stands in no file");
    }

    proptest! {
        /// However a workflow writes it down, a script that it runs is seen.
        #[test]
        fn no_named_script_is_overlooked(
            name in "[a-z][a-z0-9_-]{0,8}", ending in "sh|bash|ps1|bat|cmd", around in "[ -~\n]{0,30}",
            before in " |\\./|\"|'|=|\\$\\{PWD\\}/|/|\n|\\(|\\$\\(|;|&&|\\|", after in "( |\"|'|\n|;|\\)|&|\\|)?",
        ) {
            let script = format!("{name}.{ending}");
            let text = format!("{around}{before}{script}{after}");
            prop_assert!(runs(&[(CI, &text)], &script), "{text:?}");
        }
    }
}
