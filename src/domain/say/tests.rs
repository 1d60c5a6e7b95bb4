//! Every face, looked at.

use super::*;
use crate::domain::{
    Failure, Phase,
    failure::{Kind, Source},
    ids::*,
    policy::Flag,
    session::{
        Base, Cause, Facts, Message, Outcome, Pull, Question, Request, RoundNote, Spent, Subject, Thread,
    },
};
use insta::assert_snapshot;

fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}

fn red() -> Failure {
    Failure {
        check: "test (windows)".into(),
        kind: Kind::Change,
        signature: "test (windows): path separator".into(),
        line: "assertion `left == right` failed: path separator at tests/pager.rs:41".into(),
        excerpt: "thread 'pages' panicked at tests/pager.rs:41:5:\nassertion failed\n".into(),
        tests: vec!["pages".into()],
        url: Some("https://github.com/acme/pager/actions/runs/7/job/9".into()),
        source: Source::JobLog,
    }
}

fn state(phase: Phase) -> State {
    State {
        facts: Facts {
            installation: InstallationId(1),
            repo: Repo { id: RepoId(2), owner: "acme".into(), name: "pager".into() },
            public: false,
            thread: Thread {
                number: Number(481),
                title: "Page -1 for an empty list".into(),
                body: String::new(),
                trusted: true,
            },
            request: Request {
                asker: Actor { id: UserId(3), login: "alice".into() },
                instruction: "an empty list has one empty page".into(),
                source: Subject::Comment(CommentId(4)),
            },
            request_no: 1,
            round: 2,
            cause: Cause::RedCi,
            base: Base { branch: "main".into(), sha: Some(sha('0')) },
            branch: "fixpoint/481-page-1-for-an-empty-list".into(),
            head: Some(sha('4')),
            pull: Some(Pull { number: Number(482), draftable: true }),
            kept: vec![],
            notes: vec![],
            stopping: false,
            flags: vec![],
            seen: vec![],
            tainted: false,
            in_merge_queue: false,
            spent: Spent { tokens: 212_000, micros: 610_000 },
            rounds: vec![
                RoundNote {
                    number: 1,
                    cause: Cause::Asked,
                    commit: Some(sha('9')),
                    result: "`test (windows)` failed: path separator".into(),
                },
                RoundNote {
                    number: 2,
                    cause: Cause::RedCi,
                    commit: Some(sha('4')),
                    result: "CI is running".into(),
                },
            ],
            failures: vec![],
            summary: Some("Give an empty list one page.\n\nThe pager subtracted one from zero.".into()),
            remark: None,
            reruns: vec![],
            tally: Some((3, 9)),
            since: Timestamp(0),
        },
        phase,
    }
}

fn context(limits: &Limits) -> Context<'_> {
    Context {
        now: Timestamp(50_760_000),
        limits,
        web_url: "https://github.com",
        public_url: None,
        word: "code",
        app: "fixpoint-acme",
        engine: "native, claude-sonnet-4-5",
        host: Some("api.example.com"),
        sandbox: "docker, no network; nothing was refused",
        session: "97f3c20a1b2c",
        survey: None,
        patch: None,
    }
}

#[test]
fn all() {
    let limits = Limits::default();
    let c = context(&limits);
    let why = "something was seen".to_owned();
    let outcomes = vec![
        Outcome::Green,
        Outcome::NeedsPerson,
        Outcome::NotGreen { why: why.clone() },
        Outcome::NoCi,
        Outcome::NotStarted { why: why.clone() },
        Outcome::Infrastructure { why: why.clone() },
        Outcome::ChecksCancelled,
        Outcome::TimedOut,
        Outcome::NothingToChange { why: why.clone() },
        Outcome::Stopped,
        Outcome::Limit { which: "200 steps".into() },
        Outcome::Budget { which: "$5 a request".into() },
        Outcome::Refused { why: why.clone() },
        Outcome::EngineFailed { why: why.clone() },
        Outcome::StoodDown { head: sha('c') },
        Outcome::NoAnswer,
        Outcome::Merged,
        Outcome::Closed,
        Outcome::IssueClosed,
        Outcome::NoAccess,
    ];
    for outcome in outcomes {
        let mut s = state(Phase::Resting { outcome });
        s.facts.failures = vec![red()];
        s.facts.flags = vec![Flag::RunByCi { path: "build.rs".into() }];
        println!(
            "{}\n---- message\n{}\n=========",
            status(&s, &c),
            message(
                &Message::Answer,
                &s,
                "alice",
                "https://github.com/acme/pager/issues/481#issuecomment-1",
                &c
            )
        );
    }
    let phases = vec![
        Phase::Queued,
        Phase::Working,
        Phase::Publishing { commit: sha('a'), tree: sha('b') },
        Phase::Watching { since: Timestamp(0) },
        Phase::Waiting { question: Question::Agent { text: "Which one, @bob?".into() }, since: Timestamp(0) },
        Phase::Waiting { question: Question::Plan { text: "1. do\n2. that".into() }, since: Timestamp(0) },
        Phase::Waiting {
            question: Question::Publish { commit: sha('a'), tree: sha('b') },
            since: Timestamp(0),
        },
    ];
    for phase in phases {
        println!("{}\n=========", status(&state(phase), &c));
    }
    let s = state(Phase::Resting { outcome: Outcome::Green });
    println!("{:?}", check(&s, &c));
    let (t, b) = pull(&s, &c);
    println!(
        "{t}\n\n{b}\n{}\n{}",
        commit(&s, "Give an empty list one page, fixes #481\n\nBecause @bob.\nSigned-off-by: x", &c),
        branch(Number(1), "February has 29 days in leap years, and more than that")
    );
    assert_snapshot!("x", @"x");
}
