//! A state to speak of, for the tests beside.

use super::*;
use crate::domain::{
    Failure, Phase,
    failure::{Kind, Source},
    ids::*,
    policy::{
        Flag,
        exposure::{Handed, Job, Permissions},
    },
    session::{
        Base, Cause, Facts, Guest, LineComment, Message, Outcome, Pull, Question, Request, RoundNote, Spent,
        Start, Subject, Thread, start,
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

pub(super) fn state(phase: Phase) -> State {
    let asker = Actor { id: UserId(3), login: "alice".into() };
    let from = Start {
        installation: InstallationId(1),
        repo: Repo { id: RepoId(2), owner: "acme".into(), name: "pager".into() },
        public: false,
        thread: Thread {
            number: Number(481),
            title: "Page -1 for an empty list".into(),
            body: String::new(),
            trusted: true,
        },
        request: Request::run(
            asker,
            "an empty list has one empty page".into(),
            Subject::Comment(CommentId(4)),
        ),
        base: "main".into(),
        branch: "fixpoint/481-page-1-for-an-empty-list".into(),
        on: None,
    };
    let (state, _) = start(from, Timestamp(0));
    let round = |number, cause, commit, result: &str| RoundNote {
        number,
        cause,
        commit: Some(sha(commit)),
        result: result.into(),
    };
    let facts = Facts {
        round: 2,
        cause: Cause::RedCi,
        base: Base { branch: "main".into(), sha: Some(sha('0')) },
        head: Some(sha('4')),
        told: true,
        as_of: Timestamp(50_760_000),
        pull: Some(Pull { number: Number(482), draftable: true }),
        spent: Spent { tokens: 212_000, micros: 610_000 },
        rounds: vec![
            round(1, Cause::Asked, '9', "`test (windows)` failed: path separator"),
            round(2, Cause::RedCi, '4', "CI is running"),
        ],
        summary: Some("Give an empty list one page.\n\nThe pager subtracted one from zero.".into()),
        tally: Some((3, 9)),
        ..state.facts
    };
    State { facts, phase }
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
        before: None,
        kept: true,
    }
}

/// What the workflows of the story hold.
fn handed() -> Handed {
    let job = |workflow: &str, job: &str, event: &str, secrets: &[&str]| Job {
        workflow: format!(".github/workflows/{workflow}"),
        job: job.into(),
        event: event.into(),
        secrets: secrets.iter().map(|name| (*name).to_owned()).collect(),
        permissions: Permissions::Word("default".into()),
        environment: None,
        runner: "ubuntu-latest".into(),
        self_hosted: false,
        unread: None,
    };
    let writes = [("contents", "read"), ("packages", "write")];
    let writes = writes.map(|(name, level)| (name.to_owned(), level.to_owned()));
    let preview = Job {
        environment: Some("preview".into()),
        permissions: Permissions::Each(writes.into()),
        ..job("preview.yml", "deploy", "pull_request", &["PREVIEW_KEY"])
    };
    let windows = Job {
        runner: "self-hosted, windows".into(),
        self_hosted: true,
        ..job("ci.yml", "windows", "push", &[])
    };
    let test = |event| job("ci.yml", "test", event, &["NPM_TOKEN", "PREVIEW_KEY"]);
    Handed { jobs: vec![test("push"), test("pull_request"), windows, preview], more: 0 }
}

fn with(state: State, change: impl FnOnce(&mut Facts)) -> State {
    let mut state = state;
    change(&mut state.facts);
    state
}

mod contract;
mod faces;
mod tour;
