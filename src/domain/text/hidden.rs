//! What GitHub's Markdown leaves out of the picture: comments, attributes, titles, image texts, unused definitions.

use super::pattern::pattern;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::{collections::HashSet, ops::Range};

/// A piece of the source and what takes its place.
type Edit = (Range<usize>, String);

/// Takes out of a Markdown text what its readers do not see; gives the rest and how many characters went.
///
/// Code is shown as it stands, so nothing is taken out of it. `<details>` can be opened and stays.
pub(super) fn strip(text: &str) -> (String, usize) {
    let mut edits = markup(text);
    edits.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut out = String::with_capacity(text.len());
    let (mut at, mut removed) = (0, 0);
    for (range, replacement) in edits {
        // An edit inside one that was made already is part of it.
        if range.start < at {
            continue;
        }
        out.push_str(&text[at..range.start]);
        let (gone, come) = (text[range.clone()].chars().count(), replacement.chars().count());
        // Two halves that a hidden piece held apart must not become markup of their own.
        let glue = replacement.is_empty()
            && out.ends_with(|c: char| !c.is_whitespace())
            && text[range.end..].starts_with(|c: char| !c.is_whitespace());
        out.push_str(if glue { " " } else { &replacement });
        removed += gone.saturating_sub(come);
        at = range.end;
    }
    out.push_str(&text[at..]);
    (out, removed)
}

/// All edits, in no order; some may lie inside others.
fn markup(text: &str) -> Vec<Edit> {
    let parser = Parser::new_ext(
        text,
        Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH,
    );
    let definitions: Vec<(String, Range<usize>)> = parser
        .reference_definitions()
        .iter()
        .map(|(label, def)| (label.to_lowercase(), def.span.clone()))
        .collect();
    let mut edits = Vec::new();
    let mut used = HashSet::new();
    let mut notes: Vec<(String, Range<usize>)> = Vec::new();
    // Where the text of the link being read ends, innermost last.
    let mut inner: Vec<usize> = Vec::new();
    let mut in_code = false;
    // Where an inline element began whose text is not shown.
    let mut silent: Option<usize> = None;
    for (event, range) in parser.into_offset_iter() {
        if let (Some(end), false) = (inner.last_mut(), matches!(event, Event::End(TagEnd::Link))) {
            *end = (*end).max(range.end);
        }
        match event {
            Event::Start(Tag::HtmlBlock) => edits.extend(html(text, range)),
            Event::InlineHtml(tag) => {
                edits.extend(element(&tag, &range, &mut silent));
                edits.extend(html(text, range));
            }
            Event::Start(Tag::Link { id, .. }) => {
                used.insert(id.to_lowercase());
                inner.push(range.start + 1);
            }
            Event::End(TagEnd::Link) => edits.extend(title(text, inner.pop(), range)),
            Event::Start(Tag::Image { dest_url, id, .. }) => {
                used.insert(id.to_lowercase());
                edits.push((range, format!("![]({dest_url})")));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                in_code = true;
                edits.extend(info_string(text, &info, &range));
            }
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(_) if !in_code => edits.extend(entities(text, range)),
            Event::Start(Tag::FootnoteDefinition(label)) => notes.push((label.to_string(), range)),
            Event::FootnoteReference(label) => {
                used.insert(format!("^{label}"));
            }
            _ => {}
        }
    }
    edits.extend(
        definitions.into_iter().filter_map(|(label, span)| definition(text, used.contains(&label), span)),
    );
    let unused = notes.into_iter().filter(|(label, _)| !used.contains(&format!("^{label}")));
    edits.extend(unused.map(|(_, range)| (range, String::new())));
    edits
}

/// Comments, declarations and invisible elements go; other tags lose their attributes but for the address.
fn html(text: &str, range: Range<usize>) -> Vec<Edit> {
    let hidden = pattern!(concat!(
        r"(?is)<!--.*?(-->|\z)|<\?.*?(\?>|\z)|<!.*?(>|\z)",
        r"|<script\b.*?(</script\s*>|\z)|<style\b.*?(</style\s*>|\z)|<template\b.*?(</template\s*>|\z)",
        r#"|<(?P<name>/?[a-z][a-z0-9-]*)(?P<rest>\s(?:[^>"']|"[^"]*"|'[^']*')*)>"#,
    ));
    let address = pattern!(r#"(?i)\s(href|src)\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+)"#);
    let slice = &text[range.clone()];
    hidden
        .captures_iter(slice)
        .filter_map(|found| {
            let whole = found.get(0)?;
            let kept = match (found.name("name"), found.name("rest")) {
                (Some(name), Some(rest)) => {
                    let address = address.find(rest.as_str()).map_or("", |a| a.as_str());
                    format!("<{}{address}>", name.as_str())
                }
                _ => String::new(),
            };
            (kept != whole.as_str()).then(|| (range.start + whole.start()..range.start + whole.end(), kept))
        })
        .collect()
}

/// An inline element whose text is not shown goes as a whole, once its end is there.
fn element(tag: &str, range: &Range<usize>, silent: &mut Option<usize>) -> Option<Edit> {
    let name = pattern!(r"(?i)^<(/?)(?:script|style|template)\b");
    match name.captures(tag)?.get(1)?.as_str() {
        "" => {
            silent.get_or_insert(range.start);
            None
        }
        _ => Some((silent.take()?..range.end, String::new())),
    }
}

/// `[text](address "title")` without the title.
fn title(text: &str, inner_end: Option<usize>, range: Range<usize>) -> Option<Edit> {
    let title = pattern!(r#"(?s)^(\]\(\s*(?:<[^>]*>|[^\s)]+))\s+(?:".*"|'.*'|\(.*\))\s*\)$"#);
    let tail = inner_end?.min(range.end)..range.end;
    let kept = title.captures(&text[tail.clone()])?.get(1)?.as_str();
    Some((tail, format!("{kept})")))
}

/// The first word names the language; what follows it is not shown.
fn info_string(text: &str, info: &str, range: &Range<usize>) -> Option<Edit> {
    let word = info.split_whitespace().next()?;
    let opening = &text[range.start..text[range.start..].find('\n').map_or(range.end, |n| range.start + n)];
    let end = opening.find(word)? + word.len();
    let rest = range.start + end..range.start + opening.len();
    (!text[rest.clone()].trim().is_empty()).then(|| (rest, String::new()))
}

/// A definition is never shown; one that is used keeps its address, without the title.
fn definition(text: &str, used: bool, span: Range<usize>) -> Option<Edit> {
    let definition = pattern!(r"(?s)^(\[.*?\]:\s*(?:<[^>]*>|\S+))\s+\S.*$");
    if !used {
        return Some((span, String::new()));
    }
    let kept = definition.captures(&text[span.clone()])?.get(1)?.as_str().to_owned();
    Some((span, kept))
}

/// Entities that stand for characters that cannot be seen. The names are those of the HTML standard's table, which is
/// closed; letters of code points may be any.
fn entities(text: &str, range: Range<usize>) -> Vec<Edit> {
    let entity = pattern!(concat!(
        r"&(?:#(?P<dec>\d{1,8});?|#[xX](?P<hex>[0-9a-fA-F]{1,7});?",
        r"|(?:ZeroWidthSpace|NegativeVeryThinSpace|NegativeThinSpace|NegativeMediumSpace|NegativeThickSpace|NoBreak",
        r"|zwj|zwnj|lrm|rlm|shy|ApplyFunction|af|InvisibleTimes|it|InvisibleComma|ic);)",
    ));
    let hidden = |found: &regex::Captures<'_>| {
        let number = found.name("dec").map(|d| d.as_str().parse::<u32>().ok());
        let number = number.or_else(|| found.name("hex").map(|h| u32::from_str_radix(h.as_str(), 16).ok()));
        match number {
            None => true,
            Some(code) => !code.and_then(char::from_u32).is_some_and(super::chars::is_visible),
        }
    };
    // The reader of Markdown ends a text before an entity and gives it a text of its own.
    entity
        .captures_iter(&text[range.clone()])
        .filter(hidden)
        .filter_map(|found| found.get(0))
        .map(|found| (range.start + found.start()..range.start + found.end(), String::new()))
        .collect()
}
