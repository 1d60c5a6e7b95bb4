//! Every face, looked at.

use super::*;
use insta::assert_snapshot;

/// What stands above the fold.
fn above(state: &State) -> String {
    let limits = Limits::default();
    let text = status(state, &context(&limits));
    text.split("<details>").next().unwrap().trim().to_owned()
}

/// Several faces in one picture.
fn faces(states: impl IntoIterator<Item = State>) -> String {
    states.into_iter().map(|state| above(&state)).collect::<Vec<_>>().join("\n\n----\n\n")
}

fn resting(outcome: Outcome) -> State {
    state(Phase::Resting { outcome })
}

/// Before there is a pull request.
fn early(state: State) -> State {
    with(state, |facts| {
        (facts.pull, facts.head, facts.tally, facts.summary) = (None, None, None, None);
        (facts.round, facts.cause) = (1, Cause::Asked);
        facts.rounds.clear();
    })
}

fn waiting(question: Question) -> State {
    state(Phase::Waiting { question, since: Timestamp(0) })
}

fn weaker() -> Vec<Flag> {
    vec![
        Flag::WeakerTests { path: "tests/pager.rs".into(), what: "a test is skipped: `#[ignore]`".into() },
        Flag::RunByCi { path: "build.rs".into() },
    ]
}

#[test]
fn while_it_works() {
    let watching = || state(Phase::Watching { since: Timestamp(0) });
    assert_snapshot!(faces([
        with(early(state(Phase::Queued)), |facts| facts.round = 0),
        early(state(Phase::Working)),
        with(state(Phase::Working), |facts| facts.failures = vec![red()]),
        with(state(Phase::Working), |facts| facts.stopping = true),
        state(Phase::Publishing { commit: sha('a'), tree: sha('b') }),
        watching(),
        with(watching(), |facts| facts.remark = Some(awaiting_approval(3, Some(Number(482)), Some("https://github.com/acme/pager/pull/482/checks")))),
        with(watching(), |facts| facts.remark = Some(rerun("test (macos)", 1, 2))),
        with(watching(), |facts| facts.pull = Some(Pull { number: Number(482), draftable: false })),
        with(state(Phase::Queued), |facts| facts.in_merge_queue = true),
        with(state(Phase::Queued), |facts| {
            facts.cause = Cause::Conflict;
            facts.kept = vec![facts.request.clone()];
            facts.notes = vec!["a".into(), "b".into()];
        }),
    ]), @"
**Queued: #481 has a place and waits for its turn.** It goes on by itself.
Asked: `an empty list has one empty page`
As of 14:06 UTC.
`/code stop` ends it; a comment here tells it more.

----

**Working on #481: round 1 of 3.**
Asked: `an empty list has one empty page`
As of 14:06 UTC.
`/code stop` ends it; a comment here tells it more.

----

**Working on #482: round 2 of 3.**
For: `test (windows)` failed: `assertion 'left == right' failed: path separator at tests/pager.rs:41`.
As of 14:06 UTC.
`/code stop` ends it; a comment here tells it more.

----

**Stopping the work on #482, as asked.**
For: red CI.
As of 14:06 UTC.

----

**Pushing `aaaaaaa` for #482: round 2 of 3 is done.**
As of 14:06 UTC.

----

**Draft #482 is up; CI is running.** `alice` will be asked for review when it is green.
Round 2 of 3: 3 of 9 checks green on `4444444`. As of 14:06 UTC.
Round 1: `test (windows)` failed: path separator.
`/code stop` ends it; a comment here tells it more.

----

**Waiting for a maintainer: 3 workflows of #482 need an approval to run.** [Approve the workflows of #482](https://github.com/acme/pager/pull/482/checks). It goes on by itself.
Round 2 of 3: 3 of 9 checks green on `4444444`. As of 14:06 UTC.
Round 1: `test (windows)` failed: path separator.
`/code stop` ends it; a comment here tells it more.

----

**`test (macos)` failed outside the code; its failed jobs were started again, 1 of 2.** Nothing was changed.
Round 2 of 3: 3 of 9 checks green on `4444444`. As of 14:06 UTC.
Round 1: `test (windows)` failed: path separator.
`/code stop` ends it; a comment here tells it more.

----

**#482 is up; CI is running.** `alice` will be asked for review when it is green.
Round 2 of 3: 3 of 9 checks green on `4444444`. As of 14:06 UTC.
Round 1: `test (windows)` failed: path separator.
It is not ready: drafts are not offered here.
`/code stop` ends it; a comment here tells it more.

----

**Waiting: #482 is in the merge queue, and nothing is pushed meanwhile.** It goes on by itself.
For: red CI.
As of 14:06 UTC.
`/code stop` ends it; a comment here tells it more.

----

**#482 is queued for another round, after round 2 of 3.** It goes on by itself.
For: `main` no longer merges cleanly.
As of 14:06 UTC.
`/code stop` ends it; a comment here tells it more.
Kept after this: 1 request; for the next round: 2 comments.
");
}

#[test]
fn when_a_person_is_asked() {
    assert_snapshot!(faces([
        early(waiting(Question::Agent { text: "Should an empty list have one page or none, @bob?\n\n/code approve".into() })),
        early(waiting(Question::Plan { text: "1. Count pages from one.\n2. Add a test.".into() })),
        with(waiting(Question::Publish { commit: sha('a'), tree: sha('b') }), |facts| facts.tainted = true),
    ]), @"
**Needs you: the agent has a question about #481.**
Answer with `/code <your answer>`, or `/code stop`. It waits 7 days for an answer.

> Should an empty list have one page or none, `@bob`?
> 
> `/code` approve

----

**Needs you: a plan for #481 waits for your yes.**
`/code approve` carries it out; `/code plan <what else>` or `/code stop`. It waits 7 days for an answer.

> 1. Count pages from one.
> 2. Add a test.

----

**Needs you: the change for #481 is done, but not pushed yet.**
Seen: text by people without write access reached the model, and what is pushed runs in CI.
The agent says: Give an empty list one page. The pager subtracted one from zero.
`/code approve` pushes `aaaaaaa`; `/code stop` drops it. It waits 7 days for an answer.
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
");
}

#[test]
fn f56_one_answer_for_every_outcome_that_is_good() {
    let green = || with(resting(Outcome::Green), |facts| facts.tally = Some((9, 9)));
    assert_snapshot!(faces([
        green(),
        with(green(), |facts| (facts.tally, facts.failures) = (Some((8, 9)), vec![red()])),
        with(resting(Outcome::NeedsPerson), |facts| (facts.tally, facts.flags) = (Some((9, 9)), weaker())),
        with(resting(Outcome::NoCi), |facts| facts.tally = None),
        early(state(Phase::Done { outcome: Outcome::NothingToChange { why: "The list is checked already.".into() } })),
        state(Phase::Done { outcome: Outcome::Merged }),
    ]), @"
**#482 is ready for review: Give an empty list one page.**
9 of 9 checks green on `4444444`.

----

**#482 is ready for review: Give an empty list one page.**
8 of 9 checks green on `4444444`; red: `test (windows)`.

----

**Needs you: #482 is green, but it makes tests weaker.**
9 of 9 checks green on `4444444`.
Seen: `tests/pager.rs`: a test is skipped: `#[ignore]`.
Seen: CI runs `build.rs`, which changed.
It stays a draft: `/code approve` if that is right, or write `/code <text>` with what should be different.

----

**#482 is ready for review, but no check ran on it.**
Seen: this repository ran no check on `4444444`; nothing but the agent tried the change.
The agent says: Give an empty list one page. The pager subtracted one from zero.

----

**Nothing was changed for #481: the agent found nothing to do.**
Tell it more with `/code <text>`.

The agent says:

> The list is checked already.

----

**#482 is merged; the work on it is over.**
");
}

#[test]
fn f56_one_answer_for_every_outcome_that_needs_somebody() {
    let why = |text: &str| text.to_owned();
    assert_snapshot!(faces([
        with(resting(Outcome::NotGreen { why: why("round 3 rebuilt round 1's tree") }), |facts| (facts.round, facts.failures) = (3, vec![red()])),
        resting(Outcome::NotStarted { why: why("zero steps and no log; an owner of the organisation can see why under Billing") }),
        with(resting(Outcome::NotStarted { why: why("zero steps and no log; see Billing") }), |facts| facts.public = true),
        with(resting(Outcome::Infrastructure { why: why("`test (macos)` lost its runner") }), |facts| facts.reruns = vec!["test (macos)".into()]),
        resting(Outcome::ChecksCancelled),
        resting(Outcome::TimedOut),
        resting(Outcome::Limit { which: why("200 steps") }),
        resting(Outcome::Budget { which: why("$5.00 a request") }),
        with(resting(Outcome::Budget { which: why("$5.00 a request") }), |facts| facts.public = true),
        early(state(Phase::Done { outcome: Outcome::Refused { why: why("The change touches `.github/workflows/ci.yml`.") } })),
        resting(Outcome::EngineFailed { why: why("api.example.com refused the key (401)") }),
        with(resting(Outcome::EngineFailed { why: why("api.example.com refused the key (401)") }), |facts| facts.public = true),
    ]), @"
**Needs you: #482 is not green after 3 rounds.**
Seen: `test (windows)` failed: `assertion 'left == right' failed: path separator at tests/pager.rs:41`.
It stopped there: round 3 rebuilt round 1's tree.
The agent says: Give an empty list one page. The pager subtracted one from zero.
`/code retry`, or `/code <text>` to tell it more. The branch stays.

----

**No round spent: CI did not start for `4444444`; somebody has to look why.**
Seen: zero steps and no log; an owner of the organisation can see why under Billing.
#482 stays a draft. When CI runs there it goes on by itself; else `/code retry`.

----

**No round spent: CI did not start for `4444444`; somebody has to look why.**
Seen: GitHub started no job; an owner of the repository can see why in its settings.
#482 stays a draft. When CI runs there it goes on by itself; else `/code retry`.

----

**Needs you: #482 is red for a reason outside its code; no round was spent.**
Seen: `test (macos)` lost its runner.
Its failed jobs were started again, 1 of 2.
Start the jobs again when that is mended; when they are green #482 is made ready.

----

**Needs you: somebody cancelled the checks of #482; no round was spent.**
3 of 9 checks green on `4444444`.
Start them again and it goes on from there, or write `/code retry`.

----

**Needs you: checks of #482 did not finish within 3 h.**
3 of 9 checks green on `4444444`.
#482 stays a draft. When they end green it is made ready; else `/code retry`.

----

**Needs you: round 2 of 3 reached a limit before the change was done.**
Seen: 200 steps.
The agent says: Give an empty list one page. The pager subtracted one from zero.
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
`/code retry`, or a smaller task with `/code <text>`.

----

**Needs you: a budget is used up, so the work on #482 stopped.**
Seen: $5.00 a request.
Whoever runs fixpoint can raise it; a budget of a day is free again tomorrow (UTC).
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
Then `/code retry`.

----

**Needs you: a budget is used up, so the work on #482 stopped.**
Whoever runs fixpoint can raise it; a budget of a day is free again tomorrow (UTC).
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
Then `/code retry`.

----

**Not pushed: the change for #481 was refused.**
Seen: The change touches `.github/workflows/ci.yml`.
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
When that is settled, `/code retry`; or tell it another way with `/code <text>`.

----

**Needs the operator: the agent could not work on #482.**
Seen: api.example.com refused the key (401).
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
`/code retry` when it is mended.

----

**Needs the operator: the agent could not work on #482.**
Whoever runs fixpoint finds the reason in the log of session `97f3c20a1b2c`.
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
`/code retry` when it is mended.
");
}

#[test]
fn f56_one_answer_for_every_outcome_that_ends_it() {
    assert_snapshot!(faces([
        resting(Outcome::Stopped),
        resting(Outcome::StoodDown { head: sha('c') }),
        resting(Outcome::NoAnswer),
        state(Phase::Done { outcome: Outcome::Closed }),
        early(state(Phase::Done { outcome: Outcome::IssueClosed })),
        state(Phase::Done { outcome: Outcome::NoAccess }),
    ]), @"
**Stopped, as asked: nothing more is pushed for #482.**
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
`/code retry` starts it again.

----

**The push of `ccccccc` stands: it is not fixpoint's, so fixpoint stopped there.**
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
`/code <text>` goes on from `ccccccc`.

----

**Ended: nobody answered the question about #482 within 7 days.**
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
`/code retry` starts it again.

----

**#482 was closed, so the work on it is over.**
The change is kept: `fixpoint session patch 97f3c20a1b2c`.
Open it again, or write `/code <text>`.

----

**#481 was closed, so the work on it is over.**

----

**fixpoint can no longer reach `acme/pager`; the work on it is over.**
");
}

#[test]
fn the_whole_comment_at_the_cap() {
    let limits = Limits::default();
    let state = with(resting(Outcome::NotGreen { why: "the cap of rounds is reached".into() }), |facts| {
        facts.failures = vec![red()];
        facts.rounds[1].result = "`test (windows)` failed: the same error".into();
    });
    let context = Context {
        patch: Some("--- a/src/pager.rs\n+++ b/src/pager.rs\n+// ``` @alice\n"),
        ..context(&limits)
    };
    assert_snapshot!(status(&state, &context), @"
**Needs you: #482 is not green after 2 rounds.**
Seen: `test (windows)` failed: `assertion 'left == right' failed: path separator at tests/pager.rs:41`.
It stopped there: the cap of rounds is reached.
The agent says: Give an empty list one page. The pager subtracted one from zero.
`/code retry`, or `/code <text>` to tell it more. The branch stays.

<details><summary>Rounds and cost</summary>

1. asked → `9999999`: `test (windows)` failed: path separator
2. red CI → `4444444`: `test (windows)` failed: the same error

Used: 212k tokens, $0.61 of $5.00.

</details>
<details><summary>What CI said on 4444444</summary>

`test (windows)` failed: `assertion 'left == right' failed: path separator at tests/pager.rs:41` ([log](https://github.com/acme/pager/actions/runs/7/job/9))

```text
thread 'pages' panicked at tests/pager.rs:41:5:
assertion failed
```

</details>
<details><summary>The patch</summary>

````diff
--- a/src/pager.rs
+++ b/src/pager.rs
+// ``` @alice
````

</details>
");
}

#[test]
fn the_pull_request() {
    let limits = Limits::default();
    let draft = with(state(Phase::Watching { since: Timestamp(0) }), |facts| facts.flags = weaker());
    let (title, body) = pull(&draft, &context(&limits));
    assert_snapshot!(format!("{title}\n\n{body}"), @"
Give an empty list one page

For #481

**What and why**, in the agent's words:

> Give an empty list one page.
> 
> The pager subtracted one from zero.

**Look here first:** `tests/pager.rs`: a test is skipped: `#[ignore]`; CI runs `build.rs`, which changed

| | |
|---|---|
| asked by | `alice` in #481 |
| checks | 3 of 9 checks green on `4444444` |
| flagged | `tests/pager.rs`: a test is skipped: `#[ignore]`<br>CI runs `build.rs`, which changed |
| sandbox | docker, no network; nothing was refused |
| engine | native, claude-sonnet-4-5 at api.example.com |
| session | `97f3c20a1b2c`, round 2 of 3 |

Try it: `gh pr checkout 482`
");
    let files = [crate::domain::policy::FileDiff {
        path: "src/pager.rs".into(),
        old_path: None,
        old_mode: Some(0o100_644),
        new_mode: Some(0o100_644),
        old: Some(b"a\nb\nc\n".to_vec()),
        new: Some(b"a\nB\nC\n".to_vec()),
    }];
    let survey = crate::domain::policy::survey(&files);
    let public = with(resting(Outcome::Green), |facts| facts.public = true);
    let (_, body) = pull(&public, &Context { survey: Some(&survey), ..context(&limits) });
    assert_snapshot!(body, @"
Fixes #481

**What and why**, in the agent's words:

> Give an empty list one page.
> 
> The pager subtracted one from zero.

**Look here first:** `src/pager.rs:2-3`; no test file touched

| | |
|---|---|
| asked by | `alice` in #481 |
| checks | 3 of 9 checks green on `4444444` |
| sandbox | docker, no network; nothing was refused |
| engine | native, claude-sonnet-4-5 |
| session | `97f3c20a1b2c`, round 2 of 3 |

Try it: `gh pr checkout 482`
");
}

#[test]
fn the_check_run() {
    let limits = Limits::default();
    let (title, summary) =
        check(&with(resting(Outcome::TimedOut), |facts| facts.failures = vec![red()]), &context(&limits));
    assert_snapshot!(format!("{title}\n\n{summary}"), @"
Needs you: checks of #482 did not finish within 3 h.

Needs you: checks of #482 did not finish within 3 h.

3 of 9 checks green on `4444444`; red: `test (windows)`.

#482 stays a draft. When they end green it is made ready; else `/code retry`.

#### Rounds and cost

1. asked → `9999999`: `test (windows)` failed: path separator
2. red CI → `4444444`: CI is running

Used: 212k tokens, $0.61 of $5.00.


#### What CI said on 4444444

`test (windows)` failed: `assertion 'left == right' failed: path separator at tests/pager.rs:41` ([log](https://github.com/acme/pager/actions/runs/7/job/9))

```text
thread 'pages' panicked at tests/pager.rs:41:5:
assertion failed
```
");
}

#[test]
fn the_messages() {
    let limits = Limits::default();
    let url = "https://github.com/acme/pager/issues/481#issuecomment-1";
    let say = |kind: &Message, state: &State| message(kind, state, "alice", url, &context(&limits));
    let all = [
        say(
            &Message::Answer,
            &with(resting(Outcome::NotGreen { why: String::new() }), |facts| facts.round = 3),
        ),
        say(
            &Message::Answer,
            &early(state(Phase::Done { outcome: Outcome::Refused { why: String::new() } })),
        ),
        say(&Message::Question, &early(waiting(Question::Agent { text: "One page or none?".into() }))),
        say(
            &Message::CannotFollow { text: "`/code aprove` is not a command; `/code approve` is.".into() },
            &resting(Outcome::Green),
        ),
    ];
    assert_snapshot!(all.join("\n\n----\n\n"), @"
Needs you: #482 is not green after 3 rounds.
`/code retry`, or `/code <text>` to tell it more. The branch stays.

@alice: [All of it](https://github.com/acme/pager/issues/481#issuecomment-1)

----

Not pushed: the change for #481 was refused.
When that is settled, `/code retry`; or tell it another way with `/code <text>`.

@alice: [All of it](https://github.com/acme/pager/issues/481#issuecomment-1)

----

Needs you: the agent has a question about #481.
It asks: One page or none?
Answer with `/code <your answer>`, or `/code stop`. It waits 7 days for an answer.

@alice: [All of it](https://github.com/acme/pager/issues/481#issuecomment-1)

----

`/code aprove` is not a command; `/code approve` is.

@alice: [All of it](https://github.com/acme/pager/issues/481#issuecomment-1)
");
}

#[test]
fn the_commit_and_the_branch() {
    let limits = Limits::default();
    let summary = "Give an empty list one page, fixes #481 [skip ci]\n\nThe pager subtracted one, says @bob.\nSigned-off-by: Bob <bob@example.org>\n";
    assert_snapshot!(commit(&state(Phase::Working), summary, &context(&limits)), @"
Give an empty list one page, fixes issue #481 (skip ci)

The pager subtracted one, says `@bob`.

For #481

Requested-by: alice
Assisted-by: native, claude-sonnet-4-5
Fixpoint-Session: 97f3c20a1b2c
Fixpoint-Round: 2
");
    assert_eq!(branch(Number(1), "February has 29 days"), "fixpoint/1-february-has-29-days");
    assert_eq!(branch(Number(7), "日本語"), "fixpoint/7-change");
}
