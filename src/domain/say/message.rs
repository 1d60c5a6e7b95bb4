//! The one new comment a person is told by.

use super::{Context, face, report::is_address, voice::Voice, words};
use crate::domain::{
    Phase, State,
    session::{Message, Question},
    text,
};

/// Longest message, in characters: it is read as a notification.
const LIMIT: usize = 400;

/// A new comment that names who must act: at most 400 characters, linking `status_url`.
pub fn message(
    message: &Message,
    state: &State,
    to: &str,
    status_url: &str,
    context: &Context<'_>,
) -> String {
    let voice = Voice { state, context };
    let (first, second) = match message {
        // It stands at the start of a line, where the same words may mean something else.
        Message::CannotFollow { text } => (text::harmless(&words::inline(text, LIMIT)), String::new()),
        Message::Status => {
            let face = face::face(&voice);
            let more = face.lines.first().filter(|first| **first != act(&face));
            (face.lead.clone(), [more.map_or(String::new(), |more| format!("{more}\n")), act(&face)].concat())
        }
        Message::Answer | Message::Question => {
            let face = face::face(&voice);
            (face.lead.clone(), [question(state), act(&face)].concat())
        }
    };
    let end = ending(to, status_url);
    let room = LIMIT.saturating_sub(end.chars().count() + 2);
    let body = if second.is_empty() { first.clone() } else { format!("{first}\n{second}") };
    // A whole sentence is better than a cut one: what does not fit stands in the status.
    let body = if body.chars().count() <= room { body } else { fitted(&first, room) };
    format!("{body}\n\n{end}")
}

/// The agent's question itself, so that it can be answered from a notification.
fn question(state: &State) -> String {
    match &state.phase {
        Phase::Waiting { question: Question::Agent { text }, .. } => {
            format!("It asks: {}\n", words::inline(text, 120))
        }
        _ => String::new(),
    }
}

/// What can be done: the first line that names a command. Where nothing can, why.
fn act(face: &face::Face) -> String {
    let names_a_command = face.lines.iter().find(|line| line.contains("`/"));
    names_a_command.or(face.lines.first()).cloned().unwrap_or_default()
}

/// What can be written, for those who ask.
pub fn help(word: &str) -> String {
    format!(
        "`/{word}` does what the issue says, `/{word} <text>` what the text says, `/{word} plan` only plans. `/{word} approve` \
         says yes, `/{word} status` tells, `/{word} retry` tries again, `/{word} stop` ends it. On pull requests also: \
         `/{word} fix` (red CI), `/{word} rebase`, `/{word} review`."
    )
}

/// Where nothing is being worked on.
pub fn idle(word: &str) -> String {
    format!("Nothing is being worked on here. `/{word} <text>` begins.")
}

fn ending(to: &str, status_url: &str) -> String {
    let login: String =
        to.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).take(80).collect();
    let link = if is_address(status_url) && status_url.len() <= LIMIT / 2 {
        format!("[All of it]({status_url})")
    } else {
        String::new()
    };
    match (login.is_empty(), link.is_empty()) {
        (true, _) => link,
        (false, true) => format!("@{login}"),
        (false, false) => format!("@{login}: {link}"),
    }
}

/// A cut that leaves no code span open.
fn fitted(sentence: &str, room: usize) -> String {
    let cut = text::shorten(sentence, room);
    if cut.matches('`').count().is_multiple_of(2) {
        cut
    } else {
        text::shorten(&sentence.replace('`', "'"), room)
    }
}
