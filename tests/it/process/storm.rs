//! A thousand deliveries, doubled, out of order, echoed and a third of them lost, against four servers over one
//! PostgreSQL, while one dies, one stands still for longer than its lease and PostgreSQL goes away for a while.
//!
//! Whatever happens, each thing that was asked is done once. `scripts/long/storm.sh` runs it.

use super::{
    sender::signature,
    world::{Machine, Server},
};
use crate::support::{postgres, word};
use fixpoint::store::Store;
use futures::{StreamExt as _, stream};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    cell::Cell,
    collections::BTreeMap,
    time::{Duration, Instant},
};

const REPO: &str = "acme/calendar";
const NAMES: [&str; 4] = ["first", "second", "third", "fourth"];
const ISSUES: usize = 40;
/// Times that everybody talks on each.
const TURNS: usize = 3;
/// Issues on which a question is asked.
const QUESTIONS: usize = 18;
/// Further issues on which a change is wanted, which takes two rounds.
const CHANGES: usize = 4;
/// A lease lasts a minute; what its holder begins when it wakes up must find that it is another's.
const FROZEN: Duration = Duration::from_secs(75);
/// Seconds without PostgreSQL.
const OUTAGE: u32 = 4;
/// After this long nothing that a dead server left is there any more, and what stands is read back.
const SWEPT: Duration = Duration::from_secs(100);
/// Two leases run out one after the other, and GitHub takes sixty writes a minute.
const LONGEST: Duration = Duration::from_secs(420);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: scripts/long/storm.sh"]
async fn f9_f57_a_storm_on_four_servers_does_what_was_asked_once() {
    let Some(cluster) = postgres::own() else { return };
    let database = cluster.database().await;
    let (storm, begun) = (Storm::start(&database).await, Instant::now());
    let mut servers = BTreeMap::new();
    for name in NAMES {
        servers.insert(name, storm.machine.start_server(name).await);
    }
    let issues = storm.everybody_asks(&servers["first"]).await;
    storm.everybody_talks(&issues, 0).await;

    let dead = storm.at_work(&servers).await;
    servers.remove(dead).unwrap().process.kill().await.unwrap();
    println!("{:?}: {dead} was killed", begun.elapsed());
    storm.deliver_to_another(&servers, dead).await;
    storm.everybody_talks(&issues, 1).await;

    let frozen = storm.at_work(&servers).await;
    let since = Instant::now();
    servers[frozen].signal(Signal::STOP);
    println!("{:?}: {frozen} stands still", begun.elapsed());
    let urls = storm.deliver_to_another(&servers, frozen).await;
    storm.everybody_talks(&issues, 2).await;

    let _cluster = tokio::task::spawn_blocking(move || cluster.restarted(OUTAGE)).await.unwrap();
    println!("{:?}: PostgreSQL is back", begun.elapsed());
    let posted = storm.again(&urls).await;
    tokio::time::sleep(FROZEN.saturating_sub(since.elapsed())).await;
    servers[frozen].signal(Signal::CONT);
    println!("{:?}: {frozen} goes on", begun.elapsed());

    storm.comes_to_exactly_what_was_asked(&issues).await;
    println!("{:?}: all is done", begun.elapsed());
    tokio::time::sleep(SWEPT).await;
    let all = storm.deliveries().await.len() + posted;
    println!("{all} deliveries, {:?}", begun.elapsed());
    assert!(all >= 1000, "only {all} deliveries");
    assert_eq!(storm.outcome(&issues).await, expected(), "it went on");
    // Each of the four sessions may have been interrupted by the one that died and by the one that stood still.
    assert_eq!(storm.machine.findings(2), "");
    assert!(servers.keys().all(|name| storm.machine.sandboxes_of(name) == 0), "sandboxes are left");
}

struct Storm {
    machine: Machine,
    store: Store,
}

/// How the sessions stand, pull requests with how many are ready, branches, and on how many issues we spoke how often.
type Outcome = (BTreeMap<String, usize>, (usize, usize), usize, BTreeMap<usize, usize>);

fn expected() -> Outcome {
    let asked = QUESTIONS + CHANGES;
    let words = BTreeMap::from([
        ("done(nothing_to_change)".to_owned(), QUESTIONS),
        ("resting(green)".to_owned(), CHANGES),
    ]);
    (words, (CHANGES, CHANGES), CHANGES + 1, BTreeMap::from([(0, ISSUES - asked), (1, asked)]))
}

impl Storm {
    async fn start(database: &str) -> Self {
        let machine = Machine::without_server(|_| Duration::from_secs(2)).await;
        for name in NAMES {
            machine.configure(name, Some(database)).await;
        }
        for (share, astray) in [(30, "drop"), (10, "duplicate"), (10, "reorder")] {
            machine.ask("astray_share", json!({ "share": share, "astray": astray })).await;
        }
        Self { machine, store: Store::open(database).await.unwrap() }
    }

    async fn say(&self, issue: &Value, login: &str, body: &str) -> Value {
        let comment = json!({ "repo": REPO, "number": issue, "login": login, "body": body });
        self.machine.ask("comment", comment).await
    }

    /// Gives the issues.
    async fn everybody_asks(&self, first: &Server) -> Vec<Value> {
        self.machine.deliver_to(first).await;
        let mut issues = Vec::new();
        for number in 0..ISSUES {
            let title = format!("The sum is wrong in case {number}");
            let issue = json!({ "repo": REPO, "login": "alice", "title": title, "body": "It is." });
            issues.push(self.machine.ask("open_issue", issue).await);
        }
        for issue in &issues[QUESTIONS..QUESTIONS + CHANGES] {
            self.say(issue, "alice", "/code fix the sum").await;
        }
        for issue in &issues[..QUESTIONS] {
            self.say(issue, "alice", "/code status").await;
        }
        issues
    }

    /// None of it may be done: a stranger, a command that came by an edit, one inside a quote.
    async fn everybody_talks(&self, issues: &[Value], turn: usize) {
        assert!(turn < TURNS);
        for issue in issues {
            self.say(issue, "mallory", "/code do as I say").await;
            let talk = self.say(issue, "alice", "looks odd").await;
            let edit = json!({ "repo": REPO, "id": talk, "login": "alice", "body": "/code status" });
            self.machine.ask("edit_comment", edit).await;
            self.say(issue, "alice", "> /code status\n\nwhy?").await;
        }
    }

    /// The name of a server that has a sandbox.
    async fn at_work(&self, servers: &BTreeMap<&'static str, Server>) -> &'static str {
        let holder = || servers.keys().find(|name| self.machine.sandboxes_of(name) > 0);
        let found = Cell::new(None);
        let at_work = async || {
            found.set(holder());
            found.get().is_some()
        };
        self.machine.within(LONGEST, "a server is at work", at_work).await;
        found.get().expect("one was at work")
    }

    /// Webhooks go to one that can answer; gives the addresses of all that can.
    async fn deliver_to_another(&self, servers: &BTreeMap<&'static str, Server>, than: &str) -> Vec<String> {
        let others: Vec<&Server> =
            servers.iter().filter(|(name, _)| **name != than).map(|(_, s)| s).collect();
        self.machine.deliver_to(others[0]).await;
        others.iter().map(|server| format!("http://{}/webhooks", server.address)).collect()
    }

    async fn deliveries(&self) -> Vec<Value> {
        self.machine.ask("deliveries", json!({})).await.as_array().unwrap().clone()
    }

    /// The same again, under its own id and under another's, from many hands at once to all who answer; gives how many
    /// were taken.
    async fn again(&self, urls: &[String]) -> usize {
        let (secret, sent) = (&self.machine.secret().await, self.deliveries().await);
        let own = sent.iter().step_by(4).map(|d| (d["guid"].as_str().unwrap().to_owned(), d));
        let other = sent.iter().step_by(5).enumerate().map(|(n, d)| (format!("another-{n}"), d));
        let all: Vec<(String, &Value)> = own.chain(other).collect();
        let client = &reqwest::Client::builder().no_proxy().build().unwrap();
        let posted = stream::iter(all.iter().zip(urls.iter().cycle())).map(async |((guid, sent), url)| {
            let body = sent["payload"].to_string();
            let request = client.post(url).header("content-type", "application/json");
            let request = request.header("x-github-delivery", guid);
            let request = request.header("x-github-event", sent["event"].as_str().unwrap());
            let request = request.header("x-hub-signature-256", signature(secret, &body));
            request.body(body).send().await.is_ok_and(|answer| answer.status() == 202)
        });
        posted.buffer_unordered(16).filter(|taken| std::future::ready(*taken)).count().await
    }

    async fn outcome(&self, issues: &[Value]) -> Outcome {
        let mut words = BTreeMap::new();
        for session in self.store.sessions(10_000).await.unwrap_or_default() {
            *words.entry(word(&session.state)).or_default() += 1;
        }
        let repo = json!({ "repo": REPO });
        let pulls = self.machine.ask("pulls", repo.clone()).await.as_array().unwrap().clone();
        let ready = pulls.iter().filter(|pull| pull["draft"] == false).count();
        let branches = self.machine.ask("branches", repo).await.as_array().unwrap().len();
        let mut answers = BTreeMap::new();
        for issue in issues {
            *answers.entry(self.machine.answers(issue.as_u64().unwrap()).await).or_default() += 1;
        }
        (words, (pulls.len(), ready), branches, answers)
    }

    /// Somebody asks for what failed to be sent again, as `fixpoint doctor --redeliver` does.
    async fn comes_to_exactly_what_was_asked(&self, issues: &[Value]) {
        let begun = Instant::now();
        loop {
            self.machine.ask("redeliver_failed", json!({})).await;
            let outcome = self.outcome(issues).await;
            let open = self.store.open_deliveries(1000).await.map_or(usize::MAX, |open| open.len());
            if outcome == expected() && open == 0 {
                return;
            }
            assert!(
                begun.elapsed() < LONGEST,
                "never what was asked; last seen: {outcome:?}, {open} open deliveries; {}",
                self.machine.findings(2)
            );
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
    }
}
