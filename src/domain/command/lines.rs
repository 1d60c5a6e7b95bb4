//! Where commands stand: the lines of a comment that Markdown shows as plain text at the outermost level.
//!
//! The parser decides what is code, quote, list, table, heading, link or HTML; the words are then read from the source, so
//! that an escaped slash or an entity never makes a command.

use super::Reading;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// A line that begins with the command word or a mention of the App. Offsets are bytes of the comment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Where the slash or the `@` stands.
    pub start: usize,
    /// Where the word ends.
    pub rest: usize,
    /// Where the line ends, without its line break.
    pub end: usize,
}

/// The commands of a comment in order; if there are none, the second value says why.
pub(super) fn find(comment: &str, reading: &Reading<'_>) -> (Vec<Line>, &'static str) {
    // What GitHub reads beyond CommonMark and what decides whether a line is a paragraph's.
    let extensions = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    let mut walk = Walk::new(comment, reading);
    for (event, range) in Parser::new_ext(comment, extensions).into_offset_iter() {
        walk.see(&event, range);
    }
    (walk.found, walk.elsewhere.unwrap_or("no command stands at the start of a line"))
}

struct Walk<'a> {
    comment: &'a str,
    reading: &'a Reading<'a>,
    /// The blocks and spans that are open, outermost first: what a reader would call them.
    open: Vec<Place>,
    /// Nothing of the present line has been seen yet.
    at_line_start: bool,
    /// A command whose line has not ended yet.
    pending: Option<Line>,
    found: Vec<Line>,
    /// Where the first thing that looks like a command but is none stands.
    elsewhere: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Paragraph,
    /// Emphasis: a stray star must not hide a command on a line of its own.
    Style,
    Other(&'static str),
}

impl<'a> Walk<'a> {
    fn new(comment: &'a str, reading: &'a Reading<'a>) -> Self {
        Self {
            comment,
            reading,
            open: Vec::new(),
            at_line_start: false,
            pending: None,
            found: Vec::new(),
            elsewhere: None,
        }
    }

    fn see(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                self.at_line_start = matches!(tag, Tag::Paragraph);
                self.open.push(place(tag));
            }
            Event::End(tag) => {
                if matches!(tag, TagEnd::Paragraph) {
                    self.end_line(range.end);
                }
                self.at_line_start = false;
                self.open.pop();
            }
            Event::SoftBreak | Event::HardBreak => {
                self.end_line(range.start);
                self.at_line_start = true;
            }
            Event::Text(_) => {
                if self.at_line_start && self.in_plain_text() {
                    self.begin_line(range.start);
                } else {
                    self.note(range);
                }
                self.at_line_start = false;
            }
            Event::Code(_) => self.inside(range, "it stands in code"),
            Event::Html(_) | Event::InlineHtml(_) => self.inside(range, "it stands in raw HTML"),
            _ => self.at_line_start = false,
        }
    }

    /// In a paragraph that stands in nothing else, and in no link of it.
    fn in_plain_text(&self) -> bool {
        self.open.first() == Some(&Place::Paragraph)
            && self.open[1..].iter().all(|open| *open == Place::Style)
    }

    fn begin_line(&mut self, start: usize) {
        let escaped = self.comment[..start].ends_with('\\');
        let Some(length) = trigger(&self.comment[start..], self.reading) else { return };
        if escaped {
            self.elsewhere.get_or_insert("its slash or mention is escaped by a backslash");
            return;
        }
        self.pending = Some(Line { start, rest: start + length, end: self.comment.len() });
    }

    /// The line ends at `end`, or before it where a line break stands inside a code span.
    fn end_line(&mut self, end: usize) {
        let Some(mut line) = self.pending.take() else { return };
        let text = &self.comment[line.rest..end.max(line.rest)];
        line.end = line.rest + text.find(['\n', '\r']).unwrap_or(text.len());
        let next = self.comment[line.rest..line.end].chars().next();
        if next.is_none_or(char::is_whitespace) {
            line.rest += both_at_once(
                &self.comment[line.start..line.rest],
                &self.comment[line.rest..line.end],
                self.reading,
            );
            self.found.push(line);
        } else {
            self.elsewhere.get_or_insert("the word at the start of the line goes on: it is another word");
        }
    }

    fn inside(&mut self, range: Range<usize>, place: &'static str) {
        self.at_line_start = false;
        if self.elsewhere.is_none() && mentions(&self.comment[range], self.reading) {
            self.elsewhere = Some(place);
        }
    }

    fn note(&mut self, range: Range<usize>) {
        let place = self.open.iter().find_map(|open| match open {
            Place::Other(place) => Some(*place),
            Place::Paragraph | Place::Style => None,
        });
        self.inside(range, place.unwrap_or("it does not stand at the start of a line"));
    }
}

fn place(tag: &Tag<'_>) -> Place {
    match tag {
        Tag::Paragraph => Place::Paragraph,
        Tag::Emphasis | Tag::Strong => Place::Style,
        Tag::BlockQuote(_) => Place::Other("it stands in a quote (an empty line before it ends the quote)"),
        Tag::CodeBlock(_) => Place::Other("it stands in code"),
        Tag::HtmlBlock => Place::Other("it stands in raw HTML (an empty line before it ends the HTML)"),
        Tag::Heading { .. } => Place::Other("it stands in a heading"),
        Tag::List(_) | Tag::Item => {
            Place::Other("it stands in a list (an empty line before it ends the list)")
        }
        Tag::Table(_) | Tag::TableHead | Tag::TableRow | Tag::TableCell => {
            Place::Other("it stands in a table")
        }
        Tag::Link { .. } | Tag::Image { .. } => Place::Other("it stands in a link"),
        _ => Place::Other("it does not stand in a plain paragraph"),
    }
}

/// The length of the command word or mention that `text` begins with; whether it ends there is for the caller to see.
fn trigger(text: &str, reading: &Reading<'_>) -> Option<usize> {
    let (sign, word) = match text.as_bytes().first()? {
        b'/' => (1, reading.word),
        b'@' => (1, reading.app),
        _ => return None,
    };
    let end = sign + word.len();
    let fits = !word.is_empty() && text.get(sign..end).is_some_and(|found| found.eq_ignore_ascii_case(word));
    fits.then_some(end)
}

/// `@name /code stop`: the length of the command word behind a mention, which says the same once more.
fn both_at_once(first: &str, rest: &str, reading: &Reading<'_>) -> usize {
    let text = rest.trim_start();
    let word = if first.starts_with('@') && text.starts_with('/') { trigger(text, reading) } else { None };
    match word.filter(|end| text[*end..].chars().next().is_none_or(char::is_whitespace)) {
        Some(end) => rest.len() - text.len() + end,
        None => 0,
    }
}

/// Does the text hold the command word or a mention at all, wherever?
fn mentions(text: &str, reading: &Reading<'_>) -> bool {
    text.match_indices(['/', '@']).any(|(at, _)| trigger(&text[at..], reading).is_some())
}
