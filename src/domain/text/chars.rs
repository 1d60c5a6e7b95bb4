//! Which characters people can see, by Unicode's own properties, and the control sequences of terminals.

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{
        CanonicalCombiningClass, DefaultIgnorableCodePoint, Emoji, EmojiModifier, ExtendedPictographic,
        GeneralCategory, JoiningType, PrependedConcatenationMark,
    },
};

const JOINER: char = '\u{200D}';
const NON_JOINER: char = '\u{200C}';
const TEXT_STYLE: char = '\u{FE0E}';
const EMOJI_STYLE: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';

/// Longest control sequence that is taken out as one. A program may send longer ones; what follows is then text, which
/// is better than text that vanishes.
const SEQUENCE_CAP: usize = 4096;

/// Marks on one letter that are kept: as many as Unicode's Stream-Safe Text Format allows (UAX #15, section 13), far more
/// than any writing has. A flood of them buries what stands around it, and carries what it likes.
const MARKS: usize = 30;

/// Takes out what cannot be seen; gives the rest and how many characters went. Line ends become `\n`.
///
/// A joiner or variation selector stays where writing needs it and only there: between the parts of an emoji, after a
/// virama and between joining letters (the CONTEXTJ rules of RFC 5892, appendix A), and one emoji style after an emoji.
/// So Persian, Hindi and 👩‍💻 survive, while no two invisible characters ever follow each other and nothing can be
/// written in them.
pub(super) fn strip(raw: &str) -> (String, usize) {
    let mut out = String::with_capacity(raw.len());
    let (mut removed, mut at, mut marks) = (0, 0, 0);
    while let Some(c) = raw[at..].chars().next() {
        let rest = &raw[at..];
        if let Some(length) = sequence(rest) {
            removed += rest[..length].chars().count();
            at += length;
            continue;
        }
        at += c.len_utf8();
        let next = raw[at..].chars().next();
        marks = if is_mark(c) { marks + 1 } else { 0 };
        match c {
            _ if marks > MARKS => removed += 1,
            '\r' if next == Some('\n') => {}
            '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            _ if is_visible(c) || is_needed(c, &out, next) => out.push(c),
            _ => removed += 1,
        }
    }
    (out, removed)
}

/// Text that may be printed in a terminal: no control sequence, no control character but line feed and tab, nothing
/// that reorders what is read.
pub fn terminal(text: &str) -> String {
    strip(text).0
}

/// Can this character be seen (a space, a line feed and a tab count as such)?
pub(super) fn is_visible(c: char) -> bool {
    if c == '\n' || c == '\t' || c.is_ascii_graphic() || c == ' ' {
        return true;
    }
    if CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c) {
        return false;
    }
    match CodePointMapData::<GeneralCategory>::new().get(c) {
        GeneralCategory::Control
        | GeneralCategory::Surrogate
        | GeneralCategory::PrivateUse
        | GeneralCategory::Unassigned
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator => false,
        // Arabic number signs and the like are drawn around what follows them.
        GeneralCategory::Format => CodePointSetData::new::<PrependedConcatenationMark>().contains(c),
        _ => true,
    }
}

/// Is it drawn onto the letter before it?
fn is_mark(c: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    !c.is_ascii() && matches!(category, GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark)
}

/// Is this invisible character part of how the visible ones beside it are written?
pub(super) fn is_needed(c: char, before: &str, next: Option<char>) -> bool {
    let Some(last) = before.chars().next_back() else { return false };
    let Some(next) = next else { return c == EMOJI_STYLE && is_pictograph(last) };
    match c {
        EMOJI_STYLE | TEXT_STYLE if last.is_ascii() => next == KEYCAP && is_emoji(last),
        EMOJI_STYLE | TEXT_STYLE => is_pictograph(last),
        JOINER if is_pictograph(next) => ends_in_emoji(before),
        JOINER | NON_JOINER => is_virama(last) || (joins(last) && joins(next)),
        _ => false,
    }
}

fn ends_in_emoji(text: &str) -> bool {
    let mut back = text.chars().rev();
    let last = back.next();
    let bare = if last == Some(EMOJI_STYLE) { back.next() } else { last };
    bare.is_some_and(|c| is_pictograph(c) || CodePointSetData::new::<EmojiModifier>().contains(c))
}

fn is_pictograph(c: char) -> bool {
    CodePointSetData::new::<ExtendedPictographic>().contains(c)
}

fn is_emoji(c: char) -> bool {
    CodePointSetData::new::<Emoji>().contains(c)
}

fn is_virama(c: char) -> bool {
    CodePointMapData::<CanonicalCombiningClass>::new().get(c) == CanonicalCombiningClass::Virama
}

fn joins(c: char) -> bool {
    let joining = CodePointMapData::<JoiningType>::new().get(c);
    joining == JoiningType::DualJoining || joining == JoiningType::RightJoining
}

/// The length in bytes of the terminal control sequence that `rest` begins with. Source: ECMA-48, section 5.
fn sequence(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1).take(SEQUENCE_CAP).peekable();
    let introducer = match rest.chars().next()? {
        '\u{1B}' => chars.next()?.1,
        // The one-character forms; U+0080 and up in UTF-8, as xterm reads them.
        c @ '\u{80}'..='\u{9F}' => char::from_u32(u32::from(c) - 0x40)?,
        _ => return None,
    };
    match introducer {
        '[' => ends(chars, |c| matches!(c, '\x20'..='\x3F'), |c| matches!(c, '\x40'..='\x7E')),
        ']' | 'P' | 'X' | '^' | '_' => string(rest),
        '\x20'..='\x2F' => ends(chars, |c| matches!(c, '\x20'..='\x2F'), |c| matches!(c, '\x30'..='\x7E')),
        '\x30'..='\x7E' if rest.starts_with('\u{1B}') => Some(2),
        _ => None,
    }
}

/// Up to and with the first final character, as long as only inner ones come before it.
fn ends(
    chars: impl Iterator<Item = (usize, char)>,
    inner: impl Fn(char) -> bool,
    last: impl Fn(char) -> bool,
) -> Option<usize> {
    for (at, c) in chars {
        if last(c) {
            return Some(at + c.len_utf8());
        }
        if !inner(c) {
            return Some(at);
        }
    }
    None
}

/// A command string (a title, a link, the clipboard): to its terminator. One that is not closed ends with its line, so
/// that it cannot swallow the rest of a text.
fn string(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1).take(SEQUENCE_CAP) {
        match c {
            '\u{07}' | '\u{9C}' => return Some(at + c.len_utf8()),
            '\\' if escaped => return Some(at + 1),
            '\n' => return Some(at),
            _ => escaped = c == '\u{1B}',
        }
    }
    if rest.chars().nth(SEQUENCE_CAP).is_none() { Some(rest.len()) } else { None }
}
