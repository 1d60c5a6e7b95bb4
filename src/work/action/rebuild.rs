//! A session as its branch tells it: the commits of our rounds name their round, and are folded by the session's own
//! transition as if they were pushed now.

use super::Undone;
use crate::{
    domain::{
        Actor, Entry, InstallationId, Limits, Number, Repo, Sha, State, Timestamp, UserId,
        egress::Refusals,
        policy::{Survey, exposure::Handed},
        session::{self, Ending, Request, RoundEnd, Spent, Start, Step, Subject, Thread},
        step,
        trust::Permission,
        verdict::Verdict,
    },
    github::{Issue, Repository},
    work::own::Pushed,
};

/// How the round ended that made a commit.
pub(super) fn ended(round: &Pushed, state: &State) -> Entry {
    let ending = Ending::Changed {
        commit: round.commit.clone(),
        tree: round.tree.clone(),
        summary: round.subject.clone(),
        description: None,
        flags: Vec::new(),
        survey: Survey::default(),
        handed: Handed::default(),
        ask_first: false,
        takes_in: None,
        rewrites: false,
    };
    let end = RoundEnd {
        request_no: state.facts.request_no,
        round: state.facts.round,
        ending,
        requests_taken: 0,
        notes_taken: 0,
        replies: Vec::new(),
        outside_request: None,
        spent: Spent::default(),
        tainted: !state.facts.thread.trusted,
        refused: Refusals::default(),
    };
    Entry::RoundEnded { end }
}

/// What is known of a session whose block is gone, besides its commits.
pub(super) struct Lost {
    pub(super) installation: InstallationId,
    pub(super) repo: Repo,
    pub(super) public: bool,
    /// Name and commit.
    pub(super) base: (String, Sha),
    pub(super) branch: String,
    pub(super) pull: Option<Number>,
}

impl Lost {
    /// The session: at the last round of the last request, watching what it pushed. `None`: no round of ours is there.
    pub(super) async fn state(
        self,
        repository: &Repository,
        issue: &Issue,
        pushed: &[Pushed],
        now: Timestamp,
    ) -> Result<Option<State>, Undone> {
        let Some(last) = pushed.last() else { return Ok(None) };
        let trusted = repository.permission(&issue.author).await.is_ok_and(Permission::may_command);
        // Somebody who is gone asks for nothing any more: then it is nobody.
        let nobody = || Actor { id: UserId(0), login: last.by.clone() };
        let asker = repository.person(&last.by).await?.unwrap_or_else(nobody);
        let request = Request::run(asker, String::new(), Subject::Body);
        let (title, body) = (issue.title.clone(), issue.body.clone());
        let (base, base_sha) = self.base;
        let start = Start {
            installation: self.installation,
            repo: self.repo,
            public: self.public,
            thread: Thread { number: issue.number, title, body, trusted },
            request,
            base,
            branch: self.branch,
            on: None,
        };
        let rounds: Vec<&Pushed> = pushed.iter().filter(|round| round.request == last.request).collect();
        Ok(fold(start, &rounds, (&base_sha, self.pull), now))
    }
}

/// The cap is not this function's to keep: what was pushed was pushed.
fn fold(
    start: Start,
    rounds: &[&Pushed],
    (base, pull): (&Sha, Option<Number>),
    now: Timestamp,
) -> Option<State> {
    let limits = Limits { rounds: u32::MAX, ..Limits::default() };
    let (mut state, _) = session::start(start, now);
    state.facts.request_no = rounds.first()?.request;
    state.facts.told = true;
    let go = |state: &mut State, entry| match step(state, entry, now, &limits) {
        Ok(Step::To(next, _)) => *state = *next,
        Ok(Step::Ignore(why)) => tracing::debug!(why, "passed over while rebuilding"),
        Err(error) => tracing::error!(%error, "a session cannot be rebuilt in this order"),
    };
    for (index, round) in rounds.iter().enumerate() {
        if index > 0 {
            let head = state.facts.head.clone()?;
            let verdict = Verdict::Red { failures: Vec::new(), tally: (0, 1) };
            go(&mut state, Entry::Judged { head, verdict });
        }
        // A round that pushed nothing left no commit and was counted all the same.
        state.facts.round = round.round.saturating_sub(1);
        let start = round.parent.clone().unwrap_or_else(|| base.clone());
        go(&mut state, Entry::RoundBegan { base: base.clone(), start });
        let ended = ended(round, &state);
        go(&mut state, ended);
        go(&mut state, Entry::Pushed { commit: round.commit.clone() });
        if let (0, Some(number)) = (index, pull) {
            go(&mut state, Entry::PullOpened { number, draftable: true });
        }
    }
    Some(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::RepoId,
        work::own::{
            pushed,
            tests::{log, sha},
        },
    };

    fn folded(rounds: &[u32]) -> State {
        let pushed = pushed(&log("0197f3aa", rounds), None);
        let last = pushed.last().unwrap().request;
        let rounds: Vec<&Pushed> = pushed.iter().filter(|p| p.request == last).collect();
        let start = Start {
            installation: InstallationId(1),
            repo: Repo { id: RepoId(1), owner: "o".to_owned(), name: "r".to_owned() },
            public: true,
            thread: Thread { number: Number(1), title: String::new(), body: String::new(), trusted: true },
            request: Request::run(
                Actor { id: UserId(2), login: "alice".to_owned() },
                String::new(),
                Subject::Body,
            ),
            base: "main".to_owned(),
            branch: "fixpoint/1-x".to_owned(),
            on: None,
        };
        fold(start, &rounds, (&sha(0), Some(Number(2))), Timestamp(5)).unwrap()
    }

    #[test]
    fn f44_a_branch_tells_how_many_rounds_were_used() {
        for (rounds, request, round) in [
            (vec![1], 1, 1),
            (vec![1, 2, 3], 1, 3),
            (vec![1, 3], 1, 3),
            (vec![1, 2, 1], 2, 1),
            (vec![1, 1, 1], 3, 1),
        ] {
            let state = folded(&rounds);
            assert_eq!((state.facts.request_no, state.facts.round), (request, round), "{rounds:?}");
            assert_eq!(state.facts.head, Some(sha(rounds.len())), "{rounds:?}");
            assert_eq!(state.phase_word(), "watching", "{rounds:?}");
            assert_eq!(state.facts.pull.as_ref().map(|p| p.number), Some(Number(2)), "{rounds:?}");
        }
    }
}
