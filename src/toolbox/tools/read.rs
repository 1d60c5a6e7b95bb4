//! Reading a file as a model wants it: numbered lines, a range, a bounded size.

use super::{HELD, SHOWN, Told, paths::Paths, text};
use std::{
    fmt::Write,
    fs::File,
    io::{BufRead, BufReader, Read},
};

/// A line longer than this is generated code or data: its start tells as much.
const LINE: usize = 2_000;

/// `limit` lines from `offset` (from 1) on.
pub(in crate::toolbox) fn read(paths: &Paths, path: &str, offset: usize, limit: usize) -> Told<String> {
    let real = paths.resolve(path)?;
    if real.is_dir() {
        return Err(format!("{path} is a folder; use the list tool"));
    }
    let file = File::open(&real).map_err(|e| format!("{path}: {}", reason(&e)))?;
    if !file.metadata().is_ok_and(|m| m.is_file()) {
        return Err(format!("{path} is not an ordinary file"));
    }
    let mut reader = BufReader::new(file);
    if reader.fill_buf().map_err(|e| format!("{path}: {e}"))?.contains(&0) {
        return Err(format!("{path} is not a text file; use the shell tool to look into it"));
    }
    number(reader, path, offset.max(1), limit)
}

/// An error without the number that nobody reads.
pub(in crate::toolbox) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file; the glob tool finds files by name".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}

fn number(mut reader: impl BufRead, path: &str, offset: usize, limit: usize) -> Told<String> {
    let (mut out, mut at, mut line) = (String::new(), 0, Vec::new());
    loop {
        line.clear();
        // A line of a gigabyte is read in pieces, so that it is never held.
        let read = reader.by_ref().take(HELD as u64).read_until(b'\n', &mut line);
        if read.map_err(|e| format!("{path}: {e}"))? == 0 {
            break;
        }
        at += 1;
        if at < offset {
            continue;
        }
        if at >= offset + limit || out.len() >= SHOWN {
            let _ = write!(out, "[more follows; go on with offset {at}]");
            return Ok(out);
        }
        let shown = String::from_utf8_lossy(&line);
        let _ = writeln!(out, "{at:>6}\t{}", text::line(shown.trim_end_matches(['\n', '\r']), LINE));
    }
    match (at, out.is_empty()) {
        (0, _) => Ok(format!("[{path} is empty]")),
        (_, true) => Err(format!("{path} has only {at} lines")),
        _ => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_numbered_and_says_how_to_go_on() {
        let file: String = (1..=10).map(|n| format!("line {n}\n")).collect();
        assert_eq!(
            number(file.as_bytes(), "f", 3, 2).unwrap(),
            "     3\tline 3\n     4\tline 4\n[more follows; go on with offset 5]"
        );
        assert_eq!(number(file.as_bytes(), "f", 11, 5).unwrap_err(), "f has only 10 lines");
        assert_eq!(number(&b""[..], "f", 1, 5).unwrap(), "[f is empty]");
    }

    #[test]
    fn whatever_the_file_the_answer_is_bounded() {
        let huge = vec![b'x'; 3 * HELD];
        assert!(number(&huge[..], "f", 1, 9_000).unwrap().len() < 4 * LINE);
        let many = "y\n".repeat(100_000);
        assert!(number(many.as_bytes(), "f", 1, 100_000).unwrap().len() < SHOWN + 100);
    }
}
