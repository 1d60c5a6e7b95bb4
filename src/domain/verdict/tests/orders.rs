//! Facts in any order, twice or split over many looks: always the same verdict, and never a step back.

use super::{Checks, after, at, job, read, say, with};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The looks of one story in the order in which GitHub would have told it: a red run, run again until green.
fn story() -> Vec<Value> {
    let suite = |status: &str, conclusion: Value, at_: i64| {
        json!({"check_suites": [{"id": 1, "app": super::actions(), "status": status, "conclusion": conclusion,
                                 "created_at": at(1), "updated_at": at(at_)}]})
    };
    let workflow = |attempt: u64, status: &str, conclusion: Value, at_: i64| {
        json!({"workflow_runs": [{"id": 77, "name": "CI", "path": "ci.yml", "run_attempt": attempt, "check_suite_id": 1,
                                  "status": status, "conclusion": conclusion, "created_at": at(1), "updated_at": at(at_)}]})
    };
    let run = |one: Value| json!({"check_runs": [one]});
    let status = |id: u64, state: &str, at_: i64| json!({"statuses": [{"id": id, "context": "cla", "state": state, "created_at": at(at_), "updated_at": at(at_)}]});
    vec![
        suite("queued", Value::Null, 1),
        workflow(1, "queued", Value::Null, 1),
        status(1, "pending", 2),
        run(with(job(10, "test", ""), "/status", json!("queued"))),
        run(job(10, "test", "")),
        status(2, "success", 8),
        // Within the same second, as such things happen.
        suite("in_progress", Value::Null, 9),
        workflow(1, "in_progress", Value::Null, 9),
        run(job(10, "test", "failure")),
        workflow(1, "completed", json!("failure"), 60),
        suite("completed", json!("failure"), 60),
        // Somebody has the failed job run again: the same suite and workflow run, a new check run.
        suite("queued", Value::Null, 100),
        workflow(2, "queued", Value::Null, 100),
        run(with(job(20, "test", ""), "/started_at", json!(at(101)))),
        run(with(job(20, "test", "success"), "/completed_at", json!(at(200)))),
        workflow(2, "completed", json!("success"), 200),
        suite("completed", json!("success"), 200),
    ]
}

fn told(looks: &[Value], order: &[usize]) -> Checks {
    let mut all = Checks::default();
    for look in order {
        all.merge(read(&looks[*look]));
    }
    all
}

fn verdict(checks: &Checks) -> String {
    say(after(600).judge_read(checks))
}

#[test]
fn the_story_in_its_own_order_ends_green() {
    let looks = story();
    let order: Vec<usize> = (0..looks.len()).collect();
    assert_eq!(verdict(&told(&looks, &order)), "green 2/2");
    // Up to its first end it is red.
    assert_eq!(verdict(&told(&looks, &order[..11])), "red: test");
}

#[test]
fn every_order_of_a_short_story_gives_one_verdict() {
    let looks = &story()[5..11];
    let mut orders = Vec::new();
    permutations(&mut (0..looks.len()).collect(), 0, &mut orders);
    assert_eq!(orders.len(), 720);
    let expected = told(looks, &orders[0]);
    for order in orders {
        assert_eq!(told(looks, &order), expected, "{order:?}");
    }
    assert_eq!(verdict(&expected), "red: test");
}

fn permutations(order: &mut Vec<usize>, from: usize, all: &mut Vec<Vec<usize>>) {
    if from == order.len() {
        all.push(order.clone());
    }
    for other in from..order.len() {
        order.swap(from, other);
        permutations(order, from + 1, all);
        order.swap(from, other);
    }
}

proptest! {
    #[test]
    fn any_order_with_any_repeats_gives_one_verdict(
        order in Just((0..story().len()).collect::<Vec<_>>()).prop_shuffle(),
        again in proptest::collection::vec(0..story().len(), 0..20),
    ) {
        let looks = story();
        let whole: Vec<usize> = (0..looks.len()).collect();
        let expected = told(&looks, &whole);
        let with_repeats = [order, again].concat();
        prop_assert_eq!(&told(&looks, &with_repeats), &expected);
        prop_assert_eq!(verdict(&expected), "green 2/2");
    }

    #[test]
    fn an_older_look_changes_nothing(cut in 0..story().len()) {
        let looks = story();
        let whole: Vec<usize> = (0..looks.len()).collect();
        let mut all = told(&looks, &whole);
        all.merge(told(&looks, &whole[..cut]));
        prop_assert_eq!(all, told(&looks, &whole));
    }

    #[test]
    fn the_order_of_a_list_decides_nothing(
        ids in proptest::collection::vec((0u64..4, 0usize..3, 0usize..8), 1..8),
        seed in any::<prop::sample::Index>(),
    ) {
        let conclusions = ["", "success", "failure", "cancelled", "skipped", "action_required", "startup_failure", "odd"];
        let list: Vec<Value> = ids.iter().map(|(id, name, end)| job(*id, ["a", "b", "c"][*name], conclusions[*end])).collect();
        let mut turned = list.clone();
        turned.rotate_left(seed.index(list.len()));
        turned.reverse();
        prop_assert_eq!(after(600).judge(&super::jobs(&list)), after(600).judge(&super::jobs(&turned)));
    }
}
