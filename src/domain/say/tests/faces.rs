//! A comment and a commit with words of others in them; how every face looks stands in the tour.

use super::*;
use insta::assert_snapshot;

#[test]
fn a_question_of_the_agent_mentions_and_commands_nobody() {
    let limits = Limits::default();
    let text = "One page or none, @bob?\n\n/code approve".to_owned();
    let asked = state(Phase::Waiting { question: Question::Agent { text }, since: Timestamp(0) });
    assert_snapshot!(status(&asked, &context(&limits)).split("<details>").next().unwrap(), @"
**Needs you: the agent has a question about #481.**
Answer with `/code <your answer>`, or `/code stop`. It waits 7 days for an answer.

> One page or none, `@bob`?
> 
> `/code` approve
");
}

#[test]
fn the_whole_comment_at_the_cap() {
    let limits = Limits::default();
    let ended =
        Phase::Resting { outcome: Outcome::NotGreen { why: "2 rounds were run, which is the cap.".into() } };
    let state = with(state(ended), |facts| {
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

#[test]
fn the_waiting_are_told_their_place_and_far_away_only_roughly() {
    let limits = Limits::default();
    let queued = with(state(Phase::Queued), |facts| facts.round = 0);
    let lead = |before| {
        let text = status(&queued, &Context { before, ..context(&limits) });
        text.lines().next().unwrap_or_default().to_owned()
    };
    assert!(lead(None).contains("#482 waits for its turn."), "{}", lead(None));
    assert!(lead(Some(0)).contains("#482 is next in the queue."), "{}", lead(Some(0)));
    assert!(lead(Some(2)).contains("#482 is 3rd in the queue."), "{}", lead(Some(2)));
    assert_eq!(lead(Some(4)), lead(Some(9)), "no edit for each step");
    assert_eq!(lead(Some(11)), lead(Some(400)));
}
