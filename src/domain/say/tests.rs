//! A state to speak of, for the tests beside.

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
        evidence: None,
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
            head_tree: None,
            start: None,
            survey: None,
            told: true,
            as_of: Timestamp(50_760_000),
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
            exception: None,
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
        kept: true,
    }
}

fn with(state: State, change: impl FnOnce(&mut Facts)) -> State {
    let mut state = state;
    change(&mut state.facts);
    state
}

mod contract;
mod faces;
