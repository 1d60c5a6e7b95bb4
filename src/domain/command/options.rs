//! Options of a command: `--model X`, `--rounds N`, `--base B`, each also with `=`.
//!
//! They stand right after the command's word, or at the end of its line. In between, and in backticks, they are text: an
//! instruction may well be about a `--model` option of somebody's own program.

use super::Options;

/// Bytes of a value. Git's own limit of a branch name is near it, and no model's name is longer.
const VALUE_LIMIT: usize = 200;

/// Takes the options that `text` begins with; gives what follows them.
///
/// # Errors
/// The sentence for the person: an unknown option, a missing, wrong or repeated value.
pub(super) fn leading<'a>(text: &'a str, options: &mut Options) -> Result<&'a str, String> {
    let mut rest = text.trim_start();
    while let Some((name, after)) = option_name(rest) {
        rest = match after.strip_prefix('=') {
            Some(value) => {
                let (value, after) = token(value);
                set(options, name, value)?;
                after
            }
            None => {
                known(name)?;
                let (value, after) = token(after.trim_start());
                set(options, name, if value.starts_with("--") { "" } else { value })?;
                after
            }
        }
        .trim_start();
    }
    Ok(rest)
}

/// Takes the known options that a line ends with; gives the text before them.
///
/// # Errors
/// The sentence for the person: a wrong or repeated value.
pub(super) fn trailing<'a>(line: &'a str, options: &mut Options) -> Result<&'a str, String> {
    let mut text = line.trim_end();
    loop {
        let (before, last) = last_token(text);
        let (before, name, value) = match option_name(last) {
            Some((name, after)) => match after.strip_prefix('=') {
                Some(value) => (before, name, value),
                None => return Ok(text),
            },
            None => match last_token(before.trim_end()) {
                (before, option) if option_name(option).is_some_and(|(_, after)| after.is_empty()) => {
                    (before, &option[2..], last)
                }
                _ => return Ok(text),
            },
        };
        let in_code = before.matches('`').count() % 2 == 1 || value.contains('`');
        if in_code || known(name).is_err() {
            return Ok(text);
        }
        set(options, name, value)?;
        text = before.trim_end();
    }
}

/// Is there nothing in `line` but options, right or wrong?
pub(super) fn only(line: &str) -> bool {
    let mut rest = line.trim();
    while let Some((name, after)) = option_name(rest) {
        let (_, after_value) = token(after.trim_start());
        rest = match after.strip_prefix('=') {
            Some(value) => token(value).1,
            None if known(name).is_ok() => after_value,
            None => after,
        }
        .trim_start();
    }
    rest.is_empty()
}

/// `--name` at the start of `text`, and what stands right behind it.
fn option_name(text: &str) -> Option<(&str, &str)> {
    let name = text.strip_prefix("--")?;
    let end = name.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(name.len());
    // A dash used as a dash (`-- please`) is text.
    name.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| name.split_at(end))
}

fn token(text: &str) -> (&str, &str) {
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

fn last_token(text: &str) -> (&str, &str) {
    let start = text
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    text.split_at(start)
}

fn known(name: &str) -> Result<(), String> {
    if ["model", "rounds", "base"].contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(());
    }
    let name = shown(name);
    Err(format!(
        "`--{name}` is not an option: there are `--model NAME`, `--rounds N` and `--base BRANCH`. \
         If it belongs to the instruction, put it in backticks."
    ))
}

fn set(options: &mut Options, name: &str, value: &str) -> Result<(), String> {
    known(name)?;
    let name = name.to_ascii_lowercase();
    let value = value.trim_matches('`');
    let twice = match name.as_str() {
        "rounds" => options.rounds.replace(rounds(value)?).is_some(),
        "base" => options.base.replace(branch(value)?).is_some(),
        _ => options.model.replace(model(value)?).is_some(),
    };
    if twice { Err(format!("`--{name}` is given twice: give it once.")) } else { Ok(()) }
}

fn rounds(value: &str) -> Result<u32, String> {
    let number = value.parse::<u32>().ok().filter(|number| *number > 0 && !value.starts_with('+'));
    number
        .ok_or_else(|| format!("`--rounds` wants a whole number from 1 up{}: `--rounds 2`.", instead(value)))
}

fn branch(value: &str) -> Result<String, String> {
    // Source: git-check-ref-format(1), as far as it decides about one word.
    let fits = !value.is_empty()
        && value.len() <= VALUE_LIMIT
        && !value.starts_with(['-', '/', '.'])
        && !value.ends_with(['/', '.'])
        && !value.ends_with(".lock")
        && !["..", "//", "@{", "/."].iter().any(|bad| value.contains(bad))
        && !value.contains(|c: char| c.is_control() || "~^:?*[\\".contains(c));
    if fits {
        Ok(value.to_owned())
    } else {
        Err(format!("`--base` wants a branch's name{}: `--base main`.", instead(value)))
    }
}

fn model(value: &str) -> Result<String, String> {
    let fits = !value.is_empty() && value.len() <= VALUE_LIMIT && !value.contains(char::is_control);
    if fits {
        Ok(value.to_owned())
    } else {
        Err(format!("`--model` wants a model's name{}: `--model NAME`.", instead(value)))
    }
}

fn instead(value: &str) -> String {
    if value.is_empty() { ", and nothing follows it".to_owned() } else { format!(", not `{}`", shown(value)) }
}

/// What somebody wrote, fit to stand in a code span of our answer.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && *c != '`').take(40).collect()
}
