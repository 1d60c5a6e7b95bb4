//! Which paths from a sandbox a tree may hold: none that any system's git would take for its own folder, and none that
//! two systems would lay out differently.

use super::GitError;

/// Longest path and name that every common file system holds.
const LONGEST_PATH: usize = 4_096;
const LONGEST_NAME: usize = 255;
/// Folders below folders: each level is a tree of its own.
const DEEPEST: usize = 100;

/// Checks a path as it came; gives its names.
pub(super) fn check(path: &str) -> Result<Vec<&str>, GitError> {
    let refuse = |why| GitError::BadPath { path: path.chars().take(200).collect(), why };
    if path.len() > LONGEST_PATH {
        return Err(refuse("it is longer than 4096 bytes"));
    }
    let names: Vec<&str> = path.split('/').collect();
    if names.len() > DEEPEST {
        return Err(refuse("it lies more than 100 folders deep"));
    }
    match names.iter().find_map(|name| fault(name)) {
        Some(why) => Err(refuse(why)),
        None => Ok(names),
    }
}

/// What is wrong with one name of a path.
fn fault(name: &str) -> Option<&'static str> {
    match name {
        "" => return Some("it has an empty name in it"),
        "." | ".." => return Some("it has \".\" or \"..\" in it"),
        _ if name.len() > LONGEST_NAME => return Some("a name in it is longer than 255 bytes"),
        _ if name.chars().any(char::is_control) => return Some("it has a control character in it"),
        _ if name.contains('\\') => return Some("it has a backslash in it"),
        _ => {}
    }
    is_dot_git(name).then_some("it is a spelling of \".git\"")
}

/// Any name that git on some system takes for `.git`.
///
/// Source: git's own `is_hfs_dotgit` (characters that HFS+ ignores) and `is_ntfs_dotgit` (trailing dots and spaces,
/// streams after a colon, the short name `GIT~1`).
fn is_dot_git(name: &str) -> bool {
    let bare = bare(name);
    let short =
        bare.strip_prefix("git~").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    bare == ".git" || short
}

/// A name that git reads from the tree itself and must not reach through a link (`.gitmodules` and its spellings).
/// Source: git's fsck, `gitmodulesSymlink`.
pub(super) fn is_read_by_git(name: &str) -> bool {
    let bare = bare(name);
    matches!(bare.as_str(), ".gitmodules" | ".gitattributes" | ".gitignore" | ".mailmap")
        || ["gitmod~", "gi7eba~", "gitatt~", "gitign~"].iter().any(|short| bare.starts_with(short))
}

/// A name as the least exact file system sees it.
fn bare(name: &str) -> String {
    let seen: String = name.chars().filter(|c| !is_ignored_by_hfs(*c)).collect();
    let stem = seen.split(':').next().unwrap_or_default();
    fold(stem.trim_end_matches(['.', ' ']))
}

fn is_ignored_by_hfs(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// One spelling for all that differ in case alone. Up, then down: some letters have two small forms.
pub(super) fn fold(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(path: &str) -> bool {
        check(path).is_err()
    }

    #[test]
    fn every_spelling_of_dot_git_is_refused() {
        let all = [
            ".git",
            ".GIT",
            ".gIt",
            ".git.",
            ".git ",
            ".git . .",
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            "git~1",
            "GIT~1",
            "git~12",
            "git~1 .",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".git\u{206f}",
            ".gi\u{202e}T",
        ];
        for name in all {
            assert!(refused(name) && refused(&format!("a/{name}/config")), "{name:?}");
        }
        for fine in [".github/x", ".gitignore", "git", "a.git", "git~x", "git~", ".git-x", "agit~1", "..."] {
            assert!(!refused(fine), "{fine:?}");
        }
    }

    proptest! {
        #[test]
        fn dot_git_cannot_be_dressed_up(
            upper in proptest::collection::vec(any::<bool>(), 4),
            ignored in proptest::collection::vec("[\u{200c}-\u{200f}\u{202a}-\u{202e}\u{206a}-\u{206f}\u{feff}]{0,2}", 5),
            tail in "[. ]{0,4}", stream in "(:[a-z$]{0,5})?", before in "([a-z]{1,4}/){0,2}", after in "(/[a-z]{1,4}){0,2}",
        ) {
            let mut name = String::new();
            for ((c, up), gap) in ".git".chars().zip(upper).zip(&ignored) {
                name.push_str(gap);
                name.push(if up { c.to_ascii_uppercase() } else { c });
            }
            let path = format!("{before}{name}{}{tail}{stream}{after}", ignored[4]);
            prop_assert!(refused(&path), "{path:?}");
        }

        #[test]
        fn what_passes_stays_inside(path in "\\PC{0,40}|([a.~:/ ]|git|\\.\\.|\u{200d}){0,12}") {
            let Ok(names) = check(&path) else { return Ok(()) };
            prop_assert_eq!(names.join("/"), path.clone());
            prop_assert!(!path.starts_with('/') && !path.ends_with('/') && !path.contains(['\\', '\0']));
            prop_assert!(names.iter().all(|n| !n.is_empty() && *n != "." && *n != ".."));
            prop_assert!(git2::Index::new().unwrap().add(&entry(&path)).is_ok(), "libgit2 refuses {:?}", path);
        }
    }

    fn entry(path: &str) -> git2::IndexEntry {
        let zero = git2::IndexTime::new(0, 0);
        let id = git2::Oid::hash_object(git2::ObjectType::Blob, b"").unwrap();
        let path = path.as_bytes().to_vec();
        git2::IndexEntry {
            ctime: zero,
            mtime: zero,
            dev: 0,
            ino: 0,
            mode: 0o100_644,
            uid: 0,
            gid: 0,
            file_size: 0,
            id,
            flags: 0,
            flags_extended: 0,
            path,
        }
    }
}
