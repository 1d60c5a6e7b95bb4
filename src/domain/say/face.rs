//! The shape every answer has: one sentence, a few lines, the rest folded.

use super::{live, outcome, report, voice::Voice, words};
use crate::domain::{Phase, text};

/// Lines above the fold.
const LINES: usize = 5;

/// An answer before it is written out.
#[derive(Clone, Debug, Default)]
pub(super) struct Face {
    /// Outcome, what, who must act; at most [`words::SENTENCE`] characters.
    pub(super) lead: String,
    /// What follows it on the same line.
    pub(super) after: String,
    /// What was seen, what the agent believes, what can be done: at most five.
    pub(super) lines: Vec<String>,
    /// The agent's own words where they are the matter (a question, a plan), as a quote.
    pub(super) quoted: String,
    /// Folded: title and body.
    pub(super) folds: Vec<(String, String)>,
}

/// Whatever the state is, there is one.
pub(super) fn face(voice: &Voice<'_>) -> Face {
    let mut face = match &voice.state.phase {
        Phase::Resting { outcome } | Phase::Done { outcome } => outcome::face(outcome, voice),
        phase => live::face(phase, voice),
    };
    face.folds.extend(report::folds(voice));
    face.lead = fitted(&face.lead);
    face.lines.retain(|line| !line.is_empty());
    face.lines.truncate(LINES);
    face
}

impl Face {
    /// As a comment.
    pub(super) fn comment(&self) -> String {
        let folds: Vec<String> = self.folds.iter().map(|(title, body)| words::fold(title, body)).collect();
        format!("**{}**{}", self.lead, self.rest("\n", &folds.join("\n")))
    }

    /// As a check run's summary, which has a page to itself: nothing is folded. Its title stands right above it, so the
    /// first sentence is not said again.
    pub(super) fn summary(&self) -> String {
        let folds: Vec<String> =
            self.folds.iter().map(|(title, body)| format!("#### {title}\n\n{}", body.trim_end())).collect();
        // A comment's line ends are shown as such, those of a summary may be not.
        let rest = self.rest("\n\n", &folds.join("\n\n"));
        // GitHub wants one that says something.
        if rest.trim().is_empty() { format!("{}\n", self.lead) } else { rest.trim_start().to_owned() }
    }

    fn rest(&self, gap: &str, folds: &str) -> String {
        let after = if self.after.is_empty() { String::new() } else { format!(" {}", self.after) };
        let lines: String = self.lines.iter().map(|line| format!("{gap}{line}")).collect();
        let quoted =
            if self.quoted.is_empty() { String::new() } else { format!("\n\n{}", self.quoted.trim_end()) };
        let folds = if folds.is_empty() { String::new() } else { format!("\n\n{folds}") };
        format!("{after}{lines}{quoted}{folds}\n")
    }
}

/// A sentence within its length. Code spans that a cut would leave open lose their signs.
fn fitted(lead: &str) -> String {
    if lead.chars().count() <= words::SENTENCE {
        return lead.to_owned();
    }
    text::shorten(&lead.replace('`', ""), words::SENTENCE)
}
