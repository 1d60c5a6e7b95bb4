//! What a command's line says: its options, its word, its text.

use super::{On, Options, Reading, Word, options};

/// Every command, and where it is one.
const COMMANDS: [(&str, Word, Option<On>); 10] = [
    ("run", Word::Run, None),
    ("plan", Word::Plan, None),
    ("approve", Word::Approve, None),
    ("status", Word::Status, None),
    ("stop", Word::Stop, None),
    ("retry", Word::Retry, None),
    ("help", Word::Help, None),
    ("fix", Word::Fix, Some(On::Pull)),
    ("rebase", Word::Rebase, Some(On::Pull)),
    ("review", Word::Review, Some(On::Pull)),
];

/// Reads what stands behind the command word on its `line`, and `below` it up to the next command.
///
/// # Errors
/// The sentence for the person who may command.
pub(super) fn interpret(
    line: &str,
    below: &str,
    reading: &Reading<'_>,
) -> Result<(Word, String, Options), String> {
    if reading.live && says_stop(line, below) {
        return Ok((Word::Stop, String::new(), Options::default()));
    }
    let mut chosen = Options::default();
    let line = options::leading(line, &mut chosen)?;
    let (first, rest) = line.split_at(line.find(char::is_whitespace).unwrap_or(line.len()));
    match word(first, reading.on) {
        Some(word @ (Word::Run | Word::Plan | Word::Review)) => {
            let text = options::leading(rest, &mut chosen)?;
            instruction(word, text, below, chosen)
        }
        Some(word) if options::only(rest) => {
            options::leading(rest, &mut chosen)?;
            Ok((word, String::new(), chosen))
        }
        _ => match mistyped(first, reading.on).filter(|_| options::only(rest) && below.trim().is_empty()) {
            Some(meant) => Err(format!(
                "\"{first}\" is not a command (did you mean \"{meant}\"?). If it is what shall be done, say it in more than \
                 one word."
            )),
            None => instruction(Word::Run, line, below, chosen),
        },
    }
}

/// The command that a word by itself nearly is: taken for an instruction it would have a change made that nobody asked for.
fn mistyped(word: &str, on: On) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let slips = |known: &str| if known.len() < 5 { 1 } else { 2 };
    commands(on)
        .map(|(known, _)| known)
        .find(|known| strsim::damerau_levenshtein(&word, known) <= slips(known))
}

fn instruction(
    word: Word,
    line: &str,
    below: &str,
    mut chosen: Options,
) -> Result<(Word, String, Options), String> {
    let text = options::trailing(line, &mut chosen)?;
    // As it was written, spaces before a hard line break included, unless options were cut away there.
    let text = if text.len() < line.trim_end().len() { text } else { line };
    // A backslash that only breaks the line belongs to nothing when nothing stands before it.
    let below = if text.trim().is_empty() { below.strip_prefix('\\').unwrap_or(below) } else { below };
    Ok((word, format!("{text}{below}").trim().to_owned(), chosen))
}

/// While something runs, `stop` stops whatever else is said, and however hastily it is written: a needless stop costs a
/// `/code retry`, a stop taken for an instruction costs the run.
fn says_stop(line: &str, below: &str) -> bool {
    let line = options::leading(line, &mut Options::default()).unwrap_or(line);
    let first = line.split_whitespace().chain(below.split_whitespace()).next().unwrap_or_default();
    first.trim_end_matches(['.', '!', ',', ';', ':', '…']).eq_ignore_ascii_case("stop")
}

fn word(text: &str, on: On) -> Option<Word> {
    commands(on).find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, word)| word)
}

/// The commands that are some there.
fn commands(on: On) -> impl Iterator<Item = (&'static str, Word)> {
    let there = move |only: Option<On>| only.is_none_or(|only| only == on);
    COMMANDS.into_iter().filter(move |(.., only)| there(*only)).map(|(name, word, _)| (name, word))
}
