//! Text of others before it is posted in ours: nobody mentioned, nothing closed, nothing started, no picture loaded.

use super::chars;
use super::pattern::pattern;
use crate::domain::{Fault, seeded};
use pulldown_cmark::{Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use regex::Captures;
use std::ops::Range;

/// Markdown of others (the agent, a review) made inert: mentions, closing keywords, commands at the start of a line,
/// workflow commands, raw HTML, pictures, headings above `####`. Its fences are closed at its end.
///
/// Code is left as it is, but for workflow commands: a runner's log knows no Markdown.
pub fn harmless(text: &str) -> String {
    if seeded(Fault::WordsAsTheyAre) {
        return text.to_owned();
    }
    let text = without_html(workflow_commands(&chars::terminal(text)));
    let Parts { mut edits, mut code } = parts(&text);
    edits.sort_by_key(|(range, _)| range.start);
    code.sort_by_key(|range| range.start);
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    let fixed = code.into_iter().map(|range| (range.clone(), text[range].to_owned()));
    let mut all: Vec<(Range<usize>, String)> = fixed.chain(edits).collect();
    all.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    for (range, piece) in all {
        if range.start < at {
            continue;
        }
        push(&mut out, &words(&read(&text[at..range.start])));
        push(&mut out, &piece);
        at = range.end;
    }
    push(&mut out, &words(&read(&text[at..])));
    let open = super::cut::closers(&out);
    out + &open
}

/// Puts a piece behind another without joining two runs of backticks, which would mean something else.
fn push(out: &mut String, piece: &str) {
    if out.ends_with('`') && piece.starts_with('`') {
        out.push(' ');
    }
    out.push_str(piece);
}

/// Text outside code as it will be read. A backtick there is a character like any other, but beside the spans that are
/// put in it would open one; `@`, `#` and `/` may be written as entities.
fn read(text: &str) -> String {
    let entity = pattern!(
        r"(?i)&(?:#0*(?:64|x40)|commat);|(?P<number>&(?:#0*(?:35|x23)|num);)|(?P<slash>&(?:#0*(?:47|x2f)|sol);)"
    );
    let text = text.replace('`', "'");
    entity
        .replace_all(&text, |found: &Captures<'_>| match (found.name("number"), found.name("slash")) {
            (Some(_), _) => "#",
            (_, Some(_)) => "/",
            _ => "@",
        })
        .into_owned()
}

/// The same for text that nobody renders (a commit message, a title), where no part is exempt as code. What would keep
/// CI from running goes too.
pub fn harmless_plain(text: &str) -> String {
    if seeded(Fault::WordsAsTheyAre) {
        return text.to_owned();
    }
    // Source: GitHub Actions, "Skipping workflow runs".
    let skip = pattern!(
        r"(?i)\[\s*(skip\s+ci|ci\s+skip|no\s+ci|skip\s+actions|actions\s+skip|skip\s+checks?)\s*\]|(skip-checks)\s*:",
    );
    let text = workflow_commands(&chars::terminal(text));
    let text = skip.replace_all(&text, |found: &Captures<'_>| {
        format!("({})", found.get(1).or(found.get(2)).map_or("", |words| words.as_str()))
    });
    words(&text)
}

/// Raw HTML as text. What stood within it is Markdown then, so it is read again until there is none.
fn without_html(mut text: String) -> String {
    /// Blocks within blocks that are unfolded one by one; what is nested deeper is escaped at once.
    const PASSES: usize = 8;
    for _ in 0..PASSES {
        let signs: Vec<usize> = Parser::new_ext(&text, Options::ENABLE_TABLES)
            .into_offset_iter()
            .filter(|(event, _)| matches!(event, Event::Html(_) | Event::InlineHtml(_)))
            .flat_map(|(_, range)| {
                text[range.clone()]
                    .match_indices('<')
                    .map(move |(at, _)| range.start + at)
                    .collect::<Vec<_>>()
            })
            .collect();
        if signs.is_empty() {
            return text;
        }
        for at in signs.into_iter().rev() {
            text.replace_range(at..=at, "&lt;");
        }
    }
    text.replace('<', "&lt;")
}

/// What of a text changes whatever it says, and what of it is code or an address and stays.
#[derive(Default)]
struct Parts {
    edits: Vec<(Range<usize>, String)>,
    code: Vec<Range<usize>>,
}

fn parts(text: &str) -> Parts {
    let mut parts = Parts::default();
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES);
    parts.code.extend(parser.reference_definitions().iter().map(|(_, definition)| definition.span.clone()));
    // Where the text of the link being read ends, innermost last.
    let mut inner: Vec<usize> = Vec::new();
    for (event, range) in parser.into_offset_iter() {
        if let (Some(end), false) =
            (inner.last_mut(), matches!(event, Event::End(TagEnd::Link | TagEnd::Image)))
        {
            *end = (*end).max(range.end);
        }
        match event {
            Event::Start(Tag::CodeBlock(_)) | Event::Code(_) => parts.code.push(range),
            Event::Start(Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. }) => {
                inner.push(range.end);
                parts.code.push(range);
            }
            Event::Start(Tag::Link { .. }) => inner.push(range.start + 1),
            Event::Start(Tag::Image { .. }) => {
                inner.push(range.start + 2);
                // Words and not nothing: another `!` may stand before it.
                parts.edits.push((range.start..range.start + 1, "(image) ".to_owned()));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                let tail = inner.pop().unwrap_or(range.end).min(range.end)..range.end;
                parts.code.extend((!tail.is_empty()).then_some(tail));
            }
            Event::Start(Tag::Heading { level, .. }) if level < HeadingLevel::H4 => {
                parts.edits.push(heading(text, &range));
            }
            _ => {}
        }
    }
    parts
}

/// A heading of the fourth level; an underlined one becomes a paragraph.
fn heading(text: &str, range: &Range<usize>) -> (Range<usize>, String) {
    let slice = &text[range.clone()];
    let signs = slice.bytes().take_while(|b| *b == b'#').count();
    if signs > 0 {
        return (range.start..range.start + signs, "####".to_owned());
    }
    let body = slice.trim_end();
    let underline = body.rfind('\n').map_or(0, |n| n + 1);
    (range.start + underline..range.start + body.len(), String::new())
}

/// Mentions and commands in code spans, closing keywords kept from their number.
fn words(text: &str) -> String {
    let words = pattern!(concat!(
        // Source: GitHub, "Linking a pull request to an issue using a keyword".
        r"(?im)(?P<close>\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b[\s:*_\[(]*)",
        r"(?P<ref>(?:[\w.-]+/[\w.-]+)?#\d+|GH-\d+|https?://\S+/(?:issues|pull)/\d+)",
        r"|(?P<url>https?://\S+)",
        r"|(?:(?P<before>^|[^\w`@\\]|_)\\*|\\+)(?P<mention>@[a-z0-9][\w-]*(?:/[\w.-]*\w)?(?:@[\w/-]*)*)",
        // Commands of ours and of other bots stand at the start of a line.
        r"|^(?P<indent>[ \t]*)(?P<command>/[a-z][\w-]*)(?P<after>\s|$)",
    ));
    let part = |found: &Captures<'_>, name| found.name(name).map_or(String::new(), |m| m.as_str().to_owned());
    words
        .replace_all(text, |found: &Captures<'_>| {
            if found.name("close").is_some() {
                format!("{}issue {}", part(found, "close"), part(found, "ref"))
            } else if found.name("mention").is_some() {
                format!("{}`{}`", part(found, "before"), part(found, "mention"))
            } else if found.name("command").is_some() {
                format!("{}`{}`{}", part(found, "indent"), part(found, "command"), part(found, "after"))
            } else {
                part(found, "url")
            }
        })
        .into_owned()
}

/// Commands that a runner would follow when it reads our text in a log.
/// Source: GitHub Actions, "Workflow commands"; the older `##[…]` counts anywhere in a line.
fn workflow_commands(text: &str) -> String {
    let commands = pattern!(r"(?m)^(\s*):(:[A-Za-z][\w-]*(?: [^\n]*?)?::)|##\[");
    commands
        .replace_all(text, |found: &Captures<'_>| match (found.get(1), found.get(2)) {
            (Some(indent), Some(rest)) => format!("{}: {}", indent.as_str(), rest.as_str()),
            _ => r"##\[".to_owned(),
        })
        .into_owned()
}
