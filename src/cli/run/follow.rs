//! Follows one session in a store: what has happened in it since the last look, as lines for people and programs.

use super::show::{Line, Tone, count, money};
use crate::{
    app::{self, Step, Store, Summary},
    domain::{
        Entry, Phase,
        policy::Flag,
        session::{Ending, Question},
        verdict::Verdict,
    },
};
use std::time::{Duration, Instant};

/// Lines of a journal read at one look.
const LINES: u32 = 200;

/// What is shown of a question before it is cut; an agent may write a page.
const QUESTION: usize = 4_000;

/// Follows a session.
pub(in crate::cli) struct Follow {
    store: Store,
    session: Option<Summary>,
    rounds: u32,
    seen: (usize, usize),
    /// All of it, over every request.
    pub(in crate::cli) total: Total,
    since: Instant,
    phase: &'static str,
}

/// What a session has used.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct Total {
    pub(in crate::cli) rounds: u32,
    pub(in crate::cli) steps: u32,
    pub(in crate::cli) tokens: u64,
    pub(in crate::cli) micros: u64,
}

impl Follow {
    /// Follows the newest session of a store, of which there is one.
    pub(in crate::cli) fn new(store: Store, rounds: u32) -> Self {
        let since = Instant::now();
        Self { store, session: None, rounds, seen: (0, 0), total: Total::default(), since, phase: "" }
    }

    /// Follows this one.
    pub(in crate::cli) fn of(store: Store, session: Summary, rounds: u32) -> Self {
        Self { session: Some(session), ..Self::new(store, rounds) }
    }

    pub(in crate::cli) fn store(&self) -> &Store {
        &self.store
    }

    pub(in crate::cli) fn session(&self) -> Option<&Summary> {
        self.session.as_ref()
    }

    /// Looks; gives what is new.
    pub(in crate::cli) async fn news(&mut self) -> anyhow::Result<Vec<Line>> {
        let found = match &self.session {
            Some(session) => self.store.session(&session.id.to_string()).await?,
            None => self.store.sessions(1).await?.pop(),
        };
        let Some(session) = found else { return Ok(Vec::new()) };
        let (entries, steps) = self.seen;
        // The history first: a round's steps stand in the journal before its end stands in the history.
        let history = self.store.history(session.id).await?;
        let journal = self.store.journal_after(session.id, steps, LINES).await?;
        let mut lines = Vec::new();
        let mut new = history.iter().skip(entries).filter(|stepped| stepped.ignored.is_none()).peekable();
        while let Some(stepped) = new.next_if(|stepped| matches!(stepped.entry, Entry::RoundBegan { .. })) {
            lines.extend(self.entry(&stepped.entry));
        }
        for step in app::steps(&journal) {
            lines.extend(self.step(&step));
        }
        lines.extend(new.flat_map(|stepped| self.entry(&stepped.entry)));
        self.seen = (history.len(), steps + journal.len());
        if self.phase != session.state.phase_word() {
            (self.phase, self.since) = (session.state.phase_word(), Instant::now());
        }
        self.session = Some(session);
        Ok(lines)
    }

    fn step(&mut self, step: &Step) -> Vec<Line> {
        self.total.steps += 1;
        self.total.tokens += step.tokens;
        self.total.micros += step.micros;
        let calls = step.calls.iter().filter(|call| call.tool != "finish");
        let line = |call: &app::Call| {
            let what = format!("{} {}", call.tool, call.about);
            let line = Line::new("", what, Tone::Quiet).event("tool").with("round", step.round);
            line.with("tool", call.tool.as_str()).with("about", call.about.as_str())
        };
        calls.map(line).collect()
    }

    fn entry(&mut self, entry: &Entry) -> Vec<Line> {
        match entry {
            Entry::RoundBegan { .. } => {
                self.total.rounds += 1;
                let (n, of) = (self.total.rounds, self.rounds);
                let what = if n == 1 { "the agent begins" } else { "the agent is told, and goes on" };
                vec![
                    Line::new(&format!("round {n}"), what, Tone::Plain)
                        .event("round_began")
                        .with("round", n)
                        .with("of", of),
                ]
            }
            Entry::RoundEnded { end } => vec![self.ended(&end.ending)],
            Entry::Judged { verdict: Verdict::Infrastructure { why, .. }, .. } => {
                vec![
                    Line::new("check", format!("not the code's doing: {why}"), Tone::Bad)
                        .event("infrastructure"),
                ]
            }
            Entry::Judged { verdict, .. } if !matches!(verdict, Verdict::Pending { .. }) => {
                // The check itself was told when it ended.
                vec![Line::hidden("verdict").with("verdict", verdict.word()).with("reason", verdict.reason())]
            }
            Entry::CannotBegin { outcome } => {
                let why = crate::cli::session::ended(outcome);
                vec![Line::new("round", why, Tone::Bad).event("cannot_begin")]
            }
            _ => Vec::new(),
        }
    }

    fn ended(&self, ending: &Ending) -> Line {
        let (word, what, tone) = match ending {
            Ending::Changed { survey, summary, .. } => {
                let files: Vec<&str> = survey.files.iter().map(|file| file.path.as_str()).collect();
                let what = format!("changed {}: {}", files.join(", "), first(summary));
                ("changed", what, Tone::Plain)
            }
            Ending::Planned { text } => ("planned", format!("has a plan: {}", first(text)), Tone::Plain),
            Ending::Reviewed { summary, .. } => {
                ("reviewed", format!("reviewed: {}", first(summary)), Tone::Plain)
            }
            Ending::Question { text } => ("question", format!("asks: {}", first(text)), Tone::Plain),
            Ending::Nothing { summary } => {
                ("nothing", format!("changed nothing: {}", first(summary)), Tone::Plain)
            }
            Ending::Limit { which } => ("limit", format!("stopped at a limit: {which}"), Tone::Bad),
            Ending::Budget { which } => ("budget", format!("stopped: {which} is used up"), Tone::Bad),
            Ending::Refused { why } => ("refused", format!("not taken: {}", first(why)), Tone::Bad),
            Ending::Unready { why } => ("unready", first(why).to_owned(), Tone::Bad),
            Ending::Failed { why, .. } => ("failed", first(why).to_owned(), Tone::Bad),
        };
        let round = self.total.rounds;
        let line = Line::new(&format!("round {round}"), what, tone).event("round_ended").with("round", round);
        line.with("ending", word).with("tokens", self.total.tokens).with("micros", self.total.micros)
    }

    /// What goes on now, in a line that is written over.
    pub(in crate::cli) fn status(&self) -> String {
        let Total { rounds, steps, tokens, micros } = self.total;
        let doing = match self.phase {
            // After an answer rounds are counted anew, and it may be one more.
            "working" if rounds > self.rounds => format!("round {rounds}: the agent works"),
            "working" => format!("round {} of {}: the agent works", rounds.max(1), self.rounds),
            "watching" | "publishing" => "the check runs".to_owned(),
            "queued" => "the next round begins".to_owned(),
            other => other.to_owned(),
        };
        let since = super::show::clock(self.since.elapsed());
        let steps = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
        format!("{doing}, {since} · {steps} · {} tokens{}", count(tokens), money(micros))
    }

    /// Whether nothing more happens by itself.
    pub(in crate::cli) fn is_at_rest(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.state.is_live())
    }

    /// Waits until whoever worked on it has let go: a patch is kept and a sandbox stopped after the state says so.
    pub(super) async fn let_go(&self, longest: Duration) {
        let free = async {
            while self.store.live_leases().await.is_ok_and(|held| !held.is_empty()) {
                tokio::time::sleep(super::LOOK).await;
            }
        };
        let _ = tokio::time::timeout(longest, free).await;
    }

    /// What the agent asks.
    pub(in crate::cli) fn question(&self) -> Option<String> {
        match &self.session.as_ref()?.state.phase {
            Phase::Waiting { question: Question::Agent { text } | Question::Plan { text }, .. } => {
                Some(text.chars().take(QUESTION).collect())
            }
            _ => None,
        }
    }

    /// Answers it, and goes on.
    pub(in crate::cli) async fn answer(&mut self, text: String) -> anyhow::Result<()> {
        if let Some(session) = &self.session {
            app::answer(&self.store, session, text).await?;
            // Until the entry is read the question still stands there.
            while self.question().is_some() {
                tokio::time::sleep(super::LOOK).await;
                self.session = self.store.session(&session_id(self)).await?;
            }
        }
        Ok(())
    }
}

fn session_id(follow: &Follow) -> String {
    follow.session.as_ref().map(|session| session.id.to_string()).unwrap_or_default()
}

/// The first line that says anything.
pub(in crate::cli) fn first(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

/// A flag in words, without Markdown.
pub(super) fn flag(flag: &Flag) -> String {
    match flag {
        Flag::WeakerTests { path, what } => format!("{path}: {what}"),
        Flag::RunByCi { path } => format!("the check runs {path}, which changed"),
    }
}
