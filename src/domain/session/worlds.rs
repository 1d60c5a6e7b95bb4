//! Sessions in worlds that are against them: people act at any moment, webhooks are lost, doubled and late, the process
//! dies between an act and its record. What must hold in all of them holds for [`step()`] alone; the worker's part here is
//! as small as it can be.
//!
//! A failing world is printed as the script that made it, and kept by its seed to be tried again first.

use super::*;
use crate::domain::{
    Failure, Limits, Timestamp,
    failure::{Kind, Source},
    ids::{Actor, CommentId, InstallationId, Number, Repo, RepoId, Sha, UserId},
    verdict::Verdict,
};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

/// Past this many turns of a worker in a world where nothing happens any more it goes in circles.
const TURNS: usize = 200;

fn sha(n: u64) -> Sha {
    Sha::parse(&format!("{n:040x}")).unwrap()
}

fn asked(comment: u64, job: Job) -> Request {
    let alice = Actor { id: UserId(1), login: "alice".to_owned() };
    Request { job, ..Request::run(alice, "do it".to_owned(), Subject::Comment(CommentId(comment))) }
}

/// What GitHub knows.
#[derive(Debug, Default)]
struct GitHub {
    branch: Option<Sha>,
    /// Whether the pull request is open, once there is one.
    pull: Option<bool>,
    merged: bool,
    /// Commits of people on the branch.
    foreign: BTreeSet<Sha>,
    /// Commits of ours that were pushed. One more than once only where somebody deleted the branch in between.
    pushed: BTreeSet<Sha>,
}

/// What a webhook tells: only where to look.
#[derive(Clone, Debug)]
enum Hook {
    Pull,
    Branch,
    Asked(Ask),
}

#[derive(Debug)]
struct World {
    github: GitHub,
    wire: VecDeque<Hook>,
    limits: Limits,
    first: State,
    // What is durable.
    state: State,
    inbox: VecDeque<Entry>,
    intended: VecDeque<Effect>,
    stepped: Vec<(Entry, Timestamp)>,
    now: Timestamp,
    /// Commits and comments are counted up.
    next: u64,
    /// Decides how rounds end and what CI says: the script's own bytes.
    fate: Vec<u8>,
}

impl World {
    fn new(fate: Vec<u8>) -> Self {
        let from = Start {
            installation: InstallationId(1),
            repo: Repo { id: RepoId(1), owner: "acme".to_owned(), name: "calendar".to_owned() },
            public: true,
            thread: Thread { number: Number(7), title: "Sum".to_owned(), body: String::new(), trusted: true },
            request: asked(1, Job::Run),
            base: "main".to_owned(),
            branch: "fixpoint/7-sum".to_owned(),
            on: None,
        };
        let (first, effects) = start(from, Timestamp(0));
        Self {
            github: GitHub::default(),
            wire: VecDeque::new(),
            limits: Limits::default(),
            state: first.clone(),
            first,
            inbox: VecDeque::new(),
            intended: effects.into(),
            stepped: Vec::new(),
            now: Timestamp(0),
            next: 100,
            fate,
        }
    }

    fn fate(&self, of: u64) -> u8 {
        let len = u64::try_from(self.fate.len()).unwrap();
        if len == 0 { 0 } else { self.fate[usize::try_from(of % len).unwrap()] }
    }

    fn fresh(&mut self) -> Sha {
        self.next += 1;
        sha(self.next)
    }

    /// Something happens outside, or on the way from there.
    fn outside(&mut self, what: u8) {
        let comment = self.next + 1000;
        let alice = || Actor { id: UserId(1), login: "alice".to_owned() };
        match what % 12 {
            0 => self.wire.push_back(Hook::Asked(Ask::Run { request: asked(comment, Job::Run) })),
            1 => self.wire.push_back(Hook::Asked(Ask::Run { request: asked(comment, Job::Plan) })),
            2 => self.wire.push_back(Hook::Asked(Ask::Retry { request: asked(comment, Job::Run) })),
            3 => self.wire.push_back(Hook::Asked(Ask::Stop { by: alice(), at: None })),
            4 => self.wire.push_back(Hook::Asked(Ask::Approve { by: alice(), at: None })),
            5 if self.github.branch.is_some() => {
                let theirs = self.fresh();
                self.github.foreign.insert(theirs.clone());
                self.github.branch = Some(theirs);
                self.wire.push_back(Hook::Branch);
            }
            6 if self.github.pull == Some(true) => {
                (self.github.pull, self.github.merged) =
                    (Some(false), self.fate(self.next).is_multiple_of(2));
                self.wire.push_back(Hook::Pull);
            }
            7 if self.github.pull == Some(false) && !self.github.merged && self.github.branch.is_some() => {
                self.github.pull = Some(true);
                self.wire.push_back(Hook::Pull);
            }
            8 if self.github.branch.is_some() => {
                self.github.branch = None;
                self.github.pull = self.github.pull.map(|_| false);
                self.wire.push_back(Hook::Branch);
            }
            // Lost.
            9 => drop(self.wire.pop_front()),
            // Late.
            10 => self.wire.rotate_left(usize::from(!self.wire.is_empty())),
            // Twice. What somebody asks is known by its comment.
            _ => {
                let twin = self.wire.front().filter(|hook| !matches!(hook, Hook::Asked(_))).cloned();
                self.wire.extend(twin);
            }
        }
    }

    /// A webhook arrives: GitHub is asked how it is now.
    fn deliver(&mut self) {
        let Some(hook) = self.wire.pop_front() else { return };
        let over = self.state.is_done();
        let entry = match hook {
            // Where the session is over a command begins another, which is not told here.
            Hook::Asked(_) if over => None,
            Hook::Asked(ask) => Some(Entry::Asked { ask }),
            Hook::Pull if self.github.pull == Some(true) => {
                self.github.branch.clone().map(|head| Entry::PullReopened { head })
            }
            Hook::Pull => Some(Entry::PullClosed { merged: self.github.merged }),
            Hook::Branch => self.moved(),
        };
        self.inbox.extend(entry);
    }

    /// What is to be said of the branch as it is now.
    fn moved(&self) -> Option<Entry> {
        let known = self.state.facts.head.as_ref()?;
        let publishing = match &self.state.phase {
            Phase::Publishing { commit, .. } => Some(commit),
            _ => None,
        };
        match &self.github.branch {
            None => Some(Entry::BranchDeleted),
            Some(live) if live == known || Some(live) == publishing => None,
            Some(live) => Some(Entry::HeadMoved { head: live.clone(), whose: Whose::Foreign }),
        }
    }

    /// One turn of the session's holder; false: nothing to do. `dies` says where the process ends in it, if it does.
    fn turn(&mut self, dies: u8) -> Result<bool, IllegalTransition> {
        self.now = Timestamp(self.now.0 + 1000);
        if let Some(entry) = self.inbox.pop_front() {
            // One transaction: nothing can come between.
            self.stepped.push((entry.clone(), self.now));
            if let Step::To(state, effects) = step(&self.state, entry, self.now, &self.limits)? {
                self.state = *state;
                self.intended.extend(effects);
            }
            return Ok(true);
        }
        if let Some(effect) = self.intended.front().cloned() {
            if dies == 1 {
                return Ok(true);
            }
            let entry = self.act(&effect);
            // Done, and not recorded.
            if dies == 2 {
                return Ok(true);
            }
            self.intended.pop_front();
            self.inbox.extend(entry);
            return Ok(true);
        }
        let own = self.work();
        let any = own.is_some();
        // A round that was not recorded is run again.
        self.inbox.extend(own.filter(|_| dies != 1));
        Ok(any)
    }

    /// An effect as GitHub takes it, with a look before it and after it.
    fn act(&mut self, effect: &Effect) -> Option<Entry> {
        match effect {
            Effect::Push { commit, expected, .. } => {
                let live = self.github.branch.clone();
                if live != *expected && live.as_ref() != Some(commit) {
                    return Some(match live {
                        Some(head) => Entry::NotPushed { why: NotPushed::Foreign { head } },
                        None => Entry::BranchDeleted,
                    });
                }
                if live == *expected {
                    self.github.pushed.insert(commit.clone());
                    self.github.branch = Some(commit.clone());
                }
                Some(Entry::Pushed { commit: commit.clone() })
            }
            Effect::OpenPull { .. } if self.github.pull.is_none() && self.github.branch.is_none() => {
                Some(Entry::NotPushed { why: NotPushed::Refused { reason: "no branch".to_owned() } })
            }
            Effect::OpenPull { .. } => {
                self.github.pull.get_or_insert(true);
                Some(Entry::PullOpened { number: Number(8), draftable: true })
            }
            _ => None,
        }
    }

    /// What the phase asks for.
    fn work(&mut self) -> Option<Entry> {
        let facts = self.state.facts.clone();
        match self.state.phase.clone() {
            Phase::Queued => match (&facts.head, &self.github.branch) {
                (Some(_), None) => Some(Entry::BranchDeleted),
                (Some(known), Some(live)) if known != live => self.moved(),
                (head, _) => {
                    Some(Entry::RoundBegan { base: sha(1), start: head.clone().unwrap_or_else(|| sha(1)) })
                }
            },
            Phase::Working => Some(self.round_ends()),
            Phase::Watching { .. } | Phase::Resting { .. } | Phase::Waiting { .. } => self.look(),
            _ => None,
        }
    }

    fn round_ends(&mut self) -> Entry {
        let facts = &self.state.facts;
        let (request_no, round, plans) = (facts.request_no, facts.round, facts.request.job == Job::Plan);
        let commit = self.fresh();
        let ending = match self.fate(self.next) % 8 {
            _ if plans => Ending::Planned { text: "1. Add.".to_owned() },
            0 => Ending::Nothing { summary: "Nothing".to_owned() },
            1 => Ending::Question { text: "Which?".to_owned() },
            2 => Ending::Failed { why: "no model".to_owned(), passing: false },
            n => Ending::Changed {
                tree: sha(5000 + u64::from(self.fate(self.next + 1))),
                commit,
                summary: "Done".to_owned(),
                description: None,
                flags: vec![],
                survey: Default::default(),
                ask_first: n == 7,
                takes_in: None,
                rewrites: false,
                handed: Default::default(),
            },
        };
        let end = RoundEnd {
            request_no,
            round,
            ending,
            requests_taken: 0,
            notes_taken: 0,
            spent: Spent::default(),
            tainted: false,
            replies: vec![],
            outside_request: None,
            refused: Default::default(),
        };
        Entry::RoundEnded { end }
    }

    /// The pull request first, then the branch, then the checks of the head.
    fn look(&self) -> Option<Entry> {
        let facts = &self.state.facts;
        let head = facts.head.clone()?;
        if facts.pull.is_some() && self.github.pull == Some(false) {
            return Some(Entry::PullClosed { merged: self.github.merged });
        }
        if let Some(moved) = self.moved() {
            return Some(moved);
        }
        if !matches!(self.state.phase, Phase::Watching { .. }) {
            return None;
        }
        let digits = head.as_str();
        let of = u64::from_str_radix(&digits[digits.len() - 8..], 16).unwrap();
        let verdict = match self.fate(of + 7) % 4 {
            0 => Verdict::Green { tally: (1, 1) },
            1 => Verdict::NoCi,
            _ => Verdict::Red { failures: vec![failure(self.fate(of + 9) % 3)], tally: (0, 1) },
        };
        Some(Entry::Judged { head, verdict })
    }

    fn told_again(&mut self) -> Result<bool, IllegalTransition> {
        if self.github.pull.is_some() {
            self.wire.extend([Hook::Branch, Hook::Pull]);
        }
        self.comes_to_rest()
    }

    /// Everybody goes home: what is on its way arrives, and the worker works until nothing is left to do.
    fn comes_to_rest(&mut self) -> Result<bool, IllegalTransition> {
        while !self.wire.is_empty() {
            self.deliver();
        }
        for _ in 0..TURNS {
            if !self.turn(0)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn failure(signature: u8) -> Failure {
    Failure {
        check: "test".to_owned(),
        kind: Kind::Change,
        signature: signature.to_string(),
        line: "boom".to_owned(),
        excerpt: String::new(),
        tests: Vec::new(),
        url: None,
        source: Source::JobLog,
        evidence: None,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn fail(error: IllegalTransition) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn c18_in_any_world_a_session_ends_within_its_bounds_and_where_a_person_understands_it(
        fate in prop::collection::vec(any::<u8>(), 1..24),
        script in prop::collection::vec(any::<(u8, u8)>(), 0..120),
    ) {
        let mut world = World::new(fate);
        for (what, how) in script {
            match what % 8 {
                0..=4 => drop(world.turn(how % 4).map_err(fail)?),
                5 | 6 => world.deliver(),
                _ => world.outside(how),
            }
            let facts = &world.state.facts;
            prop_assert!(facts.round <= facts.cap(&world.limits), "round {}", facts.round);
            let most = world.limits.rounds * facts.request_no;
            prop_assert!(u32::try_from(world.github.pushed.len()).unwrap() <= most);
        }
        prop_assert!(world.comes_to_rest().map_err(fail)?, "it goes in circles: {:?}", world.state.phase);
        let state = &world.state;
        prop_assert!(!state.is_busy() && !matches!(state.phase, Phase::Watching { .. }), "{:?}", state.phase);
        prop_assert!(world.intended.is_empty(), "{:?}", world.intended);
        // While a person's answer is waited for, what else was asked waits for it too.
        let waits = matches!(state.phase, Phase::Waiting { .. } | Phase::Done { .. });
        prop_assert!(waits || state.facts.kept.is_empty(), "{:?}", state.facts.kept);
        // Nobody's commit is overwritten.
        if let Some(tip) = world.github.branch.as_ref().filter(|_| state.facts.pull.is_some() && !state.is_done()) {
            prop_assert!(state.facts.head.as_ref() == Some(tip), "{tip:?} and {:?}", state.facts.head);
        }
        // What is answered stays answered: what was lost is told at last, and all of it once more, and nothing follows.
        world.told_again().map_err(fail)?;
        let (answered, pushed) = (world.state.phase.clone(), world.github.pushed.clone());
        world.told_again().map_err(fail)?;
        prop_assert_eq!((&world.state.phase, world.github.pushed.clone()), (&answered, pushed));
        // And it can be told again from what was stored.
        let mut state = world.first.clone();
        for (entry, now) in world.stepped {
            let entry = serde_json::from_str(&serde_json::to_string(&entry).unwrap()).unwrap();
            if let Step::To(next, _) = step(&state, entry, now, &world.limits).map_err(fail)? {
                state = *next;
            }
        }
        prop_assert_eq!(state, world.state);
    }
}
