//! Writing whole files, and replacing one text that occurs once.

use super::{Told, paths::Paths, read::reason};
use std::fs;

/// A file larger than this is not edited by text: it is data, and a program does it better.
const LARGE: u64 = 4 << 20;

/// Makes or replaces a file; folders on the way are made.
pub(in crate::toolbox) fn write(paths: &Paths, path: &str, content: &str) -> Told<String> {
    let real = paths.resolve(path)?;
    if real.is_dir() {
        return Err(format!("{path} is a folder"));
    }
    let was_there = real.exists();
    if let Some(folder) = real.parent() {
        fs::create_dir_all(folder).map_err(|e| format!("{path}: {}", reason(&e)))?;
    }
    fs::write(&real, content).map_err(|e| format!("{path}: {}", reason(&e)))?;
    let verb = if was_there { "replaced" } else { "created" };
    Ok(format!("{verb} {} ({} lines)", paths.name(&real), content.lines().count()))
}

/// Replaces `old`, which must occur exactly once unless `all`.
pub(in crate::toolbox) fn edit(paths: &Paths, path: &str, old: &str, new: &str, all: bool) -> Told<String> {
    let real = paths.resolve(path)?;
    let size = fs::metadata(&real).map_err(|e| format!("{path}: {}", reason(&e)))?.len();
    if size > LARGE {
        return Err(format!("{path} has {size} bytes; change it with a program in the shell"));
    }
    let bytes = fs::read(&real).map_err(|e| format!("{path}: {}", reason(&e)))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8 text"))?;
    let changed = replace(&text, path, old, new, all)?;
    fs::write(&real, &changed).map_err(|e| format!("{path}: {}", reason(&e)))?;
    Ok(format!("edited {}", paths.name(&real)))
}

fn replace(text: &str, path: &str, old: &str, new: &str, all: bool) -> Told<String> {
    if old.is_empty() {
        return Err("old is empty; give the text to replace, or use the write tool".into());
    }
    if old == new {
        return Err("old and new are the same".into());
    }
    match lines_of(text, old).as_slice() {
        [] => Err(not_found(text, path, old)),
        [_] => Ok(text.replacen(old, new, 1)),
        _ if all => Ok(text.replace(old, new)),
        lines => {
            let first: Vec<_> = lines.iter().take(10).map(ToString::to_string).collect();
            Err(format!(
                "old occurs {} times in {path} (lines {}); add lines around it until it is unique, or set all",
                lines.len(),
                first.join(", ")
            ))
        }
    }
}

/// The line (from 1) of each match.
fn lines_of(text: &str, old: &str) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let found = text.match_indices(old).map(|(at, _)| {
        line += text[from..at].matches('\n').count();
        from = at;
        line
    });
    found.collect()
}

/// Says where the text would be, were it not for white space.
fn not_found(text: &str, path: &str, old: &str) -> String {
    let wanted: Vec<_> = old.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let near = wanted.first().and_then(|first| text.lines().position(|line| line.trim() == *first));
    match near {
        Some(at) => format!(
            "old does not occur in {path}; line {} is like its first line, \
             so white space or a later line differs: read it again",
            at + 1
        ),
        None => format!("old does not occur in {path}; read the file again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_unique_match_is_replaced() {
        let text = "fn a() {\n    1\n}\nfn b() {\n    1\n}\n";
        let try_it = |old: &str, all| replace(text, "f.rs", old, "2", all);
        assert_eq!(try_it("fn a() {\n    1", false).unwrap(), "2\n}\nfn b() {\n    1\n}\n");
        assert_eq!(
            try_it("    1", false).unwrap_err(),
            "old occurs 2 times in f.rs (lines 2, 5); add lines around it until it is unique, or set all"
        );
        assert_eq!(try_it("    1", true).unwrap().matches('2').count(), 2);
        assert!(try_it("\tfn b() {\n1", false).unwrap_err().contains("line 4 is like its first line"));
        assert!(try_it("fn c", false).unwrap_err().contains("read the file again"));
    }
}
