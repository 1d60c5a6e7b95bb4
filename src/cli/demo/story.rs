//! Tells the demo's story as it happens: for people in 80 columns, for programs as one JSON object a line.

use super::recording;
use crate::{
    domain::{
        Entry, Phase, State,
        session::{Ending, Outcome},
        text,
    },
    emulator::{Emulator, Happened, What},
};
use serde_json::json;
use std::{io::Write, path::Path, time::Duration};
use tokio::{sync::broadcast, time::Instant};

/// How often the session is looked at for what GitHub does not show.
const LOOK: Duration = Duration::from_millis(40);

/// What a terminal line holds beside the time and the name.
const ROOM: usize = 60;

/// The story being told.
pub(super) struct Story {
    events: broadcast::Receiver<Happened>,
    began: Instant,
    json: bool,
    failure: String,
    pushes: u32,
    /// What GitHub tells of before the verdict that it follows from is read back from the history.
    early: Option<Vec<String>>,
}

/// How it ended.
pub(super) struct End {
    pub(super) outcome: String,
    pub(super) rounds: u32,
    pub(super) pull: Option<u64>,
}

impl Story {
    pub(super) fn new(emulator: &Emulator, json: bool) -> Self {
        Self {
            events: emulator.events(),
            began: Instant::now(),
            json,
            failure: String::new(),
            pushes: 0,
            early: Some(Vec::new()),
        }
    }

    pub(super) fn title(&self, model: Option<&str>) {
        if self.json {
            return;
        }
        out(&format!("fixpoint {}: a rehearsal on this machine.", env!("CARGO_PKG_VERSION")));
        match model {
            None => out("GitHub is the built-in emulator, the model is a recording."),
            Some(model) => out(&format!("GitHub is the built-in emulator, the model is {model}.")),
        }
    }

    pub(super) fn fallback(&self, error: &anyhow::Error) {
        if !self.json {
            out(&format!(
                "No container is used: {}.",
                text::terminal(&format!("{error:#}")).trim_end_matches('.')
            ));
            out("The agent works in a local folder, which is no boundary.");
        }
    }

    pub(super) fn opening(&mut self, _emulator: &Emulator) {
        if !self.json {
            out("");
        }
        self.began = Instant::now();
        self.line(
            "repository",
            &format!("{}, 1 failing test, CI: {}", recording::REPOSITORY, recording::CHECK),
        );
    }

    /// Tells until the request is answered.
    pub(super) async fn until_the_end(&mut self, store: &crate::app::Store, sandbox: &str) -> End {
        let mut seen = 0;
        let mut queued = false;
        loop {
            tokio::select! {
                event = self.events.recv() => if let Ok(event) = event { self.happened(&event.what) },
                () = tokio::time::sleep(LOOK) => {}
            }
            let Some(session) = store.sessions(1).await.ok().and_then(|mut s| s.pop()) else { continue };
            if !queued {
                queued = true;
                self.line("fixpoint", &format!("session {} is queued", session.id.short()));
            }
            let history = store.history(session.id).await.unwrap_or_default();
            for stepped in history.iter().skip(seen) {
                self.stepped(&stepped.entry, sandbox);
            }
            seen = history.len();
            if let Some(end) = ended(&session.state) {
                self.verdict_is_told();
                // The last effects (ready, review asked) follow the last state by a moment.
                self.rest_of_the_events().await;
                return end;
            }
        }
    }

    async fn rest_of_the_events(&mut self) {
        let quiet = Duration::from_millis(600);
        while let Ok(Ok(event)) = tokio::time::timeout(quiet, self.events.recv()).await {
            self.happened(&event.what);
        }
    }

    fn happened(&mut self, what: &What) {
        match what {
            What::Commented { login, body, number, .. } if login == "alice" => {
                self.line("alice", &format!("{}  (#{number})", first(body)));
            }
            What::Reacted { content, .. } => self.line("fixpoint", content),
            What::Pushed { login, branch, sha, .. } if login != "alice" => {
                self.pushes += 1;
                let commit: String = sha.chars().take(7).collect();
                let text = if self.pushes == 1 { format!("{branch} {commit}") } else { commit };
                self.line("push", &text);
            }
            What::PullOpened { number, draft, .. } => {
                let kind = if *draft { "draft" } else { "pull request" };
                self.line("fixpoint", &format!("opens {kind} #{number}"));
            }
            What::ReadyForReview { number, .. } => self.follows(format!("#{number} is ready")),
            What::ReviewRequested { number, reviewer, .. } => {
                self.follows(format!("asks {reviewer} to review #{number}"));
            }
            _ => {}
        }
    }

    fn stepped(&mut self, entry: &Entry, sandbox: &str) {
        use crate::domain::verdict::Verdict;
        match entry {
            Entry::RoundBegan { .. } if self.failure.is_empty() => self.line("sandbox", sandbox),
            Entry::RoundEnded { end } => {
                let text = match &end.ending {
                    Ending::Changed { survey, .. } => {
                        let files: Vec<&str> = survey.files.iter().map(|f| f.path.as_str()).collect();
                        format!("changed {}", files.join(", "))
                    }
                    Ending::Question { text } => format!("asks: {}", first(text)),
                    Ending::Planned { text } => format!("plans: {}", first(text)),
                    Ending::Reviewed { summary, .. } => format!("says: {}", first(summary)),
                    Ending::Nothing { .. } => "nothing to change".to_owned(),
                    Ending::Limit { which } | Ending::Budget { which } => format!("stopped: {which}"),
                    Ending::Refused { why } | Ending::Unready { why } | Ending::Failed { why, .. } => {
                        first(why)
                    }
                };
                let told = if end.round > 1 { "told so; " } else { "" };
                self.line(&format!("round {}", end.round), &format!("{told}{text}"));
            }
            Entry::Judged { verdict: Verdict::Red { failures, .. }, .. } => {
                self.failure = failures.first().map(|f| f.line.clone()).unwrap_or_default();
                let line = format!("red: {}", self.failure);
                self.line("CI", &line);
            }
            Entry::Judged { verdict: Verdict::Green { .. }, .. } => {
                self.line("CI", "green");
                self.verdict_is_told();
            }
            _ => {}
        }
    }

    /// Something that follows from a verdict: told after it.
    fn follows(&mut self, what: String) {
        match &mut self.early {
            Some(early) => early.push(what),
            None => self.line("fixpoint", &what),
        }
    }

    fn verdict_is_told(&mut self) {
        for what in self.early.take().unwrap_or_default() {
            self.line("fixpoint", &what);
        }
    }

    pub(super) fn closing(&self, end: &End) {
        let seconds = self.began.elapsed().as_secs_f64();
        if self.json {
            let (outcome, rounds, pull) = (&end.outcome, end.rounds, end.pull);
            out(&format!(
                "{}",
                json!({ "outcome": outcome, "rounds": rounds, "pull": pull, "seconds": seconds })
            ));
            return;
        }
        out("");
        match end.outcome.as_str() {
            "green" => out(&format!("Green after {} rounds, in {seconds:.1} s.", end.rounds)),
            other => out(&format!("It ended as {other:?} after {} rounds, in {seconds:.1} s.", end.rounds)),
        }
        out("");
        out("Next: fixpoint setup                      connect a GitHub App, then");
        out("      fixpoint serve                      let it work");
        out("      fixpoint demo --model PROVIDER/NAME a real model, not the recording");
        out("      fixpoint demo --keep                look around afterwards");
    }

    pub(super) fn kept(&self, emulator: &Emulator, data: &Path) {
        if !self.json {
            out("");
            out("Still running, until Ctrl-C:");
            out(&format!(
                "  git clone {}/{}.git",
                emulator.web_url().trim_end_matches('/'),
                recording::REPOSITORY
            ));
            out(&format!("  fixpoint session --database sqlite:{} list", data.join("fixpoint.db").display()));
        }
    }

    fn line(&self, who: &str, what: &str) {
        let (at, what) = (self.began.elapsed().as_secs_f64(), text::terminal(what));
        if self.json {
            out(&format!("{}", json!({ "at": (at * 10.0).round() / 10.0, "who": who, "what": what })));
            return;
        }
        let shown: String = match what.chars().count() > ROOM {
            true => what.chars().take(ROOM - 1).chain(['…']).collect(),
            false => what,
        };
        out(&format!("{at:>4.1} s  {who:<10}  {shown}"));
    }
}

fn ended(state: &State) -> Option<End> {
    let outcome = match &state.phase {
        Phase::Resting { outcome } | Phase::Done { outcome } => outcome,
        // Nobody is there to answer.
        Phase::Waiting { .. } => &Outcome::NoAnswer,
        _ => return None,
    };
    let outcome = serde_json::to_value(outcome).ok()?["outcome"].as_str()?.to_owned();
    let pull = state.facts.pull.as_ref().map(|p| p.number.0);
    Some(End { outcome, rounds: state.facts.round, pull })
}

fn first(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// One line of the story. A reader who has seen enough closes the pipe: that is no error.
fn out(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
