//! One answer for every outcome: what it is, what was seen, who can do what.

use super::{
    face::Face,
    looks::{NAMED_FLAGS, look_first, named},
    voice::Voice,
    words,
};
use crate::domain::{
    policy::Flag,
    session::{Outcome, Pull},
};

pub(super) fn face(outcome: &Outcome, voice: &Voice<'_>) -> Face {
    match outcome {
        Outcome::Green => green(voice),
        Outcome::NeedsPerson => needs_person(voice),
        Outcome::NoCi => no_ci(voice),
        Outcome::NotGreen { why } => not_green(why, voice),
        Outcome::NotStarted { why } => not_started(why, voice),
        Outcome::Infrastructure { why } => infrastructure(why, voice),
        Outcome::ChecksCancelled => cancelled(voice),
        Outcome::TimedOut => timed_out(voice),
        Outcome::NothingToChange { why } => nothing(why, voice),
        Outcome::Stopped => stopped(voice),
        Outcome::Limit { which } => limit(which, voice),
        Outcome::Budget { which } => budget(which, voice),
        Outcome::Refused { why } => refused(why, voice),
        Outcome::CannotBegin { why } => {
            told(format!("Needs you: work on {} cannot begin.", voice.thread()), vec![why.clone()])
        }
        Outcome::EngineFailed { why, passing: false } => engine_failed(why, voice),
        Outcome::EngineFailed { why, passing: true } => out_of_reach(why, voice),
        Outcome::StoodDown { head } => stood_down(head.short(), voice),
        Outcome::NoAnswer => no_answer(voice),
        Outcome::Conflict => conflict(voice),
        Outcome::Reviewed => plain(format!("{} is reviewed at {}.", voice.pull(), voice.head())),
        Outcome::PatchOffered => patch_offered(voice),
        Outcome::Reopened => plain(format!("{} is open again; it waits for a command.", voice.pull())),
        Outcome::Merged => plain(format!("{} is merged; the work on it is over.", voice.pull())),
        Outcome::Closed => closed(voice),
        Outcome::IssueClosed => plain(format!("{} was closed, so the work on it is over.", voice.thread())),
        Outcome::NoAccess => no_access(voice),
    }
}

fn conflict(voice: &Voice<'_>) -> Face {
    let base = words::code(&voice.facts().base.branch, 60);
    told(
        format!("Needs you: {} conflicts with its base {}.", voice.pull(), voice.after_rounds()),
        vec![
            format!(
                "Seen: it cannot be merged into {base} as it is, and all rounds of this request are used up."
            ),
            format!("{} has it merged; or merge {base} yourself.", voice.command("rebase")),
        ],
    )
}

fn patch_offered(voice: &Voice<'_>) -> Face {
    let whose = match voice.facts().guest.as_ref().and_then(|guest| guest.fork.as_ref()) {
        Some(fork) => format!(
            "Seen: its branch is in {}, where fixpoint may not push.",
            words::code(&fork.to_string(), 80)
        ),
        None => "Seen: its branch is one that fixpoint may not push to.".to_owned(),
    };
    let author = voice
        .facts()
        .guest
        .as_ref()
        .map_or("its author".to_owned(), |guest| words::code(&guest.author.login, 40));
    told(
        format!("A patch for {} is done; {author} has to apply it.", voice.pull()),
        vec![whose, voice.thinks(), voice.patch_line()],
    )
}

fn plain(lead: String) -> Face {
    Face { lead, ..Face::default() }
}

fn told(lead: String, lines: Vec<String>) -> Face {
    Face { lead, lines, ..Face::default() }
}

fn green(voice: &Voice<'_>) -> Face {
    let ready = match &voice.facts().pull {
        _ if voice.facts().guest.is_some() => "is green",
        Some(Pull { draftable: false, .. }) => "is green and open for review",
        _ => "is ready for review",
    };
    let start = format!("{} {ready}", voice.pull());
    let room = words::SENTENCE - start.chars().count().min(words::SENTENCE) - 3;
    let lead = match voice.gist(room) {
        Some(gist) if gist.chars().count() <= room => format!("{start}: {gist}."),
        _ => format!("{start}."),
    };
    told(lead, vec![tally(voice), excepted(voice), look_first(voice)])
}

/// More flags of weaker tests are listed in the pull request.
const WEAKER: usize = 2;

/// The one red check that it ended with: that it is red on the base is seen, why it is let be is the agent's word.
fn excepted(voice: &Voice<'_>) -> String {
    let Some(exception) = &voice.facts().exception else { return String::new() };
    let base = words::code(&voice.facts().base.branch, 60);
    let check = words::code(&exception.check, 60);
    let why = words::inline(&exception.why, 200);
    format!("Seen: {check} fails on {base} in the same way. The agent says: {why}")
}

fn needs_person(voice: &Voice<'_>) -> Face {
    let flags = &voice.facts().flags;
    let weaker = flags.iter().filter(|flag| matches!(flag, Flag::WeakerTests { .. })).count();
    let what = match (weaker, flags.len()) {
        (_, 0) => "a person has to look first".to_owned(),
        (0, 1) => "it changes a file that CI runs".to_owned(),
        (0, n) => format!("it changes {n} files that CI runs"),
        (_, _) => "it makes tests weaker".to_owned(),
    };
    let mut lines = vec![tally(voice), excepted(voice)];
    lines.retain(|line| !line.is_empty());
    lines.extend(seen_flags(flags, voice));
    lines.push(format!(
        "It stays a draft: {} if that is right, or write {} with what should be different.",
        voice.command("approve"),
        voice.command("<text>")
    ));
    told(format!("Needs you: {} is green, but {what}.", voice.pull()), lines)
}

/// Each weaker test, and what CI runs in one line.
fn seen_flags(flags: &[Flag], voice: &Voice<'_>) -> Vec<String> {
    let tests: Vec<&Flag> = flags.iter().filter(|flag| matches!(flag, Flag::WeakerTests { .. })).collect();
    let mut lines: Vec<String> =
        tests.iter().take(WEAKER).map(|flag| format!("Seen: {}.", named(flag))).collect();
    if let (Some(last), more @ 1..) = (lines.last_mut(), tests.len().saturating_sub(WEAKER)) {
        last.push_str(&format!(" {more} more: see {}.", voice.pull()));
    }
    let run: Vec<String> = flags
        .iter()
        .filter_map(|flag| if let Flag::RunByCi { path } = flag { Some(words::code(path, 60)) } else { None })
        .collect();
    if !run.is_empty() {
        let more = match run.len().saturating_sub(NAMED_FLAGS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = run.iter().take(NAMED_FLAGS).cloned().collect::<Vec<_>>().join(", ");
        lines.push(format!("Seen: CI runs what changed: {shown}{more}."));
    }
    lines
}

fn no_ci(voice: &Voice<'_>) -> Face {
    let lead = match voice.facts().guest {
        Some(_) => format!("No check ran on {}.", voice.pull()),
        None => format!("{} is ready for review, but no check ran on it.", voice.pull()),
    };
    let seen = format!(
        "Seen: this repository ran no check on {}; nothing but the agent tried the change.",
        voice.head()
    );
    told(lead, vec![seen, voice.thinks(), look_first(voice)])
}

fn not_green(why: &str, voice: &Voice<'_>) -> Face {
    let lead = format!("Needs you: {} is not green {}.", voice.pull(), voice.after_rounds());
    let seen = voice.seen().map_or(String::new(), |seen| format!("Seen: {seen}."));
    // That the cap is reached is what the first sentence says.
    let stopped =
        voice.seen_reason(why).filter(|why| !why.ends_with("which is the cap.")).unwrap_or_default();
    let stays = if voice.facts().guest.is_none() { " The branch stays." } else { "" };
    let ways = format!("{}, or {} to tell it more.{stays}", voice.command("retry"), voice.command("<text>"));
    told(lead, vec![seen, stopped, voice.thinks(), ways])
}

fn not_started(why: &str, voice: &Voice<'_>) -> Face {
    let lead = format!("Needs you: CI did not start for {}; no round was spent.", voice.head());
    let reason = match voice.seen_reason(why) {
        Some(why) => why,
        None => {
            "Seen: GitHub started no job; an owner of the repository can see why in its settings.".to_owned()
        }
    };
    let next = format!(
        "{} stays a draft. When CI runs there it goes on by itself; else {}.",
        voice.pull(),
        voice.command("retry")
    );
    told(lead, vec![reason, next])
}

fn infrastructure(why: &str, voice: &Voice<'_>) -> Face {
    let lead =
        format!("Needs you: {} is red for a reason outside its code; no round was spent.", voice.pull());
    let check = voice
        .facts()
        .failures
        .first()
        .map_or(String::new(), |red| format!("{}: ", words::code(&red.check, 60)));
    let seen = voice.reason(why).map(|why| format!("Seen: {check}{why}"));
    let seen = seen.or_else(|| voice.seen().map(|seen| format!("Seen: {seen}."))).unwrap_or_default();
    let reruns = match voice.facts().reruns.len() {
        0 => String::new(),
        n => format!("Its failed jobs were started again, {} of {}.", n, voice.limits().reruns_a_head),
    };
    let next = format!(
        "Start the jobs again when that is mended; when they are green {} is made ready.",
        voice.pull()
    );
    told(lead, vec![seen, reruns, next])
}

fn cancelled(voice: &Voice<'_>) -> Face {
    told(
        format!("Needs you: somebody cancelled the checks of {}; no round was spent.", voice.pull()),
        vec![
            tally(voice),
            format!("Start them again and it goes on from there, or write {}.", voice.command("retry")),
        ],
    )
}

fn timed_out(voice: &Voice<'_>) -> Face {
    let wait = words::span(voice.limits().ci_wait);
    told(
        format!("Needs you: checks of {} did not finish within {wait}.", voice.pull()),
        vec![
            tally(voice),
            voice.facts().remark.clone().unwrap_or_default(),
            format!(
                "{} stays a draft. When they end green it is made ready; else {}.",
                voice.pull(),
                voice.command("retry")
            ),
        ],
    )
}

fn nothing(why: &str, voice: &Voice<'_>) -> Face {
    let again = format!("Tell it more with {}.", voice.command("<text>"));
    Face {
        lead: format!("Nothing was changed for {}: the agent found nothing to do.", voice.thread()),
        lines: vec![again],
        quoted: if why.trim().is_empty() {
            String::new()
        } else {
            format!("The agent says:\n\n{}", words::quote(why, 1_500))
        },
        ..Face::default()
    }
}

fn stopped(voice: &Voice<'_>) -> Face {
    told(
        format!("Stopped, as asked: nothing more is pushed for {}.", voice.pull()),
        vec![voice.patch_line(), format!("{} starts it again.", voice.command("retry"))],
    )
}

fn limit(which: &str, voice: &Voice<'_>) -> Face {
    let seen = voice.seen_reason(which).unwrap_or_default();
    told(
        format!("Needs you: the work on {} reached a limit in {}.", voice.pull(), voice.round()),
        vec![
            seen,
            voice.thinks(),
            voice.patch_line(),
            format!("{}, or a smaller task with {}.", voice.command("retry"), voice.command("<text>")),
        ],
    )
}

fn budget(which: &str, voice: &Voice<'_>) -> Face {
    let seen = voice.seen_reason(which).unwrap_or_default();
    told(
        format!("Needs you: a budget is used up, so the work on {} stopped.", voice.pull()),
        vec![
            seen,
            voice.patch_line(),
            format!(
                "{} when there is more: a day's budget is free again at 00:00 UTC, and whoever runs fixpoint can raise any.",
                voice.command("retry")
            ),
        ],
    )
}

fn refused(why: &str, voice: &Voice<'_>) -> Face {
    let seen =
        voice.seen_reason(why).unwrap_or_else(|| "The change is not one that may be pushed here.".to_owned());
    told(
        format!("Needs you: the change for {} may not be pushed.", voice.thread()),
        vec![
            seen,
            voice.patch_line(),
            format!(
                "When that is settled, {}; or tell it another way with {}.",
                voice.command("retry"),
                voice.command("<text>")
            ),
        ],
    )
}

fn engine_failed(why: &str, voice: &Voice<'_>) -> Face {
    told(
        format!("Needs the operator: the agent could not work on {}.", voice.pull()),
        vec![
            operators(why, voice),
            voice.patch_line(),
            format!("{} when it is mended.", voice.command("retry")),
        ],
    )
}

fn out_of_reach(why: &str, voice: &Voice<'_>) -> Face {
    told(
        format!("The model could not be reached, so the work on {} stopped.", voice.pull()),
        vec![operators(why, voice), voice.patch_line(), format!("{} tries again.", voice.command("retry"))],
    )
}

/// The reason may name the model's host or the state of an account: neither is everybody's business.
fn operators(why: &str, voice: &Voice<'_>) -> String {
    let seen = if voice.facts().public { None } else { voice.reason(why) };
    seen.map_or_else(
        || {
            format!(
                "Whoever runs fixpoint finds the reason in the log of session `{}`.",
                voice.context.session
            )
        },
        |why| format!("Seen: {why}"),
    )
}

fn stood_down(head: &str, voice: &Voice<'_>) -> Face {
    told(
        format!("The push of `{head}` stands: it is not fixpoint's, so fixpoint stopped there."),
        vec![voice.patch_line(), format!("{} goes on from `{head}`.", voice.command("<text>"))],
    )
}

fn no_answer(voice: &Voice<'_>) -> Face {
    let wait = words::span(voice.limits().person);
    told(
        format!("Ended: nobody answered the question about {} within {wait}.", voice.pull()),
        vec![voice.patch_line(), format!("{} starts it again.", voice.command("retry"))],
    )
}

fn closed(voice: &Voice<'_>) -> Face {
    told(
        format!("{} was closed, so the work on it is over.", voice.pull()),
        vec![voice.patch_line(), format!("Open it again, or write {}.", voice.command("<text>"))],
    )
}

fn no_access(voice: &Voice<'_>) -> Face {
    plain(format!(
        "fixpoint can no longer reach {}; the work on it is over.",
        words::code(&voice.facts().repo.to_string(), 50)
    ))
}

fn tally(voice: &Voice<'_>) -> String {
    // The one that it ended with has a line of its own.
    let failures = if voice.facts().exception.is_some() { &[] } else { voice.facts().failures.as_slice() };
    let red: Vec<String> = failures.iter().take(3).map(|f| words::code(&f.check, 40)).collect();
    match (voice.tally(), red.is_empty()) {
        (None, _) => String::new(),
        (Some(tally), true) => format!("{tally}."),
        (Some(tally), false) => format!("{tally}; red: {}.", red.join(", ")),
    }
}
