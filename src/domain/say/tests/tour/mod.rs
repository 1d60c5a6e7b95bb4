//! The tour: every face people see on one page, `docs/tour/README.md`, as GitHub gets it.
//!
//! The page is made from the code and compared with it, so that whoever changes a sentence sees it where people will. It is
//! written anew by `cargo test --lib say::tests::tour::write_the_page -- --ignored`; `scripts/tour.sh` takes its pictures.

mod page;
mod people;
mod pulls;
mod work;

use super::*;
use crate::domain::{Entry, Step, session::Effect, step, verdict::Verdict};
use page::{Chapter, Place};
use std::collections::BTreeSet;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/tour/README.md");

fn chapters() -> Vec<Chapter> {
    vec![
        work::while_it_works(),
        people::asked(),
        work::ready(),
        people::needed(),
        people::outside_the_code(),
        people::not_pushed(),
        work::over(),
        pulls::guests(),
        pulls::reviews(),
        people::messages(),
        pulls::bodies(),
        pulls::checks(),
    ]
}

#[test]
fn the_tour_is_what_the_code_says() {
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    let differs =
        page::page(&chapters()).lines().map(str::to_owned).zip(page.lines()).find(|(now, then)| now != then);
    let again = "cargo test --lib say::tests::tour::write_the_page -- --ignored";
    assert_eq!(differs, None, "docs/tour/README.md is of an older day; {again}");
    assert_eq!(page, page::page(&chapters()), "docs/tour/README.md is of an older day; {again}");
}

#[test]
#[ignore = "rewrites docs/tour/README.md"]
fn write_the_page() {
    std::fs::write(PAGE, page::page(&chapters())).unwrap();
}

/// A phone shows the first sentence and little else.
#[test]
fn every_first_sentence_fits_a_notification_and_is_one() {
    for shown in chapters().iter().flat_map(|chapter| &chapter.shown) {
        let lead = shown.lead();
        assert!(lead.chars().count() <= words::SENTENCE, "{}: {lead}", shown.name);
        assert!(!lead.contains('\n') && lead.matches('`').count() % 2 == 0, "{}: {lead}", shown.name);
        if shown.place == Place::Comment {
            assert!(lead.ends_with(['.', '!', '?']), "{}: {lead}", shown.name);
            let above = shown.text.split("<details>").next().unwrap();
            let table = above.lines().any(|line| line.starts_with('|'));
            assert!(
                !table && !above.contains("\n# ") && !above.contains("\n##"),
                "{}: above the fold",
                shown.name
            );
        }
    }
}

/// A suggested command outside a code span would be one of its own, or look like none.
#[test]
fn every_command_stands_in_a_code_span() {
    let bare = regex::Regex::new(r"(^|[^`\w/.])/code\b").unwrap();
    for shown in chapters().iter().flat_map(|chapter| &chapter.shown) {
        let text = shown.text.split("```").step_by(2).collect::<String>();
        assert!(!bare.is_match(&text), "{}: {text}", shown.name);
    }
}

#[test]
fn f56_every_outcome_has_its_place_in_the_tour() {
    let chapters = chapters();
    let shown: BTreeSet<&str> = chapters
        .iter()
        .flat_map(|chapter| &chapter.shown)
        .filter_map(|shown| shown.outcome.as_deref())
        .collect();
    let missing: Vec<&str> = OUTCOMES.into_iter().filter(|outcome| !shown.contains(outcome)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Every outcome by the name it is stored under. A new one does not compile before it is added.
const OUTCOMES: [&str; 25] = [
    "green",
    "needs_person",
    "not_green",
    "no_ci",
    "not_started",
    "infrastructure",
    "checks_cancelled",
    "timed_out",
    "nothing_to_change",
    "stopped",
    "limit",
    "budget",
    "refused",
    "cannot_begin",
    "engine_failed",
    "stood_down",
    "no_answer",
    "conflict",
    "reviewed",
    "patch_offered",
    "reopened",
    "merged",
    "closed",
    "issue_closed",
    "no_access",
];

fn name(outcome: &Outcome) -> &'static str {
    let at = match outcome {
        Outcome::Green => 0,
        Outcome::NeedsPerson => 1,
        Outcome::NotGreen { .. } => 2,
        Outcome::NoCi => 3,
        Outcome::NotStarted { .. } => 4,
        Outcome::Infrastructure { .. } => 5,
        Outcome::ChecksCancelled => 6,
        Outcome::TimedOut => 7,
        Outcome::NothingToChange { .. } => 8,
        Outcome::Stopped => 9,
        Outcome::Limit { .. } => 10,
        Outcome::Budget { .. } => 11,
        Outcome::Refused { .. } => 12,
        Outcome::CannotBegin { .. } => 13,
        Outcome::EngineFailed { .. } => 14,
        Outcome::StoodDown { .. } => 15,
        Outcome::NoAnswer => 16,
        Outcome::Conflict => 17,
        Outcome::Reviewed => 18,
        Outcome::PatchOffered => 19,
        Outcome::Reopened => 20,
        Outcome::Merged => 21,
        Outcome::Closed => 22,
        Outcome::IssueClosed => 23,
        Outcome::NoAccess => 24,
    };
    OUTCOMES[at]
}

// ---- states, by what really happens ----

/// The second round is pushed and CI runs.
fn watching() -> State {
    with(state(Phase::Watching { since: Timestamp(0) }), open_round)
}

/// A round of a pull request that is there already.
fn working() -> State {
    with(state(Phase::Working), |facts| {
        open_round(facts);
        facts.rounds[1].commit = None;
        facts.head = Some(sha('9'));
        facts.failures = vec![red()];
    })
}

fn resting(outcome: Outcome) -> State {
    state(Phase::Resting { outcome })
}

/// Before there is a pull request.
fn early(phase: Phase) -> State {
    with(state(phase), |facts| {
        (facts.pull, facts.head, facts.tally, facts.summary) = (None, None, None, None);
        (facts.round, facts.cause) = (1, Cause::Asked);
        facts.rounds.clear();
        facts.spent = Spent::default();
    })
}

/// What an entry makes of a state, and what follows from it.
fn taken(state: &State, entry: Entry) -> (State, Vec<Effect>) {
    match step(state, entry, Timestamp(50_760_000), &Limits::default()) {
        Ok(Step::To(next, effects)) => (*next, effects),
        other => panic!("{other:?}"),
    }
}

/// CI has spoken about the head.
fn judged(verdict: Verdict) -> State {
    judged_in(&watching(), verdict)
}

fn judged_in(state: &State, verdict: Verdict) -> State {
    let head = state.facts.head.clone().unwrap();
    taken(state, Entry::Judged { head, verdict }).0
}

/// The last round's result is still to come.
fn open_round(facts: &mut Facts) {
    facts.rounds.last_mut().unwrap().result.clear();
}

/// In its third and last round.
fn third_round(facts: &mut Facts) {
    facts.round = 3;
    facts.rounds[1].result = "`test (windows)` failed: the same error".into();
    facts.rounds.push(RoundNote {
        number: 3,
        cause: Cause::RedCi,
        commit: facts.head.clone(),
        result: String::new(),
    });
}

fn red_verdict() -> Verdict {
    Verdict::Red { failures: vec![red()], tally: (8, 9) }
}

fn lost(why: &str) -> Verdict {
    let failure = Failure {
        check: "test (macos)".into(),
        kind: Kind::Infrastructure,
        line: String::new(),
        excerpt: String::new(),
        ..red()
    };
    Verdict::Infrastructure { failures: vec![failure], why: why.into() }
}

fn public(state: State) -> State {
    with(state, |facts| facts.public = true)
}
