//! Bodies within GitHub's limit: the middle goes, what was open is closed.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// GitHub's limit of a body, in characters. Source: the API's 422 answer, "body is too long (maximum is 65536 characters)".
pub const BODY_LIMIT: usize = 65_536;

/// Most of what may be open at one place. Deeper nesting is text made to be deep.
const OPEN_CAP: usize = 8;

/// Room kept for what closes and opens again what the cut goes through.
const SEAM: usize = 400;

const NOTICE: &str = "\n\n*(the middle of this text is left out here: it was too long)*\n\n";

/// At most `limit` characters, cut in the middle with a notice, fences and `<details>` closed.
pub fn cut(body: &str, limit: usize) -> String {
    let open = closers(body);
    if body.chars().count() + open.len() <= limit {
        return body.to_owned() + &open;
    }
    let mut room = limit.saturating_sub(SEAM + NOTICE.len());
    while room > 0 {
        let text = joined(body, room);
        let over = text.chars().count().saturating_sub(limit);
        if over == 0 {
            return text;
        }
        room = room.saturating_sub(over);
    }
    // Too little room for any seam: a piece without markup.
    super::shorten(&super::line(body).replace(['`', '~', '<'], "'"), limit)
}

/// Two thirds of the room from the beginning, the rest from the end.
fn joined(body: &str, room: usize) -> String {
    let length = body.chars().count();
    let first = room / 3 * 2;
    let at = |count: usize| body.char_indices().nth(count).map_or(body.len(), |(at, _)| at);
    let head = &body[..at(first)];
    // A whole line where one ends near.
    let head = head.rfind('\n').filter(|end| *end > head.len() / 2).map_or(head, |end| &head[..end]);
    let from = at(length - (room - first));
    let start = body[from..].find('\n').map_or(from, |n| from + n + 1);
    let start = if start - from > (body.len() - from) / 2 { from } else { start };
    let reopened: String = opened(&body[..start]).iter().map(Open::again).collect();
    let head = format!("{head}{}", closers(head));
    let text = format!("{head}{NOTICE}{reopened}{}", &body[start..]);
    let open = closers(&text);
    text + &open
}

/// Something that stays open at the end of a text and would swallow what is put after it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Open {
    /// A code block, with the fence that closes it.
    Fence(String),
    /// An HTML comment.
    Comment,
    /// A `<details>`.
    Details,
}

impl Open {
    fn closed(&self) -> String {
        match self {
            Self::Fence(fence) => format!("\n{fence}"),
            Self::Comment => "\n-->".to_owned(),
            Self::Details => "\n\n</details>".to_owned(),
        }
    }

    fn again(&self) -> String {
        match self {
            Self::Fence(fence) => format!("{fence}\n"),
            Self::Comment => "<!--\n".to_owned(),
            Self::Details => "<details><summary>the rest</summary>\n\n".to_owned(),
        }
    }
}

/// What closes all that is open at the end of `text`.
pub(super) fn closers(text: &str) -> String {
    opened(text).iter().rev().map(Open::closed).collect()
}

/// What is open at the end of `text`, outermost first.
///
/// A paragraph put after it is a paragraph only when nothing is open: so one is put there and looked for.
fn opened(text: &str) -> Vec<Open> {
    const PROBE: &str = "\n\nprobe";
    let mut inner = Vec::new();
    let mut probe = format!("{text}{PROBE}");
    while inner.len() < OPEN_CAP {
        let Some(open) = around_the_end(&probe) else { break };
        probe.truncate(probe.len() - PROBE.len());
        probe.push_str(&open.closed());
        probe.push_str(PROBE);
        inner.push(open);
    }
    let mut all = vec![Open::Details; details(&probe).min(OPEN_CAP)];
    all.extend(inner);
    all
}

/// What the last block is part of, when it is no paragraph of its own.
fn around_the_end(text: &str) -> Option<Open> {
    let mut last = None;
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) if range.end >= text.len() => {
                let fence = text[range.start..].trim_start();
                let sign = fence.chars().next()?;
                let length = fence.chars().take_while(|c| *c == sign).count();
                last = Some(Open::Fence(sign.to_string().repeat(length)));
            }
            Event::Start(Tag::HtmlBlock) if range.end >= text.len() => last = Some(Open::Comment),
            Event::Start(Tag::Paragraph) => last = None,
            _ => {}
        }
    }
    last
}

/// How many `<details>` are open at the end of a text.
fn details(text: &str) -> usize {
    let mut open = 0_usize;
    let mut block = String::new();
    for event in Parser::new_ext(text, Options::empty()) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => block.push_str(&html),
            Event::End(TagEnd::HtmlBlock | TagEnd::Paragraph) => {
                open = count(&std::mem::take(&mut block), open);
            }
            _ => {}
        }
    }
    count(&block, open)
}

fn count(html: &str, open: usize) -> usize {
    let html = html.to_ascii_lowercase();
    let mut signs: Vec<(usize, bool)> = html.match_indices("<details").map(|(at, _)| (at, true)).collect();
    signs.extend(html.match_indices("</details").map(|(at, _)| (at, false)));
    signs.sort_unstable();
    signs.into_iter().fold(open, |open, (_, opens)| if opens { open + 1 } else { open.saturating_sub(1) })
}
