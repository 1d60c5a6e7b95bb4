//! What a run leaves: a branch, perhaps a patch, and the words about them.

use super::{
    INTERRUPTED, branch,
    follow::{Follow, Total, first, flag},
    forge::Forge,
    place::Place,
    show::{Show, Tone, count, money, span},
};
use crate::{
    app::{Given, Run},
    domain::{Phase, State, session::Outcome, text},
};
use serde_json::{Value, json};
use std::{path::PathBuf, process::ExitCode, time::Instant};

/// How a run ended.
pub(super) struct End {
    /// One word, as programs know it.
    outcome: String,
    /// In words, where more is known than that.
    why: String,
    /// What a person has to see.
    looks: Vec<String>,
    question: Option<String>,
    /// What the check said of the branch's commit, where that was red.
    red: Option<String>,
    /// It was stopped before the check of that commit had ended.
    unchecked: bool,
    branch: Option<Given>,
    files: String,
    patch: Option<PathBuf>,
    session: Option<String>,
    /// The pull request, where one was wanted: its address, or why there is none.
    pull: Option<Result<String, String>>,
    summary: String,
    total: Total,
    began: Instant,
}

impl End {
    /// Brings what was made into the person's repository.
    pub(super) async fn of(
        follow: &Follow,
        place: &Place,
        forge: &Forge,
        run: &Run,
        broken: Option<String>,
    ) -> anyhow::Result<Self> {
        let mut end = Self {
            outcome: "stopped".to_owned(),
            why: String::new(),
            looks: Vec::new(),
            question: follow.question(),
            red: None,
            unchecked: false,
            branch: None,
            files: String::new(),
            patch: None,
            session: None,
            pull: None,
            summary: String::new(),
            total: follow.total,
            began: forge.began,
        };
        if let Some(session) = follow.session() {
            let state = &session.state;
            end.told_by(state);
            end.checked_by(state, forge);
            end.session = Some(session.id.short());
            end.branch = branch::taken(state, place, forge).await?;
            if let Some(patch) = follow.store().patch(session.id).await? {
                let file = run.file("kept.patch");
                std::fs::write(&file, patch)?;
                end.patch = Some(file);
            }
        }
        if let Some(why) = broken {
            (end.outcome, end.why) = ("error".to_owned(), why);
        }
        Ok(end)
    }

    fn told_by(&mut self, state: &State) {
        let facts = &state.facts;
        self.summary = facts.summary.clone().unwrap_or_default();
        self.files = facts.survey.as_ref().map_or_else(String::new, |survey| {
            let n = survey.files.len();
            format!("{n} file{}", if n == 1 { "" } else { "s" })
        });
        match &state.phase {
            Phase::Resting { outcome } | Phase::Done { outcome } => {
                let value = serde_json::to_value(outcome).unwrap_or_default();
                self.outcome = value["outcome"].as_str().unwrap_or_default().to_owned();
                let why = ["why", "which"].iter().find_map(|key| value[*key].as_str());
                self.why = first(why.unwrap_or_default()).to_owned();
                // On a forge one check of many may be let be; here it is the only one.
                if let (Some(exception), Outcome::Green | Outcome::NeedsPerson) = (&facts.exception, outcome)
                {
                    "not_green".clone_into(&mut self.outcome);
                    self.why = format!(
                        "it fails as it did before any change, and the agent says that this is outside the request: {}",
                        first(&exception.why)
                    );
                }
                if *outcome == Outcome::NeedsPerson {
                    self.looks = facts.flags.iter().map(flag).collect();
                }
            }
            Phase::Waiting { .. } => "question".clone_into(&mut self.outcome),
            _ => {}
        }
    }

    /// What stands of the check: a red of an earlier commit is none of the one that is handed over.
    fn checked_by(&mut self, state: &State, forge: &Forge) {
        let facts = &state.facts;
        match facts.head.as_ref().map(|head| forge.checked.get(head)) {
            None => {}
            Some(Some(ended)) => self.red.clone_from(ended),
            Some(None) if self.outcome == "stopped" => self.unchecked = true,
            Some(None) => self.red = facts.failures.first().map(|failure| failure.line.clone()),
        }
    }

    /// What a pull request would hold: branch, title and text; only of a branch whose check is green.
    pub(super) fn worth_a_look(&self) -> Option<(&str, String, String)> {
        let green = matches!(self.outcome.as_str(), "green" | "needs_person");
        let branch = &self.branch.as_ref().filter(|_| green)?.branch;
        let words = text::harmless_plain(&self.summary);
        let title = text::shorten(first(&words), 72);
        let looks: String = self.looks.iter().map(|look| format!("\n- {}", text::harmless(look))).collect();
        let looks = if looks.is_empty() { String::new() } else { format!("\n\n**Look here first:**{looks}") };
        Some((branch, title, format!("In the agent's words:\n\n{}{looks}\n", text::harmless(&self.summary))))
    }

    /// Notes what came of the wish for a pull request.
    pub(super) fn published(&mut self, pull: anyhow::Result<Option<String>>) {
        self.pull = pull.map_err(|error| format!("{error:#}")).transpose();
    }

    /// What is written down of it.
    pub(super) fn noted(&self) -> (Option<String>, Option<String>, Option<String>) {
        let branch = self.branch.as_ref().map(|given| given.branch.clone());
        (Some(self.outcome.clone()), branch, self.branch.as_ref().map(|given| given.commit.to_string()))
    }

    /// Says how it ended and what can be done now; gives the exit status.
    pub(super) fn tell(&self, show: &mut Show, place: &Place, interrupted: bool) -> ExitCode {
        // Ctrl-C may come when it has just ended by itself.
        let interrupted = interrupted && self.outcome == "stopped";
        show.last(&self.json());
        show.plain("");
        let (head, tone) = match interrupted {
            true => (self.interrupted(), Tone::Plain),
            false => self.headline(),
        };
        let took = span(self.began.elapsed());
        let Total { tokens, micros, .. } = self.total;
        show.plain(&show.painted(&text::terminal(&head), tone));
        show.plain(&format!("{took} · {} tokens{}", count(tokens), money(micros)));
        show.plain("");
        for look in &self.looks {
            show.field("look at", look);
        }
        if let Some(question) = &self.question {
            show.paragraphs(question);
            show.plain("");
            show.plain("  Run it again with the answer in the instruction.");
        }
        self.tell_branch(show, place);
        if let Some(patch) = &self.patch {
            show.plain(&format!("  patch     {}", patch.display()));
            show.plain("            what was changed and not committed; `git apply` takes it");
        }
        if let (true, Some(Given { branch, .. })) = (interrupted, &self.branch) {
            let git = place.git();
            show.plain(&format!("  go on     {git} switch {branch}"));
            show.plain("            and `fixpoint run` once more: it begins from there");
        }
        if let Some(session) = &self.session {
            show.plain(&format!("  history   fixpoint session show {session}"));
        }
        match self.outcome.as_str() {
            _ if interrupted => ExitCode::from(INTERRUPTED),
            "green" => ExitCode::SUCCESS,
            "error" | "engine_failed" | "cannot_begin" => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }

    fn tell_branch(&self, show: &mut Show, place: &Place) {
        let Some(Given { branch, commit }) = &self.branch else { return };
        let git = place.git();
        let base = place.head.branch.clone().unwrap_or_else(|| place.head.commit.short().to_owned());
        show.plain(&format!("  branch    {branch} at {}, {}", commit.short(), self.files));
        if let Some(red) = &self.red {
            show.field("red", red);
        }
        if self.unchecked {
            show.field("check", "not ended on this commit");
        }
        show.plain(&format!("  see it    {git} diff {base}...{branch}"));
        if !place.is_ours() {
            show.plain(&format!("  take it   {git} merge {branch}"));
        }
        match &self.pull {
            Some(Ok(url)) => return show.plain(&format!("  review    {url}")),
            Some(Err(why)) => show.field("no pull request", why),
            None => {}
        }
        if let Some(remote) = place.local.remote() {
            show.plain(&format!("  push it   {git} push {remote} {branch}"));
        }
    }

    /// Stopped by the person at the terminal: where it stood, and what is left.
    fn interrupted(&self) -> String {
        let when = match self.total.rounds {
            0 => "before a round began".to_owned(),
            n => format!("in round {n}"),
        };
        let kept = match (&self.branch, &self.patch) {
            (Some(Given { branch, .. }), _) => format!("branch {branch} is kept."),
            (None, Some(_)) => "what was changed is kept as a patch.".to_owned(),
            (None, None) => "nothing was changed.".to_owned(),
        };
        format!("Interrupted {when}; {kept}")
    }

    fn headline(&self) -> (String, Tone) {
        let rounds = match self.total.rounds {
            0 => "before a round began".to_owned(),
            1 => "after 1 round".to_owned(),
            n => format!("after {n} rounds"),
        };
        let why = if self.why.is_empty() { String::new() } else { format!(": {}", self.why) };
        match self.outcome.as_str() {
            "green" => (format!("Green {rounds}: {}", first(&self.summary)), Tone::Good),
            "needs_person" => (format!("Green {rounds}, but a person has to look."), Tone::Bad),
            "not_green" => (format!("Not green {rounds}{why}"), Tone::Bad),
            "question" => (format!("The agent has a question {rounds}."), Tone::Plain),
            "stopped" => (format!("Stopped {rounds}."), Tone::Plain),
            "nothing_to_change" if self.branch.is_some() => {
                (format!("Nothing more was changed{why}"), Tone::Bad)
            }
            "nothing_to_change" => (format!("Nothing was changed{why}"), Tone::Plain),
            "error" | "engine_failed" | "cannot_begin" => (format!("It could not work{why}"), Tone::Bad),
            other => (format!("It ended {rounds}: {}{why}", other.replace('_', " ")), Tone::Bad),
        }
    }

    fn json(&self) -> Value {
        json!({
            "outcome": self.outcome,
            "branch": self.branch.as_ref().map(|given| &given.branch),
            "commit": self.branch.as_ref().map(|given| given.commit.as_str()),
            "rounds": self.total.rounds,
            "tokens": self.total.tokens,
            "micros": self.total.micros,
            "summary": self.summary,
            "why": self.why,
            "look_at": self.looks,
            "question": self.question,
            "patch": self.patch,
            "session": self.session,
            "pull_request": self.pull.as_ref().and_then(|pull| pull.as_ref().ok()),
            "no_pull_request": self.pull.as_ref().and_then(|pull| pull.as_ref().err()),
            "seconds": (self.began.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        })
    }
}
