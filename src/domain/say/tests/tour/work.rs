//! The good course of things, and the ends that need nobody.

use super::page::{Chapter, Shown, comment, comment_with};
use super::*;
use crate::domain::session::{Deadline, Exception, Whose};

pub(super) fn while_it_works() -> Chapter {
    let first = |phase| with(early(phase), |facts| facts.told = false);
    let approval = Verdict::AwaitingApproval {
        workflows: 3,
        url: Some("https://github.com/acme/pager/pull/482/checks".into()),
    };
    let queue = taken(&watching(), Entry::MergeQueue { inside: true }).0;
    let conflict = taken(&watching(), Entry::Conflicted { base: sha('b') }).0;
    let more = with(working(), |facts| {
        facts.failures = vec![red()];
        facts.kept = vec![facts.request.clone()];
        facts.notes = vec!["a".into(), "b".into()];
    });
    let shown = vec![
        comment(
            "A place in the queue",
            "After ten minutes without anything else to say: all places are taken.",
            &with(first(Phase::Queued), |facts| facts.round = 0),
        ),
        comment("The first round", "After ten minutes, while the agent works.", &first(Phase::Working)),
        comment(
            "The draft is up",
            "The first push is made, the pull request is open, and its checks run.",
            &with(watching(), |facts| {
                (facts.round, facts.cause) = (1, Cause::Asked);
                facts.rounds.truncate(1);
                open_round(facts);
            }),
        ),
        comment("Another round", "CI was red because of the change, and the agent was told.", &working()),
        comment(
            "Its push",
            "For a moment, between the round and its checks.",
            &state(Phase::Publishing { commit: sha('a'), tree: sha('b') }),
        ),
        comment(
            "Its push, where CI hands it something",
            "In a private repository nobody is asked: where strangers' text was read it is said before the push.",
            &with(state(Phase::Publishing { commit: sha('a'), tree: sha('b') }), |facts| {
                (facts.tainted, facts.handed) = (true, handed());
            }),
        ),
        comment("CI again", "The second round is pushed.", &watching()),
        comment(
            "Something waits behind it",
            "A second request and two plain comments came meanwhile.",
            &more,
        ),
        comment(
            "An approval",
            "Workflows of a first-time contributor's pull request wait for a maintainer.",
            &judged(approval),
        ),
        comment(
            "A lost runner",
            "A check is red for a reason outside the code, for the first time on this commit.",
            &judged(lost("the runner was lost")),
        ),
        comment("The merge queue", "Somebody put the pull request into the merge queue.", &queue),
        comment(
            "A conflict with the base",
            "The base moved, and the pull request cannot be merged as it is.",
            &conflict,
        ),
        comment(
            "Stopping",
            "Somebody wrote stop while it could not stop at once.",
            &with(working(), |facts| facts.stopping = true),
        ),
    ];
    Chapter { title: "While it works", shown }
}

pub(super) fn ready() -> Chapter {
    let survey = crate::domain::policy::survey(&pulls::change());
    let surveyed = |state: State| with(state, |facts| facts.survey = Some(survey.clone()));
    let green = || judged_in(&surveyed(watching()), Verdict::Green { tally: (9, 9) });
    let flagged = |flags: Vec<Flag>| {
        let state = with(watching(), |facts| facts.flags = flags);
        judged_in(&surveyed(with(state, open_round)), Verdict::Green { tally: (9, 9) })
    };
    let weaker =
        Flag::WeakerTests { path: "tests/pager.rs".into(), what: "a test is skipped: `#[ignore]`".into() };
    let files = ["build.rs", "Makefile", "scripts/test.sh", "scripts/lint.sh"];
    let run_by_ci = files.map(|path| Flag::RunByCi { path: path.into() });
    let excepted = with(green(), |facts| {
        facts.tally = Some((8, 9));
        facts.failures =
            vec![Failure { check: "lint".into(), line: "clippy.toml:3: unknown field".into(), ..red() }];
        let why = "`lint` reads a setting that its new release does not know; the change touches none of it."
            .into();
        facts.exception = Some(Exception { check: "lint".into(), signature: "lint".into(), why });
    });
    let shown = vec![
        comment(
            "Ready for review",
            "Every check is green: the draft is made ready, and `alice` is asked for review.",
            &green(),
        ),
        comment(
            "Green but for one",
            "One check is red on the base too, in the same way, and the agent says why it leaves it.",
            &excepted,
        ),
        comment(
            "No CI",
            "The repository runs no check on the commit.",
            &judged_in(
                &surveyed(with(watching(), |facts| {
                    facts.tally = None;
                    open_round(facts);
                })),
                Verdict::NoCi,
            ),
        ),
        comment("Weaker tests", "Green, but a test would check less than before.", &flagged(vec![weaker])),
        comment(
            "Files that CI runs",
            "Green, but the change touches what CI executes.",
            &flagged(run_by_ci.to_vec()),
        ),
    ];
    Chapter { title: "When it is ready", shown }
}

pub(super) fn over() -> Chapter {
    let kept = |name: &'static str, when: &'static str, state: &State| -> Shown {
        comment_with(name, when, state, |context| context.kept = true)
    };
    let done = |entry| taken(&watching(), entry).0;
    let stopped = {
        let by = Actor { id: UserId(3), login: "alice".into() };
        taken(&working(), Entry::Asked { ask: crate::domain::session::Ask::Stop { by, at: None } }).0
    };
    let asked = state(Phase::Waiting {
        question: Question::Agent { text: "One page or none?".into() },
        since: Timestamp(0),
    });
    let unanswered = step(
        &asked,
        Entry::Expired { deadline: Deadline::Person },
        Timestamp(i64::MAX / 2),
        &Limits::default(),
    );
    let Ok(Step::To(unanswered, _)) = unanswered else { panic!("{unanswered:?}") };
    let unanswered = with(*unanswered, |facts| facts.as_of = Timestamp(50_760_000));
    let reopened =
        taken(&done(Entry::PullClosed { merged: false }), Entry::PullReopened { head: sha('4') }).0;
    let shown = vec![
        comment("Nothing to change", "The agent found that there is nothing to do.", &early(Phase::Done { outcome: Outcome::NothingToChange { why: "`pages` returns 1 for an empty list since `3e1c0aa`, and `tests/pager.rs` has a test of it.".into() } })),
        kept("Stopped", "Somebody wrote stop.", &stopped),
        kept("Somebody else pushed", "A commit that is not fixpoint's is on its branch.", &done(Entry::HeadMoved { head: sha('c'), whose: Whose::Foreign })),
        kept("Nobody answered", "A question was open for seven days.", &unanswered),
        comment("Merged", "The pull request was merged.", &done(Entry::PullClosed { merged: true })),
        kept("Closed", "The pull request was closed without a merge.", &done(Entry::PullClosed { merged: false })),
        comment("Open again", "It was opened again later.", &reopened),
        comment("The issue was closed", "Before there was a pull request.", &early(Phase::Done { outcome: Outcome::IssueClosed })),
        comment("Out of reach", "The App was suspended, or taken off the repository; seen where it comes back.", &done(Entry::NoAccess)),
    ];
    Chapter { title: "When it is over", shown }
}
