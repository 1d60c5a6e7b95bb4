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
    /// Open `<details>` and `<blockquote>` elements: what is folded away or quoted is not said by the writer.
    html: Enclosing,
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
            html: Enclosing::default(),
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
                if matches!(tag, Tag::HtmlBlock) && self.open.is_empty() {
                    self.html.read(&self.comment[range]);
                }
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
                let plain = self.at_line_start && self.in_plain_text() && self.html.is_closed();
                match trigger(&self.comment[range.start..], self.reading) {
                    Some(length) if plain => self.begin_line(range.start, length),
                    _ => self.note(range),
                }
                self.at_line_start = false;
            }
            Event::Code(_) => self.inside(range, "it stands in code"),
            Event::Html(_) => {
                self.inside(range, "it stands in raw HTML (an empty line before it ends the HTML)");
            }
            Event::InlineHtml(_) => {
                if self.in_plain_text() {
                    self.html.read(&self.comment[range.clone()]);
                }
                self.inside(range, "it stands in raw HTML");
            }
            _ => self.at_line_start = false,
        }
    }

    /// In a paragraph that stands in nothing else, and in no link of it.
    fn in_plain_text(&self) -> bool {
        self.open.first() == Some(&Place::Paragraph)
            && self.open[1..].iter().all(|open| *open == Place::Style)
    }

    fn begin_line(&mut self, start: usize, length: usize) {
        if self.comment[..start].ends_with('\\') {
            self.elsewhere.get_or_insert("its slash or mention is escaped by a backslash");
        } else {
            self.pending = Some(Line { start, rest: start + length, end: self.comment.len() });
        }
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
        let place = place.or(self.html.place());
        self.inside(range, place.unwrap_or("it does not stand at the start of a line"));
    }
}

fn place(tag: &Tag<'_>) -> Place {
    match tag {
        Tag::Paragraph => Place::Paragraph,
        Tag::Emphasis | Tag::Strong => Place::Style,
        Tag::BlockQuote(_) => Place::Other("it stands in a quote (an empty line before it ends the quote)"),
        Tag::CodeBlock(_) => Place::Other("it stands in code"),
        Tag::HtmlBlock => Place::Other("it stands in raw HTML"),
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

/// How deep in the two HTML elements whose content is Markdown again after an empty line, and not the writer's own words.
#[derive(Default)]
struct Enclosing {
    details: usize,
    quotes: usize,
}

impl Enclosing {
    fn is_closed(&self) -> bool {
        self.place().is_none()
    }

    fn place(&self) -> Option<&'static str> {
        match (self.quotes, self.details) {
            (0, 0) => None,
            (0, _) => Some("it stands in a folded part (<details>)"),
            _ => Some("it stands in a quote (<blockquote>)"),
        }
    }

    /// Counts the tags of a piece of raw HTML, those in HTML comments not.
    fn read(&mut self, html: &str) {
        let mut rest = html;
        while let Some(at) = rest.find('<') {
            rest = &rest[at..];
            if rest.starts_with("<!--") {
                rest = rest.find("-->").map_or("", |end| &rest[end..]);
                continue;
            }
            rest = &rest[1..];
            let (closes, name) = rest.strip_prefix('/').map_or((false, rest), |name| (true, name));
            let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
            let depth = match name {
                _ if name.eq_ignore_ascii_case("details") => &mut self.details,
                _ if name.eq_ignore_ascii_case("blockquote") => &mut self.quotes,
                _ => continue,
            };
            *depth = if closes { depth.saturating_sub(1) } else { *depth + 1 };
        }
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
