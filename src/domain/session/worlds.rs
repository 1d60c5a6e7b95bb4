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
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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
    /// The branch's commits, oldest first, with what those of ours say of themselves.
    line: Vec<(Sha, Option<Found>)>,
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

/// What is durable.
#[derive(Clone, Debug)]
struct Stored {
    state: State,
    inbox: VecDeque<Entry>,
    intended: VecDeque<Effect>,
    stepped: Vec<(Entry, Timestamp)>,
}

#[derive(Debug)]
struct World {
    github: GitHub,
    wire: VecDeque<Hook>,
    limits: Limits,
    first: State,
    stored: Stored,
    /// Commits of ours as they name themselves.
    made: BTreeMap<Sha, Found>,
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
            stored: Stored {
                state: first.clone(),
                inbox: VecDeque::new(),
                intended: effects.into(),
                stepped: Vec::new(),
            },
            first,
            made: BTreeMap::new(),
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
                self.github.line.push((theirs.clone(), None));
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
                self.github.line.clear();
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
        let over = self.stored.state.is_done();
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
        self.stored.inbox.extend(entry);
    }

    /// What is to be said of the branch as it is now.
    fn moved(&self) -> Option<Entry> {
        let known = self.stored.state.facts.head.as_ref()?;
        let publishing = match &self.stored.state.phase {
            Phase::Publishing { commit, .. } => Some(commit),
            _ => None,
        };
        match &self.github.branch {
            None => Some(Entry::BranchDeleted),
            Some(live) if live == known || Some(live) == publishing => None,
            Some(live) => {
                let foreign = || Entry::HeadMoved { head: live.clone(), whose: Whose::Foreign };
                Some(self.found().unwrap_or_else(foreign))
            }
        }
    }

    /// Rounds of ours upon what is known of the branch.
    fn found(&self) -> Option<Entry> {
        let (facts, line) = (&self.stored.state.facts, &self.github.line);
        let known = facts.head.as_ref().and_then(|head| line.iter().position(|(commit, _)| commit == head));
        let new = line.iter().skip(known.map_or(0, |known| known + 1));
        let rounds: Vec<Found> = new.map_while(|(_, round)| round.clone()).collect();
        let (base, start, flags, survey) = (sha(1), sha(1), Vec::new(), Default::default());
        (!rounds.is_empty()).then_some(Entry::Found { rounds, base, start, flags, survey })
    }

    /// One turn of the session's holder; false: nothing to do. `dies` says where the process ends in it, if it does.
    fn turn(&mut self, dies: u8) -> Result<bool, IllegalTransition> {
        self.now = Timestamp(self.now.0 + 1000);
        if let Some(entry) = self.stored.inbox.pop_front() {
            // One transaction: nothing can come between.
            self.stored.stepped.push((entry.clone(), self.now));
            if let Step::To(state, effects) = step(&self.stored.state, entry, self.now, &self.limits)? {
                self.stored.state = *state;
                self.stored.intended.extend(effects);
            }
            return Ok(true);
        }
        if let Some(effect) = self.stored.intended.front().cloned() {
            if dies == 1 {
                return Ok(true);
            }
            let entry = self.act(&effect);
            // Done, and not recorded.
            if dies == 2 {
                return Ok(true);
            }
            self.stored.intended.pop_front();
            self.stored.inbox.extend(entry);
            return Ok(true);
        }
        let own = self.work();
        let any = own.is_some();
        // A round that was not recorded is run again.
        self.stored.inbox.extend(own.filter(|_| dies != 1));
        Ok(any)
    }

    /// An effect as GitHub takes it, with a look before it and after it.
    fn act(&mut self, effect: &Effect) -> Option<Entry> {
        match effect {
            Effect::Push { commit, expected, .. } => {
                let live = self.github.branch.clone();
                if live != *expected && live.as_ref() != Some(commit) {
                    return self.found().or(Some(match live {
                        Some(head) => {
                            let commit = Some(commit.clone());
                            Entry::NotPushed { commit, why: NotPushed::Foreign { head } }
                        }
                        None => Entry::BranchDeleted,
                    }));
                }
                if live == *expected {
                    self.github.pushed.insert(commit.clone());
                    self.github.branch = Some(commit.clone());
                    self.github.line.push((commit.clone(), self.made.get(commit).cloned()));
                }
                Some(Entry::Pushed { commit: commit.clone() })
            }
            Effect::OpenPull { .. } if self.github.pull.is_none() && self.github.branch.is_none() => {
                let why = NotPushed::Refused { reason: "no branch".to_owned() };
                Some(Entry::NotPushed { commit: None, why })
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
        let facts = self.stored.state.facts.clone();
        match self.stored.state.phase.clone() {
            Phase::Queued => match (&facts.head, &self.github.branch) {
                (Some(_), None) => Some(Entry::BranchDeleted),
                (Some(known), Some(live)) if known != live => self.moved(),
                (None, Some(_)) if self.found().is_some() => self.found(),
                (head, _) => {
                    Some(Entry::RoundBegan { base: sha(1), start: head.clone().unwrap_or_else(|| sha(1)) })
                }
            },
            Phase::Working => Some(self.found().unwrap_or_else(|| self.round_ends())),
            Phase::Watching { .. } | Phase::Resting { .. } | Phase::Waiting { .. } => self.look(),
            _ => None,
        }
    }

    fn round_ends(&mut self) -> Entry {
        let facts = &self.stored.state.facts;
        let (request_no, round, plans) = (facts.request_no, facts.round, facts.request.job == Job::Plan);
        let commit = self.fresh();
        let tree = sha(5000 + u64::from(self.fate(self.next + 1)));
        let made = Found { round, commit: commit.clone(), tree: tree.clone(), summary: "Done".to_owned() };
        self.made.insert(commit.clone(), made);
        let ending = match self.fate(self.next) % 8 {
            _ if plans => Ending::Planned { text: "1. Add.".to_owned() },
            0 => Ending::Nothing { summary: "Nothing".to_owned() },
            1 => Ending::Question { text: "Which?".to_owned() },
            2 => Ending::Failed { why: "no model".to_owned(), passing: false },
            n => Ending::Changed {
                tree: tree.clone(),
                commit: commit.clone(),
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
        let facts = &self.stored.state.facts;
        let head = facts.head.clone()?;
        if facts.pull.is_some() && self.github.pull == Some(false) {
            return Some(Entry::PullClosed { merged: self.github.merged });
        }
        if let Some(moved) = self.moved() {
            return Some(moved);
        }
        if !matches!(self.stored.state.phase, Phase::Watching { .. }) {
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

/// What holds wherever a session comes to rest.
fn is_at_rest(world: &World) -> Result<(), TestCaseError> {
    let Stored { state, intended, .. } = &world.stored;
    prop_assert!(!state.is_busy() && !matches!(state.phase, Phase::Watching { .. }), "{:?}", state.phase);
    prop_assert!(intended.is_empty(), "{:?}", intended);
    // While a person's answer is waited for, what else was asked waits for it too.
    let waits = matches!(state.phase, Phase::Waiting { .. } | Phase::Done { .. });
    prop_assert!(waits || state.facts.kept.is_empty(), "{:?}", state.facts.kept);
    // Nobody's commit is overwritten.
    if let Some(tip) = world.github.branch.as_ref().filter(|_| state.facts.pull.is_some() && !state.is_done())
    {
        prop_assert!(state.facts.head.as_ref() == Some(tip), "{tip:?} and {:?}", state.facts.head);
    }
    Ok(())
}

/// It can be told again from what was stored.
fn is_told_again(world: &World) -> Result<(), TestCaseError> {
    let mut state = world.first.clone();
    for (entry, now) in &world.stored.stepped {
        let entry = serde_json::from_str(&serde_json::to_string(entry).unwrap()).unwrap();
        if let Step::To(next, _) = step(&state, entry, *now, &world.limits).map_err(fail)? {
            state = *next;
        }
    }
    prop_assert_eq!(&state, &world.stored.state);
    Ok(())
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
            let facts = &world.stored.state.facts;
            prop_assert!(facts.round <= facts.cap(&world.limits), "round {}", facts.round);
            let most = world.limits.rounds * facts.request_no;
            prop_assert!(u32::try_from(world.github.pushed.len()).unwrap() <= most);
        }
        prop_assert!(world.comes_to_rest().map_err(fail)?, "it goes in circles: {:?}", world.stored.state.phase);
        is_at_rest(&world)?;
        // What is answered stays answered: what was lost is told at last, and all of it once more, and nothing follows.
        world.told_again().map_err(fail)?;
        let (answered, pushed) = (world.stored.state.phase.clone(), world.github.pushed.clone());
        world.told_again().map_err(fail)?;
        prop_assert_eq!((&world.stored.state.phase, world.github.pushed.clone()), (&answered, pushed));
        is_told_again(&world)?;
    }

    /// The database is put back to an older day in the middle, while the world goes on: what stands on the branch counts,
    /// and nothing of it is made again.
    #[test]
    fn c23_put_back_to_an_older_day_it_takes_up_what_stands(
        fate in prop::collection::vec(any::<u8>(), 1..24),
        script in prop::collection::vec(any::<(u8, u8)>(), 0..120),
        copied in 0..120usize,
        lasts in 1..60usize,
    ) {
        let mut world = World::new(fate);
        let mut copy = world.stored.clone();
        for (at, (what, how)) in script.into_iter().enumerate() {
            if at == copied {
                copy = world.stored.clone();
            }
            if at == copied + lasts {
                world.stored = copy.clone();
            }
            match what % 8 {
                0..=4 => drop(world.turn(how % 4).map_err(fail)?),
                5 | 6 => world.deliver(),
                _ => world.outside(how),
            }
        }
        world.stored = copy;
        prop_assert!(world.comes_to_rest().map_err(fail)?, "it goes in circles: {:?}", world.stored.state.phase);
        is_at_rest(&world)?;
        is_told_again(&world)?;
        let facts = &world.stored.state.facts;
        prop_assert!(facts.round <= facts.cap(&world.limits), "round {}", facts.round);
    }
}
