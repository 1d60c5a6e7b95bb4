//! What is said while a request is being worked on.

use super::{face::Face, handed, voice::Voice, words};
use crate::domain::{
    Phase,
    session::{Cause, Question},
};

/// Longest question or plan that is shown whole above the fold.
const QUOTE: usize = 2_000;

pub(super) fn face(phase: &Phase, voice: &Voice<'_>) -> Face {
    match phase {
        Phase::Queued => queued(voice),
        Phase::Working => working(voice),
        Phase::Publishing { commit, .. } => publishing(commit.short(), voice),
        Phase::Watching { .. } => watching(voice),
        Phase::Waiting { question, .. } => waiting(question, voice),
        // Their face is their outcome's; a caller that asks here is told what is certain.
        Phase::Resting { .. } | Phase::Done { .. } => Face { lead: "Ended.".to_owned(), ..Face::default() },
    }
}

fn queued(voice: &Voice<'_>) -> Face {
    let facts = voice.facts();
    let lead = if facts.in_merge_queue {
        format!("Waiting: {} is in the merge queue, and nothing is pushed meanwhile.", voice.pull())
    } else if facts.round == 0 {
        format!("Queued: {} {}.", voice.pull(), standing(voice.context.before))
    } else {
        let next = facts.round.saturating_add(1);
        format!(
            "Queued: round {next} of {} for {} {}.",
            voice.rounds().max(next),
            voice.pull(),
            standing(voice.context.before)
        )
    };
    Face {
        lead,
        after: "It goes on by itself.".to_owned(),
        lines: vec![purpose(voice), ways_now(voice), kept(voice)],
        ..Face::default()
    }
}

/// Its place in the line. Exact where it is near, coarse where it is far: a comment is not edited for every step.
fn standing(before: Option<u32>) -> &'static str {
    match before {
        None => "waits for its turn",
        Some(0) => "is next in the queue",
        Some(1) => "is 2nd in the queue",
        Some(2) => "is 3rd in the queue",
        Some(3..10) => "is among the first ten in the queue",
        Some(_) => "is in the queue, with ten or more before it",
    }
}

fn working(voice: &Voice<'_>) -> Face {
    if voice.facts().stopping {
        let lead = format!("Stopping the work on {}, as asked.", voice.pull());
        return Face { lead, lines: vec![ways_now(voice)], ..Face::default() };
    }
    let lead = format!("Working on {}: {}.", voice.pull(), voice.round());
    Face { lead, lines: vec![purpose(voice), ways_now(voice), kept(voice)], ..Face::default() }
}

fn publishing(commit: &str, voice: &Voice<'_>) -> Face {
    let lead = match voice.facts().stopping {
        true => format!("Stopping {}, as asked, once `{commit}` is pushed.", voice.pull()),
        false => format!("Pushing `{commit}` for {}: {} is done.", voice.pull(), voice.round()),
    };
    Face { lead, lines: vec![voice.as_of(), handed::line(voice), kept(voice)], ..Face::default() }
}

fn watching(voice: &Voice<'_>) -> Face {
    let facts = voice.facts();
    let draft = facts.pull.as_ref().is_some_and(|pull| pull.draftable);
    let round = match facts.round {
        0 => "No round so far".to_owned(),
        round => format!("Round {round} of {}", voice.rounds()),
    };
    let progress = match voice.tally() {
        Some(tally) => format!("{round}: {tally}. {}", voice.as_of()),
        None => format!("{round}. {}", voice.as_of()),
    };
    let (lead, after) = match facts.remark.as_deref().and_then(first_sentence) {
        Some((lead, after)) => (lead, after),
        None if facts.in_merge_queue => {
            (format!("{} is in the merge queue; nothing is pushed meanwhile.", voice.pull()), String::new())
        }
        None => up(voice, draft),
    };
    let ordinary = facts.pull.is_some() && facts.guest.is_none() && !draft;
    let not_draft = if ordinary { "It is not ready: drafts are not offered here." } else { "" };
    let before = facts.rounds.len().checked_sub(2).and_then(|at| facts.rounds.get(at));
    let before = before.map_or(String::new(), |note| {
        format!("Round {}: {}.", note.number, words::inline(note.result.trim_end_matches('.'), 160))
    });
    Face {
        lead,
        after,
        lines: vec![progress, before, not_draft.to_owned(), ways(voice), kept(voice)],
        ..Face::default()
    }
}

/// Nothing but CI is waited for.
fn up(voice: &Voice<'_>, draft: bool) -> (String, String) {
    let asker = words::code(&voice.facts().request.asker.login, 40);
    let pull = voice.pull();
    if voice.facts().guest.is_some() {
        let lead = format!("CI is running on {} of {pull}.", voice.head());
        return (lead, format!("{asker} will be told how it comes out."));
    }
    let name = if draft { format!("Draft {pull}") } else { pull };
    (format!("{name} is up; CI is running."), format!("{asker} will be asked for review when it is green."))
}

fn waiting(question: &Question, voice: &Voice<'_>) -> Face {
    let wait = format!("It waits {} for an answer.", words::span(voice.limits().person));
    let stop = voice.command("stop");
    match question {
        Question::Agent { text } => Face {
            lead: format!("Needs you: the agent has a question about {}.", voice.thread()),
            lines: vec![format!("Answer with {}, or {stop}. {wait}", voice.command("<your answer>"))],
            quoted: words::quote(text, QUOTE),
            ..Face::default()
        },
        Question::Plan { text } => Face {
            lead: format!("Needs you: a plan for {} waits for your yes.", voice.thread()),
            lines: vec![format!(
                "{} carries it out, {} has it changed, {stop} ends it. {wait}",
                voice.command("approve"),
                voice.command("plan <text>")
            )],
            quoted: words::quote(text, QUOTE),
            ..Face::default()
        },
        Question::Publish { commit, .. } => publish(commit.short(), &wait, voice),
    }
}

fn publish(commit: &str, wait: &str, voice: &Voice<'_>) -> Face {
    let why = match voice.hidden() {
        _ if !voice.facts().tainted => {
            "Seen: what is pushed runs in CI, and this repository wants a yes first.".to_owned()
        }
        None => "Seen: text by people without write access reached the model, and what is pushed runs in CI."
            .to_owned(),
        Some(hidden) => format!(
            "Seen: text by people without write access reached the model, without {hidden} of it that nobody sees, and what is pushed runs in CI."
        ),
    };
    Face {
        lead: format!("Needs you: the change for {} is done, but not pushed yet.", voice.thread()),
        lines: vec![
            why,
            handed::line(voice),
            voice.thinks(),
            format!(
                "{} pushes `{commit}`; {} drops it. {wait}",
                voice.command("approve"),
                voice.command("stop")
            ),
            voice.patch_line(),
        ],
        ..Face::default()
    }
}

/// What the round is for, in a line.
fn purpose(voice: &Voice<'_>) -> String {
    match voice.facts().cause {
        Cause::Asked if voice.facts().request.instruction.trim().is_empty() => {
            "Asked: what the text of the thread says.".to_owned()
        }
        Cause::Asked => format!("Asked: {}", words::code(&voice.facts().request.instruction, 160)),
        Cause::RedCi => voice.seen().map_or("Why: CI is red.".to_owned(), |seen| format!("Why: {seen}.")),
        Cause::Answered => "Why: its question is answered.".to_owned(),
        Cause::Review => "Why: a review.".to_owned(),
        Cause::Conflict => {
            format!("Why: {} no longer merges cleanly.", words::code(&voice.facts().base.branch, 60))
        }
    }
}

fn ways(voice: &Voice<'_>) -> String {
    if voice.facts().stopping {
        return String::new();
    }
    format!("{} ends it; a comment here tells it more.", voice.command("stop"))
}

/// The same, with the moment that it is said of.
fn ways_now(voice: &Voice<'_>) -> String {
    format!("{} {}", voice.as_of(), ways(voice)).trim_end().to_owned()
}

/// What waits behind this request.
fn kept(voice: &Voice<'_>) -> String {
    let (requests, notes) = (voice.facts().kept.len(), voice.facts().notes.len());
    let mut waits = Vec::new();
    if requests > 0 {
        waits.push(format!("{} after this one", words::count(requests, "request")));
    }
    if notes > 0 {
        waits.push(format!("{} for the next round", words::count(notes, "comment")));
    }
    if waits.is_empty() { String::new() } else { format!("Kept: {}.", waits.join(", ")) }
}

/// The first sentence of a remark of ours and what follows it.
fn first_sentence(remark: &str) -> Option<(String, String)> {
    let remark = crate::domain::text::line(remark);
    if remark.is_empty() {
        return None;
    }
    let end = remark.find(". ").map_or(remark.len(), |end| end + 1);
    Some((remark[..end].to_owned(), remark[end..].trim().to_owned()))
}
