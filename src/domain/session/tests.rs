//! A session as its entries tell it: the table of what may happen, row by row, and what must hold for any order.

use super::*;
use crate::domain::{
    Failure, Limits, Timestamp,
    egress::Refusals,
    failure::{Kind, Source},
    ids::{Actor, CommentId, InstallationId, Number, Repo, RepoId, Sha, UserId},
    policy::Survey,
    verdict::Verdict,
};
use proptest::prelude::*;

fn sha(n: u64) -> Sha {
    Sha::parse(&format!("{n:040x}")).unwrap()
}

fn alice() -> Actor {
    Actor { id: UserId(1), login: "alice".to_owned() }
}

fn request(text: &str, comment: u64) -> Request {
    Request::run(alice(), text.to_owned(), Subject::Comment(CommentId(comment)))
}

fn ask(text: &str) -> Entry {
    Entry::Asked { ask: Ask::Run { request: request(text, 100) } }
}

fn stop() -> Entry {
    Entry::Asked { ask: Ask::Stop { by: alice(), at: None } }
}

fn red(n: u64, signature: &str) -> Entry {
    let failures = vec![failure(signature)];
    Entry::Judged { head: sha(n), verdict: Verdict::Red { failures, tally: (0, 1) } }
}

fn green(n: u64) -> Entry {
    Entry::Judged { head: sha(n), verdict: Verdict::Green { tally: (1, 1) } }
}

fn failure(signature: &str) -> Failure {
    Failure {
        check: "test".to_owned(),
        kind: Kind::Change,
        signature: signature.to_owned(),
        line: signature.to_owned(),
        excerpt: String::new(),
        tests: Vec::new(),
        url: None,
        source: Source::JobLog,
        evidence: None,
    }
}

/// A session under test, with a worker that does what each phase asks for.
struct Told {
    state: State,
    effects: Vec<Effect>,
    story: Vec<String>,
    limits: Limits,
    next: u64,
    /// What the agent calls outside the request from now on.
    outside: Option<String>,
}

impl Told {
    fn new() -> Self {
        Self::on(request("fix the sum", 1), None)
    }

    /// On bob's pull request, whose head is 5.
    fn guest(job: Job, pushable: bool) -> Self {
        let author = Actor { id: UserId(2), login: "bob".to_owned() };
        let guest = Some(Guest { author, fork: None, pushable });
        let on = OnPull { pull: Pull { number: Number(7), draftable: false }, head: sha(5), guest };
        Self::on(Request { job, ..request("", 1) }, Some(on))
    }

    fn on(request: Request, on: Option<OnPull>) -> Self {
        let from = Start {
            installation: InstallationId(1),
            repo: Repo { id: RepoId(1), owner: "acme".to_owned(), name: "calendar".to_owned() },
            public: true,
            thread: Thread { number: Number(7), title: "Sum".to_owned(), body: String::new(), trusted: true },
            request,
            base: "main".to_owned(),
            branch: "fixpoint/7-sum".to_owned(),
            on,
        };
        let (state, effects) = start(from, Timestamp(0));
        let story = vec![state.phase_word().to_owned()];
        Self { state, effects, story, limits: Limits::default(), next: 10, outside: None }
    }

    fn take(&mut self, entry: Entry) -> &mut Self {
        match step(&self.state, entry, Timestamp(1), &self.limits).expect("in order") {
            Step::Ignore(_) => {}
            Step::To(state, effects) => {
                self.state = *state;
                self.effects.extend(effects);
                let word = match &self.state.phase {
                    Phase::Working => format!("working({})", self.state.facts.round),
                    Phase::Resting { outcome } | Phase::Done { outcome } => {
                        let value = serde_json::to_value(outcome).unwrap();
                        format!("{}({})", self.state.phase_word(), value["outcome"].as_str().unwrap())
                    }
                    _ => self.state.phase_word().to_owned(),
                };
                if self.story.last() != Some(&word) {
                    self.story.push(word);
                }
            }
        }
        self
    }

    /// The worker's next own entry: begins a round, ends it with a new commit, records the push.
    fn work(&mut self) -> &mut Self {
        let facts = &self.state.facts;
        let entry = match self.state.phase.clone() {
            Phase::Queued => Entry::RoundBegan { base: sha(1), start: facts.head.clone().unwrap_or(sha(1)) },
            Phase::Working => {
                self.next += 1;
                let (commit, tree) = (sha(self.next), sha(self.next + 1000));
                self.ended(Ending::Changed {
                    commit,
                    tree,
                    summary: "Done".to_owned(),
                    description: None,
                    flags: vec![],
                    survey: Default::default(),
                    handed: Default::default(),
                    ask_first: false,
                    takes_in: None,
                    rewrites: false,
                })
            }
            Phase::Publishing { commit, .. } => Entry::Pushed { commit },
            Phase::Watching { .. } if facts.pull.is_none() => {
                Entry::PullOpened { number: Number(8), draftable: true }
            }
            _ => return self,
        };
        self.take(entry)
    }

    fn ended(&self, ending: Ending) -> Entry {
        let (request_no, round) = (self.state.facts.request_no, self.state.facts.round);
        let spent = Spent { tokens: 10, micros: 5 };
        let end = RoundEnd {
            request_no,
            round,
            ending,
            requests_taken: 0,
            notes_taken: 0,
            spent,
            tainted: false,
            replies: vec![],
            outside_request: self.outside.clone(),
            refused: Refusals::default(),
        };
        Entry::RoundEnded { end }
    }

    /// Works until CI is watched with a pull request open.
    fn publish(&mut self) -> &mut Self {
        for _ in 0..4 {
            self.work();
        }
        self
    }

    fn head(&self) -> u64 {
        self.next
    }

    fn story(&self) -> String {
        self.story.join(" → ")
    }
}

#[test]
fn the_main_job_in_two_rounds() {
    let mut t = Told::new();
    t.publish();
    t.take(red(t.head(), "boom"));
    t.publish();
    t.take(green(t.head()));
    assert_eq!(
        t.story(),
        "queued → working(1) → publishing → watching → queued → working(2) → publishing → watching → resting(green)"
    );
    let review = Effect::RequestReview { login: "alice".to_owned(), id: UserId(1) };
    assert_eq!(t.effects.iter().filter(|e| **e == review).count(), 1);
    assert_eq!(t.effects.iter().filter(|e| matches!(e, Effect::OpenPull { .. })).count(), 1);
}

#[test]
fn three_rounds_are_three_rounds() {
    let mut t = Told::new();
    for n in 0..3 {
        t.publish();
        t.take(red(t.head(), &format!("error {n}")));
    }
    assert!(t.story().ends_with("working(3) → publishing → watching → resting(not_green)"), "{}", t.story());
    t.take(ask("try the other way"));
    assert_eq!((t.state.facts.round, t.state.facts.request_no), (0, 2));
}

#[test]
fn the_same_tree_again_is_not_pushed() {
    let mut t = Told::new();
    t.publish();
    t.take(red(t.head(), "boom"));
    t.work();
    let same = Ending::Changed {
        commit: sha(99),
        tree: sha(t.next + 1000),
        summary: String::new(),
        description: None,
        flags: vec![],
        survey: Default::default(),
        handed: Default::default(),
        ask_first: false,
        takes_in: None,
        rewrites: false,
    };
    t.take(t.ended(same));
    assert!(t.story().ends_with("working(2) → resting(not_green)"), "{}", t.story());
    assert!(!t.effects.iter().any(|e| matches!(e, Effect::Push { commit, .. } if *commit == sha(99))));
}

#[test]
fn f46_a_verdict_about_an_old_head_is_history() {
    let mut t = Told::new();
    t.publish();
    let old = t.head();
    t.take(red(old, "boom"));
    t.publish();
    t.take(green(old));
    assert!(t.story().ends_with("watching"), "{}", t.story());
}

#[test]
fn f27_somebody_elses_commit_stands() {
    let mut t = Told::new();
    t.publish();
    t.take(red(t.head(), "boom"));
    t.work();
    t.take(Entry::HeadMoved { head: sha(77), whose: Whose::Foreign });
    assert!(t.story().ends_with("working(2) → resting(stood_down)"), "{}", t.story());
    // The round that was running ends later: it is history by then.
    t.take(t.ended(Ending::Nothing { summary: String::new() }));
    assert!(t.story().ends_with("resting(stood_down)"));
}

#[test]
fn a_stop_ends_each_phase_in_its_way() {
    let mut queued = Told::new();
    queued.take(stop());
    assert_eq!(queued.story(), "queued → done(stopped)");

    let mut working = Told::new();
    working.work().take(stop());
    assert_eq!(working.story(), "queued → working(1) → done(stopped)");

    let mut publishing = Told::new();
    publishing.work().work().take(stop()).work();
    assert_eq!(publishing.story(), "queued → working(1) → publishing → resting(stopped)");
    assert!(
        publishing.effects.iter().any(|e| matches!(e, Effect::OpenPull { .. })),
        "what is pushed gets its pull request"
    );

    let mut watching = Told::new();
    watching.publish().take(stop());
    assert!(watching.story().ends_with("watching → resting(stopped)"));
}

#[test]
fn what_is_asked_meanwhile_is_joined_told_or_kept() {
    let mut t = Told::new();
    t.take(ask("and the product"));
    assert_eq!(t.state.facts.request.instruction, "fix the sum\n\nand the product");
    t.work().work().take(ask("also the difference")).work();
    assert!(t.story().ends_with("publishing → queued"), "{}", t.story());
    assert_eq!(t.state.facts.request.instruction, "also the difference");
}

#[test]
fn a_red_that_turns_green_at_rest_needs_no_round() {
    let mut t = Told::new();
    t.limits.rounds = 1;
    t.publish();
    t.take(red(t.head(), "boom"));
    t.take(green(t.head()));
    assert!(t.story().ends_with("resting(not_green) → resting(green)"), "{}", t.story());
}

#[test]
fn the_same_failure_on_three_trees_stops_before_the_cap() {
    let mut t = Told::new();
    t.limits.rounds = 9;
    for _ in 0..3 {
        t.publish();
        t.take(red(t.head(), "boom"));
    }
    assert!(t.story().ends_with("working(3) → publishing → watching → resting(not_green)"), "{}", t.story());
    let mut other = Told::new();
    other.limits.rounds = 9;
    for signature in ["boom", "bang", "boom"] {
        other.publish();
        other.take(red(other.head(), signature));
    }
    assert!(other.story().ends_with("watching → queued"), "{}", other.story());
}

/// Neither the agent's word alone nor the base's red alone is enough.
#[test]
fn one_red_of_the_base_may_stay_when_the_agent_calls_it_outside() {
    let reds = |head: Sha, reds: &[(Kind, &str)]| {
        let failures =
            reds.iter().map(|(kind, signature)| Failure { kind: *kind, ..failure(signature) }).collect();
        Entry::Judged { head, verdict: Verdict::Red { failures, tally: (3, 4) } }
    };
    let outside = |failures: &[(Kind, &str)], why: Option<&str>| {
        let mut t = Told::new();
        t.publish();
        t.take(reds(sha(t.head()), failures));
        t.work();
        t.outside = why.map(str::to_owned);
        t
    };
    let nothing = |failures: &[(Kind, &str)], why: Option<&str>| {
        let mut t = outside(failures, why);
        t.take(t.ended(Ending::Nothing { summary: String::new() }));
        t
    };
    let (old, new) = ((Kind::Base, "boom"), (Kind::Change, "bang"));
    let mut excepted = nothing(&[old], Some("an old certificate"));
    assert!(excepted.story().ends_with("working(2) → resting(green)"), "{}", excepted.story());
    // The same red again is no news; another is.
    excepted.take(red(excepted.head(), "boom"));
    assert!(excepted.story().ends_with("resting(green)"));
    excepted.take(red(excepted.head(), "bang"));
    assert!(excepted.story().ends_with("resting(green) → queued"), "{}", excepted.story());
    for (failures, why) in [(&[old][..], None), (&[new][..], Some("why")), (&[old, new][..], Some("why"))] {
        assert!(nothing(failures, why).story().ends_with("resting(nothing_to_change)"), "{failures:?}");
    }
    // Said beside a change it counts once that red is the last one; no round is spent on it any more.
    let mut beside = outside(&[old, new], Some("an old certificate"));
    beside.work().work();
    beside.take(reds(sha(beside.head()), &[old]));
    assert!(beside.story().ends_with("publishing → watching → resting(green)"), "{}", beside.story());
    assert_eq!(beside.state.facts.exception.as_ref().map(|e| e.why.as_str()), Some("an old certificate"));
    // Of another failure of the base nothing was said.
    let mut other = outside(&[old, new], Some("an old certificate"));
    other.work().work();
    other.take(reds(sha(other.head()), &[(Kind::Base, "other")]));
    assert!(other.story().ends_with("watching → queued"), "{}", other.story());
}

#[test]
fn infrastructure_is_started_again_and_spends_no_round() {
    let mut t = Told::new();
    t.publish();
    let lost = |n| Entry::Judged {
        head: sha(n),
        verdict: Verdict::Infrastructure {
            failures: vec![failure("x")],
            why: "the runner was lost".to_owned(),
        },
    };
    t.take(lost(t.head()));
    assert!(t.story().ends_with("watching"));
    assert_eq!(t.effects.iter().filter(|e| matches!(e, Effect::Rerun { .. })).count(), 1);
    t.take(lost(t.head()));
    assert!(t.story().ends_with("resting(infrastructure)"), "{}", t.story());
    assert_eq!(t.state.facts.round, 1);
}

#[test]
fn the_pull_requests_end_is_the_sessions_end() {
    let mut merged = Told::new();
    merged.publish().take(Entry::PullClosed { merged: true });
    assert!(merged.effects.iter().any(|e| matches!(e, Effect::DeleteBranch { .. })));
    let mut closed = Told::new();
    closed.publish().take(Entry::PullClosed { merged: false });
    closed.take(Entry::PullReopened { head: sha(5) });
    assert!(closed.story().ends_with("done(closed) → resting(reopened)"), "{}", closed.story());
    let mut issue = Told::new();
    issue.work().take(Entry::IssueClosed);
    assert_eq!(issue.story(), "queued → working(1) → done(issue_closed)");
}

#[test]
fn a_persons_branch_is_mended_and_stays_theirs() {
    let mut t = Told::guest(Job::Fix, true);
    t.take(red(5, "boom")).work().work();
    assert!(matches!(t.effects.last(), Some(Effect::Push { expected: Some(head), .. }) if *head == sha(5)));
    t.work();
    t.take(green(t.head()));
    assert_eq!(t.story(), "watching → queued → working(1) → publishing → watching → resting(green)");
    let theirs = |e: &Effect| {
        matches!(e, Effect::OpenPull { .. } | Effect::RequestReview { .. } | Effect::DeleteBranch { .. })
    };
    t.take(red(t.head(), "boom"));
    assert!(t.story().ends_with("resting(green)"), "nobody asked for more");
    t.take(Entry::HeadMoved { head: sha(6), whose: Whose::Foreign });
    t.take(Entry::PullClosed { merged: true });
    assert!(t.story().ends_with("resting(stood_down) → done(merged)"), "{}", t.story());
    assert!(!t.effects.iter().any(theirs), "{:?}", t.effects);
}

#[test]
fn what_cannot_be_pushed_is_offered_as_a_patch() {
    let mut told_before = Told::guest(Job::Run, false);
    told_before.work().work();
    assert_eq!(told_before.story(), "queued → working(1) → resting(patch_offered)");
    let mut tried = Told::guest(Job::Run, true);
    if let Some(guest) = &mut tried.state.facts.guest {
        guest.fork = Some(Repo { id: RepoId(2), owner: "bob".to_owned(), name: "calendar".to_owned() });
    }
    tried
        .work()
        .work()
        .take(Entry::NotPushed { commit: None, why: NotPushed::Refused { reason: "403".to_owned() } });
    assert!(tried.story().ends_with("publishing → resting(patch_offered)"), "{}", tried.story());
    tried.take(ask("again")).work().work();
    assert!(tried.story().ends_with("working(1) → resting(patch_offered)"), "tried once: {}", tried.story());
}

#[test]
fn a_rule_says_nothing_where_nothing_was_to_be_done() {
    let mut t = Told::guest(Job::Fix, true);
    t.state.facts.request.automatic = true;
    t.effects.clear();
    t.take(green(5));
    assert!(t.story().ends_with("resting(green)") && t.effects.is_empty(), "{:?}", t.effects);
}

#[test]
fn a_plan_waits_and_is_carried_out_as_a_request_of_its_own() {
    let mut t = Told::on(Request { job: Job::Plan, ..request("", 1) }, None);
    t.work();
    t.take(t.ended(Ending::Planned { text: "1. Add.".to_owned() }));
    t.take(Entry::Asked { ask: Ask::Approve { by: alice(), at: None } }).work();
    assert_eq!(t.story(), "queued → working(1) → waiting → queued → working(1)");
    let facts = &t.state.facts;
    assert_eq!((facts.plan.as_deref(), &facts.request.job), (Some("1. Add."), &Job::Run));
}

#[test]
fn every_thread_of_a_review_is_answered_once() {
    let thread = |id| LineNote {
        id,
        path: "a".to_owned(),
        line: Some(1),
        side: "RIGHT".to_owned(),
        hunk: String::new(),
        body: "why".to_owned(),
        by: "rita".to_owned(),
    };
    let job = Job::Feedback { review: 4, threads: vec![thread(10), thread(11)] };
    let asked = Entry::Asked { ask: Ask::Run { request: Request { job, ..request("", 2) } } };
    let mut t = Told::new();
    t.publish();
    t.take(green(t.head())).take(asked).work();
    let Entry::RoundEnded { mut end } = t.ended(Ending::Nothing { summary: "No".to_owned() }) else {
        unreachable!()
    };
    end.replies = vec![(11, "Because.".to_owned())];
    t.take(Entry::RoundEnded { end });
    let replies: Vec<_> = t.effects.iter().filter(|e| matches!(e, Effect::Reply { .. })).collect();
    assert_eq!(replies.len(), 2);
    assert!(matches!(replies[1], Effect::Reply { to: 11, words: Some(_), commit: None, .. }));
}

#[test]
fn a_conflict_is_a_round_while_rounds_are_left_and_told_once() {
    let mut t = Told::new();
    t.limits.rounds = 2;
    t.publish();
    t.take(green(t.head()));
    t.take(Entry::Conflicted { base: sha(2) });
    t.work().work();
    assert!(t.story().ends_with("resting(green) → queued → working(2) → publishing"), "{}", t.story());
    t.work().take(Entry::Conflicted { base: sha(3) });
    assert!(t.story().ends_with("watching → resting(conflict)"), "{}", t.story());
    assert_eq!(
        step(&t.state, Entry::Conflicted { base: sha(3) }, t.state.facts.as_of, &t.limits)
            .ok()
            .map(|s| matches!(s, Step::Ignore(_))),
        Some(true)
    );
}

/// Rounds of ours that a database of an older day does not know.
fn found(first: u64, rounds: &[u32]) -> Entry {
    let one = |(n, round): (u64, &u32)| Found {
        round: *round,
        commit: sha(n),
        tree: sha(100 + n),
        summary: format!("Round {round}"),
    };
    let rounds = (first..).zip(rounds).map(one).collect();
    let (flags, survey) = (Vec::new(), Survey::default());
    Entry::Found { rounds, base: sha(1), start: sha(1), flags, survey }
}

#[test]
fn rounds_that_the_database_does_not_know_are_taken_up_and_count() {
    let opens = |t: &Told| t.effects.iter().filter(|e| matches!(e, Effect::OpenPull { .. })).count();
    // Before the first push, in the middle of its round.
    let mut t = Told::new();
    t.work().take(found(20, &[1, 2]));
    assert_eq!(t.story(), "queued → working(1) → watching");
    assert_eq!(t.state.facts.head, Some(sha(21)));
    assert_eq!((t.state.facts.round, t.state.facts.rounds.len(), opens(&t)), (2, 2, 1));
    t.take(red(21, "boom")).work();
    assert!(t.story().ends_with("watching → queued → working(3)"), "{}", t.story());
    // What is known already is nothing new; a request that is not known is one all the same.
    let mut t = Told::new();
    t.publish();
    t.take(green(t.head())).take(found(20, &[2, 1]));
    let facts = &t.state.facts;
    assert_eq!((facts.request_no, facts.round, facts.rounds.len(), opens(&t)), (2, 1, 1, 1));
    assert!(t.story().ends_with("resting(green) → watching"), "{}", t.story());
    let again = step(&t.state, found(20, &[2, 1]), t.state.facts.as_of, &t.limits);
    assert!(matches!(again, Ok(Step::Ignore(_))), "{again:?}");
}

fn anything() -> impl Strategy<Value = Entry> {
    let heads = 9..16u64;
    prop_oneof![
        Just(ask("more")),
        Just(stop()),
        Just(Entry::Asked { ask: Ask::Approve { by: alice(), at: None } }),
        Just(Entry::Asked { ask: Ask::Retry { request: request("", 3) } }),
        Just(Entry::Noted { by: alice(), text: "hm".to_owned(), comment: CommentId(4) }),
        heads.clone().prop_map(green),
        heads.clone().prop_map(|n| red(n, "boom")),
        heads.clone().prop_map(|n| Entry::HeadMoved { head: sha(n), whose: Whose::Foreign }),
        heads.clone().prop_map(|n| Entry::HeadMoved { head: sha(n), whose: Whose::CleanMerge }),
        (heads.clone(), 1..=2u32).prop_map(|(n, round)| found(n, &[round])),
        heads.prop_map(|n| Entry::PullReopened { head: sha(n) }),
        Just(Entry::PullClosed { merged: false }),
        Just(Entry::IssueClosed),
        Just(Entry::Asked {
            ask: Ask::Status { by: alice(), at: Spot { thread: Number(7), comment: CommentId(5) } }
        }),
        prop_oneof![Just(Job::Plan), Just(Job::Fix), Just(Job::Rebase), Just(Job::Review)]
            .prop_map(|job| Entry::Asked { ask: Ask::Run { request: Request { job, ..request("", 6) } } }),
        (1..9u64).prop_map(|n| Entry::Conflicted { base: sha(n) }),
        Just(Entry::Retargeted { base: "stable".to_owned() }),
        Just(Entry::MergeQueue { inside: true }),
        Just(Entry::Expired { deadline: Deadline::Person }),
        Just(Entry::Expired { deadline: Deadline::Silence }),
    ]
}

proptest! {
    /// Facts from outside come in any order, twice or late; our own entries come in order. Then nothing is ever illegal,
    /// no request has more rounds than the cap, and the status comment and the pull request are asked for at most once.
    #[test]
    fn holds_for_any_order(guest: bool, script in prop::collection::vec(prop_oneof![3 => Just(None), 2 => anything().prop_map(Some)], 0..60)) {
        let mut t = if guest { Told::guest(Job::Fix, true) } else { Told::new() };
        for entry in script {
            match entry {
                None => t.work(),
                Some(entry) => t.take(entry),
            };
            prop_assert!(t.state.facts.round <= t.limits.rounds);
        }
        let count = |wanted: fn(&Effect) -> bool| t.effects.iter().filter(|e| wanted(e)).count();
        prop_assert!(count(|e| matches!(e, Effect::PostStatus)) <= 1);
    }
}
