//! A server to which no port is open: killed while it reads the list of deliveries, it does what was asked once.

use super::{
    number,
    world::{Machine, Settings},
};
use crate::support::word;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

const REPO: &str = "acme/calendar";
/// Issues on which a question is asked.
const QUESTIONS: usize = 12;
/// Further issues on which a change is wanted, which takes two rounds.
const CHANGES: usize = 2;
/// Payloads that are read before each kill: it comes in the middle of the list.
const READ: [usize; 4] = [20, 120, 60, 120];
/// Longer than it takes on a machine that is busy with something else: a list is read every five seconds.
const LONGEST: Duration = Duration::from_secs(420);

/// Issues on which people talk; `scripts/long/storm.sh` has more of them.
fn issues() -> usize {
    number("FIXPOINT_ISSUES").map_or(40, |issues| usize::try_from(issues).unwrap())
}

fn expected() -> (BTreeMap<String, usize>, BTreeMap<usize, usize>) {
    let words = BTreeMap::from([
        ("done(nothing_to_change)".to_owned(), QUESTIONS),
        ("resting(green)".to_owned(), CHANGES),
    ]);
    let asked = QUESTIONS + CHANGES;
    (words, BTreeMap::from([(0, issues() - asked), (1, asked)]))
}

#[tokio::test(flavor = "multi_thread")]
async fn f9_f53_a_storm_read_from_the_list_and_killed_in_the_middle_does_what_was_asked_once() {
    let begun = Instant::now();
    let settings = Settings { pull: true, ..Settings::USUAL };
    let mut machine = Machine::start_with(settings, |_| Duration::from_millis(300)).await;
    let mut issues = Vec::new();
    for number in 0..self::issues() {
        let title = format!("The sum is wrong in case {number}");
        let issue = json!({ "repo": REPO, "login": "alice", "title": title, "body": "It is." });
        issues.push(machine.ask("open_issue", issue).await);
    }
    for (turn, read) in READ.into_iter().enumerate() {
        // It comes no further than this in the list, however long everybody talks.
        let before = payloads_read(&machine);
        let fault = json!({
            "method": "GET", "path": "/app/hook/deliveries/*", "skip": read, "times": 1, "trouble": "hold",
        });
        machine.ask("fault", fault).await;
        everybody_talks(&machine, &issues, turn).await;
        machine.until("the list is read", async || payloads_read(&machine) >= before + read).await;
        machine.kill().await;
        machine.ask("clear_faults", json!({})).await;
        machine.serve().await;
    }
    let done = async || outcome(&machine, &issues).await == expected();
    machine.within(LONGEST, "what was asked is done", done).await;
    // Two more asks of the list, which has nothing new.
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(outcome(&machine, &issues).await, expected(), "it went on");
    let deliveries = machine.ask("deliveries", json!({})).await.as_array().unwrap().clone();
    let kills = u32::try_from(READ.len()).unwrap();
    println!("{} deliveries, {kills} kills, {:?}", deliveries.len(), begun.elapsed());
    // Each issue was opened, and four times in each turn something was said there.
    let said = issues.len() * (1 + 4 * READ.len());
    assert!(deliveries.len() >= said, "only {} deliveries", deliveries.len());
    assert!(deliveries.iter().all(|delivery| delivery["status_code"] == 0), "something was sent");
    // GitHub takes so many writes a minute: how it all ended may be told in the next one.
    let ended = Instant::now();
    while !machine.findings(kills).is_empty() && ended.elapsed() < LONGEST {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(machine.findings(kills), "");
    // The sweep is made every minute.
    machine.until("no sandbox is left", async || machine.sandboxes() == 0).await;
}

/// In each turn some ask for something; the rest of it none may be done: a stranger's command, one that came by an edit, one
/// inside a quote.
async fn everybody_talks(machine: &Machine, issues: &[Value], turn: usize) {
    let say = async |issue: &Value, login: &str, body: &str| {
        let comment = json!({ "repo": REPO, "number": issue, "login": login, "body": body });
        machine.ask("comment", comment).await
    };
    for issue in issues {
        say(issue, "mallory", "/code do as I say").await;
        let talk = say(issue, "alice", "looks odd").await;
        let edit = json!({ "repo": REPO, "id": talk, "login": "alice", "body": "/code status" });
        machine.ask("edit_comment", edit).await;
        say(issue, "alice", "> /code status\n\nwhy?").await;
    }
    for (at, issue) in issues[..QUESTIONS + CHANGES].iter().enumerate().skip(turn).step_by(READ.len()) {
        let wish = if at < CHANGES { "/code fix the sum" } else { "/code status" };
        say(issue, "alice", wish).await;
    }
}

/// How many payloads were asked for, as the emulator's log tells.
fn payloads_read(machine: &Machine) -> usize {
    // The last line may be there in part.
    let log = std::fs::read(machine.file("log")).unwrap();
    String::from_utf8_lossy(&log).matches(r#""path":"/app/hook/deliveries/"#).count()
}

/// How the sessions stand, and on how many issues we spoke how often.
async fn outcome(machine: &Machine, issues: &[Value]) -> (BTreeMap<String, usize>, BTreeMap<usize, usize>) {
    let mut words = BTreeMap::new();
    for session in machine.store().await.sessions(10_000).await.unwrap_or_default() {
        *words.entry(word(&session.state)).or_default() += 1;
    }
    let mut answers = BTreeMap::new();
    for issue in issues {
        *answers.entry(machine.answers(issue.as_u64().unwrap()).await).or_default() += 1;
    }
    (words, answers)
}
