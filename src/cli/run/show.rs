//! How a run looks: on a terminal lines that stay and one below them that is written over; in a pipe plain lines; for
//! programs one JSON object a line.

use crate::{config, domain::text};
use serde_json::{Map, Value, json};
use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// Where the width is not known.
const WIDTH: usize = 80;
/// Narrower than this a line is not cut to its terminal.
const NARROWEST: usize = 40;
/// What stands before the text of a line.
const MARGIN: usize = 18;
/// Rows of a line that says more than what the agent calls.
const ROWS: usize = 3;
/// The longest line in a pipe.
const PIPED: usize = 400;

/// What is told.
pub(in crate::cli) struct Show {
    began: Instant,
    mode: Mode,
    status: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Terminal { colours: bool },
    Piped,
    Json,
}

/// How a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Tone {
    Plain,
    Quiet,
    Good,
    Bad,
}

/// One thing that happened.
pub(in crate::cli) struct Line {
    who: String,
    what: Option<String>,
    tone: Tone,
    event: Map<String, Value>,
}

impl Line {
    pub(in crate::cli) fn new(who: &str, what: impl Into<String>, tone: Tone) -> Self {
        Self { who: who.to_owned(), what: Some(what.into()), tone, event: Map::new() }
    }

    /// For programs only.
    pub(in crate::cli) fn hidden(event: &str) -> Self {
        Self { who: String::new(), what: None, tone: Tone::Quiet, event: Map::new() }.event(event)
    }

    /// What programs know it by.
    pub(in crate::cli) fn event(self, name: &str) -> Self {
        self.with("event", name)
    }

    /// A field for programs.
    pub(in crate::cli) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.event.insert(name.to_owned(), value.into());
        self
    }
}

impl Show {
    pub(in crate::cli) fn new(json: bool) -> Self {
        let mode = match (json, std::io::stdout().is_terminal()) {
            (true, _) => Mode::Json,
            (false, true) => Mode::Terminal { colours: config::wants_colours() },
            (false, false) => Mode::Piped,
        };
        Self { began: Instant::now(), mode, status: String::new() }
    }

    /// What is to be done, once, before everything else.
    pub(super) fn title(&mut self, instruction: &str) {
        if self.mode != Mode::Json {
            let first = super::follow::first(instruction);
            self.plain(&format!("fixpoint: {}", cut(first, self.width() - 11)));
            self.plain("");
        }
    }

    /// Something happened.
    pub(in crate::cli) fn line(&mut self, line: &Line) {
        let at = self.began.elapsed();
        let what = line.what.as_deref().map(|what| text::line(&text::terminal(what)));
        if self.mode == Mode::Json {
            let mut event =
                Map::from_iter([("at".to_owned(), json!((at.as_secs_f64() * 10.0).round() / 10.0))]);
            event.extend(line.event.clone());
            if let Some(what) = what {
                event.insert("text".to_owned(), json!(what));
            }
            return self.write(&format!("{}\n", Value::Object(event)));
        }
        let Some(what) = what else { return };
        let room = self.width().saturating_sub(MARGIN + 1);
        let rows = if line.tone == Tone::Quiet { 1 } else { ROWS };
        let mut rows = wrapped(&what, room, rows).into_iter();
        let first = self.painted(&rows.next().unwrap_or_default(), line.tone);
        self.plain(&format!("{:>6}  {:<8}  {first}", clock(at), text::terminal(&line.who)));
        for row in rows {
            self.plain(&format!("{:MARGIN$}{}", "", self.painted(&row, line.tone)));
        }
    }

    /// What goes on now; empty: nothing.
    pub(in crate::cli) fn status(&mut self, status: &str) {
        let Mode::Terminal { .. } = self.mode else { return };
        let status = match status {
            "" => String::new(),
            status => cut(&format!("{:>6}  {status}", clock(self.began.elapsed())), self.width() - 1),
        };
        if status != self.status {
            // Over what stands there, then away with the rest: what does not change never goes out.
            let painted = self.painted(&status, Tone::Quiet);
            self.write(&format!("\r{painted}\x1b[K"));
            self.status = status;
        }
    }

    /// A line as it is, for people.
    pub(in crate::cli) fn plain(&mut self, line: &str) {
        match self.mode {
            Mode::Json => {}
            Mode::Terminal { .. } if !self.status.is_empty() => {
                let status = self.painted(&self.status.clone(), Tone::Quiet);
                self.write(&format!("\r{line}\x1b[K\n{status}"));
            }
            _ => self.write(&format!("{line}\n")),
        }
    }

    /// A name and what it is, at the end.
    pub(super) fn field(&mut self, name: &str, what: &str) {
        let room = self.width() - 13;
        for (n, row) in wrapped(&text::line(&text::terminal(what)), room, ROWS).iter().enumerate() {
            self.plain(&format!("  {:<8}  {row}", if n == 0 { name } else { "" }));
        }
    }

    /// Somebody's words as they are, set off.
    pub(in crate::cli) fn paragraphs(&mut self, words: &str) {
        let room = self.width() - 3;
        for line in text::terminal(words).lines() {
            wrapped(line, room, usize::MAX).iter().for_each(|row| self.plain(format!("  {row}").trim_end()));
        }
    }

    /// The last line for programs.
    pub(in crate::cli) fn last(&mut self, outcome: &Value) {
        if self.mode == Mode::Json {
            self.write(&format!("{outcome}\n"));
        }
    }

    /// Asks the person at the terminal; `None`: nobody is there, or nobody answers.
    pub(super) async fn answer(&mut self, question: &str, stop: &CancellationToken) -> Option<String> {
        let there = matches!(self.mode, Mode::Terminal { .. }) && std::io::stdin().is_terminal();
        self.status("");
        if !there {
            return None;
        }
        self.plain("");
        self.paragraphs(question);
        self.plain("");
        self.write("  your answer (empty: leave it)> ");
        let (tell, told) = tokio::sync::oneshot::channel();
        // A thread of its own: a read that nobody answers must not hold the end of the program.
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = std::io::stdin().read_line(&mut line);
            let _ = tell.send(line);
        });
        let line = tokio::select! {
            line = told => line.ok()?,
            () = stop.cancelled() => {
                self.write("\n");
                return None;
            }
        };
        let line = line.trim().to_owned();
        (!line.is_empty()).then_some(line)
    }

    fn width(&self) -> usize {
        let Mode::Terminal { .. } = self.mode else { return PIPED };
        let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map(|size| usize::from(size.ws_col));
        columns.ok().filter(|columns| *columns > 0).unwrap_or(WIDTH).max(NARROWEST)
    }

    pub(super) fn painted(&self, text: &str, tone: Tone) -> String {
        let code = match (self.mode, tone) {
            (Mode::Terminal { colours: true }, Tone::Quiet) => "2",
            (Mode::Terminal { colours: true }, Tone::Good) => "32",
            (Mode::Terminal { colours: true }, Tone::Bad) => "31",
            _ => return text.to_owned(),
        };
        if text.is_empty() { String::new() } else { format!("\x1b[{code}m{text}\x1b[0m") }
    }

    /// One write a change, so that nothing flickers. A reader who has seen enough closes the pipe: that is no error.
    fn write(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// Rows of at most so many columns, broken at spaces where there are some; what does not fit the last is cut.
fn wrapped(text: &str, room: usize, rows: usize) -> Vec<String> {
    let (mut made, mut rest) = (Vec::new(), text);
    while made.len() + 1 < rows && fitting(rest, room) < rest.len() {
        let end = fitting(rest, room);
        // Not for a space near the beginning: a long path would leave the row nearly empty.
        let space = rest[..end].rfind(' ').filter(|space| *space > end / 2);
        let (row, left) = rest.split_at(space.unwrap_or(end));
        made.push(row.to_owned());
        rest = left.trim_start();
    }
    made.push(cut(rest, room));
    made
}

/// At most so many columns.
fn cut(text: &str, room: usize) -> String {
    match fitting(text, room) {
        end if end == text.len() => text.to_owned(),
        _ => format!("{}…", &text[..fitting(text, room.saturating_sub(1))]),
    }
}

/// How many bytes of a text fit into so many columns.
fn fitting(text: &str, room: usize) -> usize {
    let mut used = 0;
    let fits = |(_, sign): &(usize, char)| {
        used += columns(*sign);
        used <= room
    };
    text.char_indices().take_while(fits).last().map_or(0, |(at, sign)| at + sign.len_utf8())
}

/// Columns of a terminal that a sign takes: two for East Asian wide ones and pictures (Unicode's UAX #11, by blocks).
fn columns(sign: char) -> usize {
    match u32::from(sign) {
        0x1100..=0x115F
        | 0x2E80..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// `0:42`, `1:02:03`.
pub(in crate::cli) fn clock(span: Duration) -> String {
    let all = span.as_secs();
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// `4.2 s`, `3 min 20 s`, `1 h 5 min`.
pub(in crate::cli) fn span(span: Duration) -> String {
    let all = span.as_secs();
    match all {
        0..60 => format!("{:.1} s", span.as_secs_f64()),
        60..3600 if all.is_multiple_of(60) => format!("{} min", all / 60),
        60..3600 => format!("{} min {} s", all / 60, all % 60),
        _ => format!("{} h {} min", all / 3600, all / 60 % 60),
    }
}

/// `812`, `34.1k`, `1.2M`.
#[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(in crate::cli) fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{:.1}k", n as f64 / 1e3),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}

/// ` · $0.12`, or nothing where no price is known.
pub(in crate::cli) fn money(micros: u64) -> String {
    if micros == 0 { String::new() } else { format!(" · ${:.2}", super::setup::dollars(micros)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_never_takes_more_columns_than_there_are() {
        for (text, room, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("", 3, ""),
        ] {
            assert_eq!(cut(text, room), expected);
        }
        let text = "FAILED a_long/path/to::a_test - Error: and why that is";
        assert_eq!(wrapped(text, 20, 3), ["FAILED a_long/path/t", "o::a_test - Error:", "and why that is"]);
    }

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!([count(812), count(34_120), count(1_240_000)].join(" "), "812 34.1k 1.2M");
        let at = |seconds| (clock(Duration::from_secs(seconds)), span(Duration::from_secs(seconds)));
        assert_eq!(at(42), ("0:42".to_owned(), "42.0 s".to_owned()));
        assert_eq!(at(1200), ("20:00".to_owned(), "20 min".to_owned()));
        assert_eq!(at(3905), ("1:05:05".to_owned(), "1 h 5 min".to_owned()));
    }
}
