//! New sessions: on an issue with a branch of our own, on a person's pull request with theirs, on a pull request of ours
//! whose session is over.

use super::Unsettled;
use crate::{
    domain::{
        Effect, InstallationId, Number, SessionId, State, say,
        session::{self, Guest, Message, OnPull, Outcome, Phase, Pull, Request, Spot, Start, Thread},
        trust::Permission,
    },
    github::{Issue, PullRequest, Repository, RepositoryInfo},
    store::NewSession,
    work::Parts,
};

/// A branch name taken by something older gets a number; past this many the operator has another problem.
const NAMES: u32 = 50;

/// What our branches begin with.
const OURS: &str = "fixpoint/";

/// The thread that something is asked on, as GitHub shows it now.
pub(super) struct On {
    pub(super) info: RepositoryInfo,
    pub(super) issue: Issue,
    /// Where it is a pull request.
    pub(super) pull: Option<PullRequest>,
}

impl On {
    pub(super) async fn read(repository: &Repository, number: Number) -> Result<Self, Unsettled> {
        let (info, issue) = (repository.info().await?, repository.issue(number).await?);
        let pull = if issue.is_pull { Some(repository.pull(number).await?) } else { None };
        Ok(Self { info, issue, pull })
    }
}

/// Is the pull request one that we opened?
pub(super) async fn is_ours(repository: &Repository, pull: &PullRequest) -> Result<bool, Unsettled> {
    // Asked only where the name allows it.
    Ok(pull.head_branch.starts_with(OURS) && pull.by_bot && repository.bot().await?.id == pull.author.id)
}

/// A session's first state and effects.
pub(super) async fn state(
    parts: &Parts,
    repository: &Repository,
    installation: InstallationId,
    on: &On,
    request: Request,
) -> Result<(State, Vec<Effect>), Unsettled> {
    let issue = &on.issue;
    let trusted = repository.permission(&issue.author).await.is_ok_and(Permission::may_command);
    let (base, branch, on_pull) = match &on.pull {
        Some(pull) => {
            let on_pull = on_pull(repository, &on.info, pull).await?;
            (pull.base_branch.clone(), pull.head_branch.clone(), Some(on_pull))
        }
        None => {
            let base = request.options.base.clone().unwrap_or_else(|| on.info.default_branch.clone());
            (base, free_branch(repository, issue).await?, None)
        }
    };
    let from = Start {
        installation,
        repo: on.info.repo.clone(),
        public: !on.info.private,
        thread: Thread {
            number: issue.number,
            title: issue.title.clone(),
            body: issue.body.clone(),
            trusted,
        },
        request,
        base,
        branch,
        on: on_pull,
    };
    Ok(session::start(from, parts.store.now().await?))
}

async fn on_pull(
    repository: &Repository,
    info: &RepositoryInfo,
    pull: &PullRequest,
) -> Result<OnPull, Unsettled> {
    let fork = pull.head_repo.clone().filter(|head| head.id != info.repo.id);
    let pushable = match (&pull.head_repo, &fork) {
        // Its repository is gone, and its branch with it.
        (None, _) => false,
        (Some(_), Some(_)) => pull.maintainer_can_modify,
        (Some(_), None) => pull.head_branch != info.default_branch,
    };
    let ours = is_ours(repository, pull).await?;
    let guest = (!ours).then(|| Guest { author: pull.author.clone(), fork, pushable });
    // A draft again is only what we made ourselves.
    let known = Pull { number: pull.number, draftable: ours };
    Ok(OnPull { pull: known, head: pull.head.clone(), guest })
}

/// A branch that is not there yet: an older session may have left its own behind.
async fn free_branch(repository: &Repository, issue: &Issue) -> Result<String, Unsettled> {
    let name = say::branch(issue.number, &issue.title);
    for n in 1..NAMES {
        let name = if n == 1 { name.clone() } else { format!("{name}-{n}") };
        if repository.branch(&name).await?.is_none() {
            return Ok(name);
        }
    }
    Ok(format!("{name}-{}", uuid::Uuid::new_v4().simple()))
}

/// A session to be made.
pub(super) fn made(state: State, effects: Vec<Effect>) -> NewSession {
    NewSession { id: SessionId(uuid::Uuid::now_v7()), state, effects, takes_over: None }
}

/// A session that goes on with the status comment of one that is over: the thread was told, and is told the rest there.
pub(super) fn taking_over(before: SessionId, mut new: NewSession) -> NewSession {
    new.state.facts.told = true;
    NewSession { takes_over: Some(before), ..new }
}

/// A session that is over at once: all it does is answer.
pub(super) fn only_answers((mut state, _): (State, Vec<Effect>), sentence: String) -> NewSession {
    let to = state.facts.request.asker.login.clone();
    let thread = state.facts.thread.number;
    let at = Spot::of(thread, state.facts.request.source);
    state.phase = Phase::Done { outcome: Outcome::NothingToChange { why: sentence.clone() } };
    let message = Message::CannotFollow { text: sentence };
    made(state, vec![Effect::Say { message, to, request_no: 1, at }])
}
