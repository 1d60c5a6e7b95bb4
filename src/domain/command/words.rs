//! What a command's line says: its options, its word, its text.

use super::{On, Options, Reading, Word, options};

/// Commands that stand anywhere.
const COMMANDS: [&str; 7] = ["run", "plan", "approve", "status", "stop", "retry", "help"];
/// Commands that stand on pull requests alone.
const ON_PULLS: [&str; 3] = ["fix", "rebase", "review"];

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
    let mut known = COMMANDS.iter().chain(ON_PULLS.iter().filter(|_| on == On::Pull));
    let word = word.to_ascii_lowercase();
    let slips = |known: &str| if known.len() < 5 { 1 } else { 2 };
    known.find(|known| strsim::damerau_levenshtein(&word, known) <= slips(known)).copied()
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
    let pull = on == On::Pull;
    match text.to_ascii_lowercase().as_str() {
        "run" => Some(Word::Run),
        "plan" => Some(Word::Plan),
        "approve" => Some(Word::Approve),
        "status" => Some(Word::Status),
        "stop" => Some(Word::Stop),
        "retry" => Some(Word::Retry),
        "help" => Some(Word::Help),
        "fix" if pull => Some(Word::Fix),
        "rebase" if pull => Some(Word::Rebase),
        "review" if pull => Some(Word::Review),
        _ => None,
    }
}
