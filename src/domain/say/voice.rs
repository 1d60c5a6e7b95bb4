//! How things are named in every sentence: the pull request, the thread, a command, a commit.

use super::{Context, words};
use crate::domain::{Failure, Limits, State, failure::Kind, session::Facts, text};

/// A state with what is needed to speak of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voice<'a> {
    pub(super) state: &'a State,
    pub(super) context: &'a Context<'a>,
}

impl<'a> Voice<'a> {
    pub(super) fn facts(&self) -> &'a Facts {
        &self.state.facts
    }

    pub(super) fn limits(&self) -> &'a Limits {
        self.context.limits
    }

    /// `#482`, or the thread where there is no pull request.
    pub(super) fn pull(&self) -> String {
        self.facts().pull.as_ref().map_or_else(|| self.thread(), |pull| format!("#{}", pull.number))
    }

    /// `#481`.
    pub(super) fn thread(&self) -> String {
        format!("#{}", self.facts().thread.number)
    }

    /// A command nobody's text starts with: in a code span it never fires.
    pub(super) fn command(&self, rest: &str) -> String {
        format!("`/{} {rest}`", self.context.word)
    }

    /// The head in seven digits.
    pub(super) fn head(&self) -> String {
        self.facts().head.as_ref().map_or_else(|| "the head".to_owned(), |head| format!("`{}`", head.short()))
    }

    /// `round 2 of 3`.
    pub(super) fn round(&self) -> String {
        format!("round {} of {}", self.facts().round.max(1), self.rounds())
    }

    /// How many rounds the request may have.
    pub(super) fn rounds(&self) -> u32 {
        self.facts().cap(self.limits()).max(self.facts().round)
    }

    /// `after 3 rounds`.
    pub(super) fn after_rounds(&self) -> String {
        format!("after {}", words::count(usize::try_from(self.facts().round).unwrap_or(usize::MAX), "round"))
    }

    /// `8 of 9 checks green on 41be77d`, where it is known.
    pub(super) fn tally(&self) -> Option<String> {
        let (green, all) = self.facts().tally?;
        let noun = if all == 1 { "check" } else { "checks" };
        Some(format!("{green} of {all} {noun} green on {}", self.head()))
    }

    /// `As of 14:06 UTC.`: the comment is edited only now and then.
    pub(super) fn as_of(&self) -> String {
        format!("As of {}.", self.context.now.clock())
    }

    /// The red checks in one line, as they were seen.
    pub(super) fn seen(&self) -> Option<String> {
        let failures = &self.facts().failures;
        let first = failures.first()?;
        let more = match failures.len() - 1 {
            0 => String::new(),
            n => format!(", and {} more", words::count(n, "red check")),
        };
        Some(format!("{}{more}", failure(first)))
    }

    /// What the agent believes; never a fact of ours.
    pub(super) fn thinks(&self) -> String {
        match self.facts().summary.as_deref().map(str::trim).filter(|summary| !summary.is_empty()) {
            Some(summary) => format!("The agent says: {}", words::inline(summary, 300)),
            None => String::new(),
        }
    }

    /// What the change is, in the first words of the agent.
    pub(super) fn gist(&self, limit: usize) -> Option<String> {
        let summary = self.facts().summary.as_deref()?;
        let first = summary.lines().map(str::trim).find(|line| !line.is_empty())?;
        let first = first.split_inclusive(". ").next().unwrap_or(first).trim_end_matches(['.', ' ']);
        Some(words::inline(first, limit))
    }

    /// `132 characters`: what of the thread nobody sees and the model was not shown. Nothing where there is none.
    pub(super) fn hidden(&self) -> Option<String> {
        let thread = &self.facts().thread;
        let texts = [&thread.title, &thread.body];
        match texts.into_iter().map(|text| text::Clean::new(text).removed()).sum() {
            0 => None,
            removed => Some(words::count(removed, "character")),
        }
    }

    /// Where a patch is to be had, when there is one that was not pushed.
    pub(super) fn patch_line(&self) -> String {
        match self.context.patch {
            Some(_) => "The change is kept: the patch is below.".to_owned(),
            None if self.context.kept => {
                format!(
                    "The change is kept; whoever runs fixpoint has it with `fixpoint session patch {}`.",
                    self.context.session
                )
            }
            None => String::new(),
        }
    }

    /// A reason as it may be told here, or nothing where it may not.
    pub(super) fn reason(&self, why: &str) -> Option<String> {
        let told = text::line(why);
        if told.is_empty() || (self.facts().public && words::is_about_money(&told)) {
            return None;
        }
        let told = words::inline(&told, 400);
        Some(if told.ends_with(['.', '!', '?', '…']) { told } else { format!("{told}.") })
    }

    /// The same as something seen: a sentence stands by itself, a few words after `Seen:`.
    pub(super) fn seen_reason(&self, why: &str) -> Option<String> {
        let told = self.reason(why)?;
        Some(if told.starts_with(char::is_uppercase) { told } else { format!("Seen: {told}") })
    }
}

/// `` `test (windows)` failed: `path separator` ``.
pub(super) fn failure(failure: &Failure) -> String {
    let name = words::code(&failure.check, 60);
    if failure.line.trim().is_empty() {
        return format!("{name} failed; its log could not be read");
    }
    let base = if failure.kind == Kind::Base { ", on the base too" } else { "" };
    format!("{name} failed{base}: {}", words::code(&failure.line, 160))
}
