//! What a repository's rules ask for by themselves: a red check of somebody's pull request is mended where the repository
//! wants that, bounded for each head, pull request and day.

use super::{
    Settled, Unsettled,
    begin::{self, On},
    entries, holds_label, ignored, made,
};
use crate::{
    domain::{
        Entry, InstallationId, Sha,
        delivery::Place,
        repo_config::{Effective, People},
        session::{Ask, Job, Request, Subject},
    },
    github::{PullRequest, Repository},
    store::Summary,
    work::{Parts, rules},
};

/// What keeps count of what rules asked for; each key is taken once.
const COUNTED: &str = "auto";

/// A check of a commit failed that no session is about.
pub(super) async fn red(parts: &Parts, place: &Place, head: &Sha) -> Result<Settled, Unsettled> {
    let Some(installation) = place.installation else { return Ok(ignored("no session is about it")) };
    let repository = parts.github.repository(installation, &place.repo);
    let holds = rules::of(&parts.house, &repository, place.repo.id).await?;
    if !holds.enabled || (holds.autofix.people == People::Off && holds.autofix.bots.is_empty()) {
        return Ok(ignored("no session is about it"));
    }
    // What GitHub says of the pull requests of a check leaves out those of forks: they are found by their head.
    let pulls = repository.pulls_at(head, None).await?;
    let [pull] = pulls.as_slice() else {
        return Ok(ignored("its commit is not the head of one pull request"));
    };
    if let Some(why) = refused(&repository, &holds, pull).await? {
        return Ok(ignored(why));
    }
    let (repo, number) = (place.repo.id, pull.number);
    let session = parts.store.session_of_pull(repo, number).await?;
    if let Some(why) = session.as_ref().and_then(|session| taken_already(session, head)) {
        return Ok(ignored(why));
    }
    let limits = &parts.settings.limits;
    let (of_pull, of_repo) = (format!("{COUNTED}:{repo}:{number}:"), format!("{COUNTED}:{repo}:"));
    if parts.store.subjects_today(&of_pull).await? >= u64::from(limits.automatic_a_pull)
        || parts.store.subjects_today(&of_repo).await? >= u64::from(limits.automatic_a_repository)
    {
        return Ok(ignored("enough was mended here today without being asked"));
    }
    let (fate, mut acceptance) = begun(parts, &repository, installation, pull, session).await?;
    // One request a head, whichever of its checks failed first.
    acceptance.subjects.push(format!("{of_pull}{head}"));
    Ok((fate, acceptance))
}

/// Why a head with a session is not begun with again: it is worked on, or the red is of our own making.
fn taken_already(session: &Summary, head: &Sha) -> Option<&'static str> {
    let ours = session.state.facts.rounds.iter().any(|round| round.commit.as_ref() == Some(head));
    match (session.state.is_live(), ours) {
        (true, _) => Some("its pull request is being worked on"),
        (false, true) => Some("what is red is a commit of our own"),
        (false, false) => None,
    }
}

/// Why a pull request is not one that the repository's rules mean.
async fn refused(
    repository: &Repository,
    holds: &Effective,
    pull: &PullRequest,
) -> Result<Option<&'static str>, Unsettled> {
    if holds_label(&pull.labels, &holds.labels.opt_out) {
        return Ok(Some("a label keeps us away"));
    }
    let info = repository.info().await?;
    if pull.head_repo.as_ref().is_none_or(|head| head.id != info.repo.id) {
        return Ok(Some("its branch is in a fork"));
    }
    if pull.by_bot {
        let own = repository.bot().await?.id == pull.author.id;
        let taken = !own && holds.autofix.takes_bot(&pull.author.login);
        return Ok((!taken).then_some("it is a bot's, and not one that the repository names"));
    }
    let labelled = holds_label(&pull.labels, &holds.labels.start);
    match holds.autofix.people {
        People::Off => Ok(Some("the repository does not want that for people's pull requests")),
        People::Label if !labelled => Ok(Some("the repository wants that where a label says so")),
        _ if pull.newcomer => Ok(Some("its author is new here")),
        _ if !repository.permission(&pull.author).await?.may_command() => {
            Ok(Some("its author has no write access"))
        }
        _ => Ok(None),
    }
}

async fn begun(
    parts: &Parts,
    repository: &Repository,
    installation: InstallationId,
    pull: &PullRequest,
    session: Option<Summary>,
) -> Result<Settled, Unsettled> {
    let asked = Request::run(pull.author.clone(), String::new(), Subject::Checks);
    let request = Request { job: Job::Fix, automatic: true, ..asked };
    if let Some(session) = session {
        return Ok(entries([(session.id, Entry::Asked { ask: Ask::Run { request } })]));
    }
    let on = On::read(repository, pull.number).await?;
    let (state, effects) = begin::state(parts, repository, installation, &on, request).await?;
    Ok(made(begin::made(state, effects)))
}
