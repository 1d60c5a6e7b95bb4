//! What everybody could see, in order, as a few lines that a test can hold against what it expects.

use super::Fixpoint;
use fixpoint::{
    domain::{Phase, State, session::Step, step},
    emulator::What,
    store::{Store, Summary},
};

impl Fixpoint {
    /// The story so far: what happened on GitHub, then each session's phases.
    pub async fn story(&mut self) -> String {
        while let Ok(happened) = self.events.try_recv() {
            self.heard.push(happened);
        }
        let mut lines: Vec<String> = Vec::new();
        for happened in &self.heard {
            if let Some(line) = told(&happened.what)
                && lines.last() != Some(&line)
            {
                lines.push(line);
            }
        }
        for session in self.sessions().await {
            lines.push(phases_of(&self.store, &session).await);
        }
        lines.join("\n")
    }
}

/// A session's phases in order.
pub async fn phases_of(store: &Store, session: &Summary) -> String {
    let Ok(Some(mut state)) = store.first_state(session.id).await else { return String::new() };
    let mut words = vec![word(&state)];
    for stepped in store.history(session.id).await.unwrap_or_default() {
        if let Ok(Step::To(next, _)) = step(&state, stepped.entry, stepped.now, &stepped.limits) {
            state = *next;
            let word = word(&state);
            if words.last() != Some(&word) {
                words.push(word);
            }
        }
    }
    words.join(" → ")
}

/// A phase in one word, with its round or outcome.
pub fn word(state: &State) -> String {
    match &state.phase {
        Phase::Working => format!("working({})", state.facts.round),
        Phase::Resting { outcome } | Phase::Done { outcome } => {
            let outcome = serde_json::to_value(outcome).expect("an outcome");
            format!("{}({})", state.phase_word(), outcome["outcome"].as_str().unwrap_or("?"))
        }
        _ => state.phase_word().to_owned(),
    }
}

fn told(what: &What) -> Option<String> {
    Some(match what {
        What::IssueOpened { number, login, title, .. } => format!("{login}: opens #{number} {title:?}"),
        What::PullOpened { number, login, draft, branch, .. } => {
            format!(
                "{login}: opens {} #{number} from {branch}",
                if *draft { "draft" } else { "pull request" }
            )
        }
        What::Commented { number, login, body, .. } => format!("{login}: on #{number}: {}", first(body)),
        What::Reacted { number, login, content } => format!("{login}: {content} on #{number}"),
        What::ReviewRequested { number, reviewer, .. } => format!("{reviewer} is asked to review #{number}"),
        What::ReadyForReview { number, .. } => format!("#{number} is ready"),
        What::ConvertedToDraft { number, .. } => format!("#{number} is a draft again"),
        What::Closed { number, login } => format!("{login}: closes #{number}"),
        What::Merged { number, login, .. } => format!("{login}: merges #{number}"),
        What::Pushed { login, branch, .. } => format!("{login}: pushes {branch}"),
        What::BranchDeleted { login, branch } => format!("{login}: deletes {branch}"),
        What::PushRefused { branch, why, .. } => format!("push to {branch} refused: {}", first(why)),
        What::CheckRun { name, status, conclusion: Some(conclusion), .. }
            if status == "completed" && name != "fixpoint" =>
        {
            format!("{name}: {conclusion}")
        }
        What::Rerun { .. } => "failed jobs are started again".to_owned(),
        _ => return None,
    })
}

fn first(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(110).collect()
}
