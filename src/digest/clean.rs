//! Takes from a raw log line what only a terminal or a runner needs: the leading timestamp, escape sequences, progress that a
//! carriage return overwrote, and the fold markers of a CI system. What is left is what a person would have seen.

use memchr::{memchr, memchr2, memrchr};

/// Longest part of one raw line that is looked at, in bytes. Minified bundles and base64 fill lines of megabytes; nothing beyond
/// this prefix has ever been the reason of a failure.
pub(super) const LINE_CAP: usize = 16 * 1024;

/// What of one raw line is looked at where it is longer than [`LINE_CAP`]: the beginning of what the carriage returns of a
/// progress bar have left of it.
pub(super) fn within_cap(raw: &[u8]) -> &[u8] {
    let left = if raw.len() > LINE_CAP { after_overwriting(raw) } else { raw };
    &left[..left.len().min(LINE_CAP)]
}

/// Writes the visible part of `raw` (one line without its LF) into `out`, which is emptied first.
pub(super) fn visible<'a>(raw: &[u8], out: &'a mut Vec<u8>) -> &'a [u8] {
    out.clear();
    let raw = within_cap(raw);
    let raw = without_timestamp(raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw));
    if raw.iter().all(|b| *b >= 0x20 || *b == b'\t') {
        out.extend_from_slice(raw);
    } else {
        let shown = after_overwriting(raw);
        strip_escapes(shown, out);
    }
    while out.last().is_some_and(u8::is_ascii_whitespace) {
        out.pop();
    }
    out
}

/// The line without a leading `2023-06-22T14:12:33.1234567Z `, which GitHub's runner writes before every line.
pub(super) fn without_timestamp(raw: &[u8]) -> &[u8] {
    let date = raw.len() > 20
        && raw[4] == b'-'
        && raw[7] == b'-'
        && raw[10] == b'T'
        && raw[13] == b':'
        && raw[..4].iter().all(u8::is_ascii_digit);
    if !date {
        return raw;
    }
    match memchr(b'Z', &raw[..raw.len().min(40)]) {
        Some(z) if raw[11..z].iter().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.')) => {
            let rest = &raw[z + 1..];
            rest.strip_prefix(b" ").unwrap_or(rest)
        }
        _ => raw,
    }
}

/// What a terminal would show of a line in which carriage returns went back to its beginning: the last part that is not empty.
/// Fold and timing markers of Travis and GitLab end in a carriage return and vanish the same way.
pub(super) fn after_overwriting(raw: &[u8]) -> &[u8] {
    let mut rest = raw;
    loop {
        match memrchr(b'\r', rest) {
            None => return rest,
            Some(at) => {
                let last = &rest[at + 1..];
                if has_text(last) {
                    return last;
                }
                rest = &rest[..at];
            }
        }
    }
}

fn has_text(part: &[u8]) -> bool {
    let mut seen = Vec::new();
    strip_escapes(part, &mut seen);
    seen.iter().any(|b| !b.is_ascii_whitespace())
}

/// Copies `line` without ANSI escape sequences (CSI, OSC and two-byte ones) and other control bytes.
fn strip_escapes(line: &[u8], out: &mut Vec<u8>) {
    let mut rest = line;
    while let Some(at) = memchr2(0x1b, 0x08, rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let skip = if rest[0] == 0x08 { 1 } else { escape_length(rest) };
        rest = &rest[skip..];
    }
    out.extend_from_slice(rest);
    out.retain(|b| *b >= 0x20 || *b == b'\t');
}

/// Length of the escape sequence at the start of `bytes` (whose first byte is ESC).
fn escape_length(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        Some(b'[') => {
            let end = bytes[2..].iter().position(|b| (0x40..=0x7e).contains(b));
            end.map_or(2, |at| at + 3)
        }
        Some(b']') => match memchr2(0x07, 0x1b, &bytes[2..]) {
            Some(at) if bytes[2 + at] == 0x07 => at + 3,
            Some(at) => (at + 4).min(bytes.len()),
            None => 2,
        },
        Some(b'(' | b')') => bytes.len().min(3),
        Some(_) => 2,
        None => 1,
    }
}

/// The message of a cleaned line without what a logger, a build tool or a container runtime writes before it
/// (`[task …Z] 21:47:57 INFO - `, `[12:30:01] `, `#7 1.204 `, `job⇥step⇥…Z `, `[info] `, `12:30:01 | `). Used to recognise
/// lines, never to show them.
pub(super) fn message(line: &[u8]) -> &[u8] {
    let mut rest = line;
    for _ in 0..4 {
        let shorter = without_prefix(rest);
        if shorter.len() == rest.len() {
            break;
        }
        rest = shorter;
    }
    rest
}

fn without_prefix(line: &[u8]) -> &[u8] {
    match line.first() {
        Some(b'[') => {
            let Some(end) = memchr(b']', &line[..line.len().min(64)]) else { return line };
            let inner = &line[1..end];
            let clock = inner.contains(&b':') && inner.iter().filter(|b| b.is_ascii_digit()).count() >= 4;
            let level = matches!(
                inner,
                b"info"
                    | b"error"
                    | b"warn"
                    | b"INFO"
                    | b"ERROR"
                    | b"WARNING"
                    | b"WARN"
                    | b"stdout"
                    | b"stderr"
            );
            if clock || level { trim(&line[end + 1..]) } else { line }
        }
        Some(b'#') => {
            // BuildKit: "#12 3.456 message"
            let digits = line[1..].iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 || line.get(1 + digits) != Some(&b' ') {
                return line;
            }
            let rest = &line[digits + 2..];
            let clock = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
            if clock > 2 && rest.get(clock) == Some(&b' ') { &rest[clock + 1..] } else { rest }
        }
        Some(b'0'..=b'9') => without_clock(line),
        _ => after_tabs(line),
    }
}

/// `12:30:01 `, `12:30:01.123 ` and mozharness's `12:30:01     INFO - `.
fn without_clock(line: &[u8]) -> &[u8] {
    let clock = line.len() > 9
        && line[2] == b':'
        && line[5] == b':'
        && line[6].is_ascii_digit()
        && line[7].is_ascii_digit();
    if !clock {
        return without_timestamp(line);
    }
    let end = line
        .iter()
        .position(|b| !(b.is_ascii_digit() || matches!(b, b':' | b'.' | b',')))
        .unwrap_or(line.len());
    let rest = trim(&line[end..]);
    for level in [&b"INFO - "[..], b"ERROR - ", b"WARNING - ", b"CRITICAL - ", b"FATAL - ", b"DEBUG - "] {
        if let Some(rest) = rest.strip_prefix(level) {
            return rest;
        }
    }
    rest
}

/// `job⇥step⇥2021-12-01T13:01:04.3787743Z message`, as GitHub's command line prints the log of a run.
fn after_tabs(line: &[u8]) -> &[u8] {
    let Some(first) = memchr(b'\t', &line[..line.len().min(120)]) else { return line };
    let Some(second) = memchr(b'\t', &line[first + 1..line.len().min(first + 200)]) else { return line };
    let rest = &line[first + second + 2..];
    let rest = rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest);
    let bare = without_timestamp(rest);
    if first > 0 && bare.len() < rest.len() { bare } else { line }
}

/// `bytes` without leading ASCII blanks.
pub(super) fn trim(bytes: &[u8]) -> &[u8] {
    let skip = bytes.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    &bytes[skip..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(raw: &str) -> String {
        String::from_utf8_lossy(visible(raw.as_bytes(), &mut Vec::new())).into_owned()
    }

    #[test]
    fn only_what_a_person_would_have_seen_is_left() {
        assert_eq!(
            seen("2023-06-22T14:12:33.1234567Z \x1b[31mred\x1b[0m\x1b]8;;http://x\x07 link"),
            "red link"
        );
        assert_eq!(seen("10%\r50%\r\x1b[Kdone\r"), "done");
        assert_eq!(seen("travis_time:start:04e6a1a3\r\x1b[0K$ make test"), "$ make test");
        let progress: String = (0..9000).map(|n| format!("{n} of 9000\r")).collect();
        assert_eq!(seen(&format!("{progress}error: no space left")), "error: no space left");
        assert_eq!(seen("plain  \t"), "plain");
        assert_eq!(seen("\x1b["), "");
        assert_eq!(seen("bell\x07 and \0 nothing"), "bell and  nothing");
    }

    #[test]
    fn a_message_loses_the_prefixes_of_loggers() {
        for (line, want) in [
            ("[task 2025-02-13T21:47:57.540Z] 21:47:57    ERROR -  error: x", "error: x"),
            ("#12 3.456 error: x", "error: x"),
            ("[12:30:01] error: x", "error: x"),
            ("build\tcompile\t2021-12-01T13:01:04.3787743Z error: x", "error: x"),
            ("[error] a.scala:1: x", "a.scala:1: x"),
            ("[core] x", "[core] x"),
            ("a\tb\tc", "a\tb\tc"),
        ] {
            assert_eq!(String::from_utf8_lossy(trim(message(line.as_bytes()))), want);
        }
    }
}
