//! Something is now so: which sessions does it concern? What a webhook says is asked of GitHub again where its order
//! could mislead.

use super::{Settled, Unsettled, automatic, entries, ignored, of_thread, second};
use crate::{
    domain::{
        Actor, Entry, InstallationId, Number, Phase, RepoId, Sha,
        delivery::{Fact, Place},
        session::{Approval, Whose},
    },
    github::Repository,
    store::Summary,
    work::{Parts, look, own},
};

const NOT_OURS: &str = "no session is about it";

/// Settles a fact.
pub(super) async fn settle(parts: &Parts, fact: Fact) -> Result<Settled, Unsettled> {
    let store = &parts.store;
    match fact {
        Fact::Checks { place, head, failed } => {
            let sessions = store.sessions_at(place.repo.id, head.as_str()).await?;
            let asleep = sessions.iter().all(|s| s.state.facts.guest.is_some() && !s.state.is_live());
            if failed && asleep {
                return automatic::red(parts, &place, &head).await;
            }
            Ok(entries(sessions.iter().map(|s| (s.id, Entry::Hint { head: head.clone() }))))
        }
        Fact::Push { place, branch, after, .. } => pushed(parts, &place, &branch, after).await,
        Fact::Pull { place, number, action, .. } => Box::pin(pull(parts, &place, number, &action)).await,
        Fact::IssueClosed { place, number } => {
            let Some(session) = store.session_of_issue(place.repo.id, number).await? else {
                return Ok(ignored(NOT_OURS));
            };
            let open = match repository(parts, &place) {
                Some(repository) => repository.issue(number).await.is_ok_and(|issue| issue.open),
                None => false,
            };
            match open {
                true => Ok(ignored("it is open again")),
                false => Ok(entries([(session.id, Entry::IssueClosed)])),
            }
        }
        Fact::Comment { place, number, comment, by, text, .. } => {
            let Some(session) = of_thread(parts, place.repo.id, number).await? else {
                return Ok(ignored(NOT_OURS));
            };
            if !may_command(parts, &place, &by).await? {
                return Ok(ignored("the sender has no write access"));
            }
            Ok(entries([(session.id, Entry::Noted { by, text, comment })]))
        }
        Fact::Approvals { place, number } => approvals(parts, &place, number).await,
        Fact::InstallationGone { installation } => no_access(parts, Some(installation), &[]).await,
        Fact::RepositoriesRemoved { repos, .. } => no_access(parts, None, &repos).await,
        Fact::RepositoryGone { place } => no_access(parts, None, &[place.repo.id]).await,
        Fact::RepositoryChanged { place } => {
            let Some(installation) = place.installation else { return Ok(ignored(NOT_OURS)) };
            let sessions = store.live_sessions(None, Some(place.repo.id)).await?;
            let renamed = Entry::Renamed { repo: place.repo, installation };
            Ok(entries(sessions.iter().map(|s| (s.id, renamed.clone()))))
        }
    }
}

fn repository(parts: &Parts, place: &Place) -> Option<Repository> {
    place.installation.map(|i| parts.github.repository(i, &place.repo))
}

async fn may_command(parts: &Parts, place: &Place, by: &Actor) -> Result<bool, Unsettled> {
    match repository(parts, place) {
        Some(repository) => Ok(repository.permission(by).await?.may_command()),
        None => Ok(false),
    }
}

/// A branch of ours moved. GitHub is asked where it is now *before* the session is read: our own pushes are then known to
/// the session, and an old webhook about an older head of ours misleads nobody.
async fn pushed(
    parts: &Parts,
    place: &Place,
    branch: &str,
    after: Option<Sha>,
) -> Result<Settled, Unsettled> {
    if parts.store.session_of_branch(place.repo.id, branch).await?.is_none() {
        return Ok(ignored(NOT_OURS));
    }
    let Some(repository) = repository(parts, place) else { return Ok(ignored(NOT_OURS)) };
    let live = repository.branch(branch).await?;
    let Some(session) = parts.store.session_of_branch(place.repo.id, branch).await? else {
        return Ok(ignored(NOT_OURS));
    };
    let Some(live) = live else {
        return Ok(match after {
            None => entries([(session.id, Entry::BranchDeleted)]),
            Some(_) => ignored("the branch is gone again; its own event tells"),
        });
    };
    if is_known(&session, &live) {
        return Ok(ignored("our own push"));
    }
    if session.state.facts.head.is_none() {
        return Ok(ignored("nothing was pushed by us yet"));
    }
    moved(parts, &repository, &session, live).await
}

/// The branch is at a commit that the session does not know.
async fn moved(
    parts: &Parts,
    repository: &Repository,
    session: &Summary,
    live: Sha,
) -> Result<Settled, Unsettled> {
    let state = &session.state;
    let mirror = parts.mirror(state).await?;
    let [base, _] = parts.fetch_branches(&mirror, repository, state).await?;
    let whose = match &base {
        Some(base) => match own::unknown(parts, (session.id, state), &mirror, (base, &live)).await? {
            ours if ours.is_empty() => look::whose(state, &mirror, &live, base).await?,
            // The holder takes them up: it looks as soon as it reads of it.
            _ => Whose::Ours,
        },
        None => Whose::Foreign,
    };
    Ok(entries([(session.id, Entry::HeadMoved { head: live, whose })]))
}

fn is_known(session: &Summary, live: &Sha) -> bool {
    let facts = &session.state.facts;
    let publishing = matches!(&session.state.phase, Phase::Publishing { commit, .. } if commit == live);
    publishing
        || facts.head.as_ref() == Some(live)
        || facts.rounds.iter().any(|r| r.commit.as_ref() == Some(live))
}

/// A pull request that is worked on changed: closed or open is read live, since the two events can cross.
async fn pull(parts: &Parts, place: &Place, number: Number, action: &str) -> Result<Settled, Unsettled> {
    let Some(repository) = repository(parts, place) else { return Ok(ignored(NOT_OURS)) };
    let session = match action {
        "reopened" => parts.store.latest_of_thread(place.repo.id, number).await?,
        _ => parts.store.session_of_pull(place.repo.id, number).await?,
    };
    if session.is_none() && matches!(action, "opened" | "reopened" | "synchronize") {
        return Ok(ignored(second::passes(parts, &repository, place.repo.id, number).await?));
    }
    let ours = session.filter(|s| s.state.facts.pull.as_ref().is_some_and(|p| p.number == number));
    let Some(session) = ours else { return Ok(ignored(NOT_OURS)) };
    let entry = match action {
        "closed" | "reopened" => {
            let live = repository.pull(number).await?;
            match (action, live.open) {
                ("closed", false) => Entry::PullClosed { merged: live.merged },
                ("reopened", true) => Entry::PullReopened { head: live.head },
                _ => return Ok(ignored("it has changed again since")),
            }
        }
        "edited" => Entry::Retargeted { base: repository.pull(number).await?.base_branch },
        "synchronize" if session.state.facts.guest.is_some() => {
            let head = repository.pull(number).await?.head;
            if is_known(&session, &head) {
                return Ok(ignored("our own push"));
            }
            return moved(parts, &repository, &session, head).await;
        }
        "enqueued" => Entry::MergeQueue { inside: true },
        "dequeued" => Entry::MergeQueue { inside: false },
        _ => return Ok(ignored("nothing follows from that")),
    };
    Ok(entries([(session.id, entry)]))
}

/// Who approves a pull request of ours now: the last word of everybody with write access, read anew, so that two events that
/// cross mislead nobody.
async fn approvals(parts: &Parts, place: &Place, number: Number) -> Result<Settled, Unsettled> {
    let session = parts.store.session_of_pull(place.repo.id, number).await?;
    let Some(session) = session.filter(|s| s.state.facts.guest.is_none()) else {
        return Ok(ignored(NOT_OURS));
    };
    let Some(repository) = repository(parts, place) else { return Ok(ignored(NOT_OURS)) };
    let mut last = std::collections::BTreeMap::new();
    for review in repository.reviews(number).await? {
        // A comment after an approval takes nothing back.
        if !review.by_bot && review.state != "COMMENTED" {
            last.insert(review.author.id, review);
        }
    }
    let mut approvals = Vec::new();
    for review in last.into_values().filter(|review| review.state == "APPROVED") {
        if let (Some(head), true) =
            (review.commit, repository.permission(&review.author).await?.may_command())
        {
            approvals.push(Approval { by: review.author.id, head });
        }
    }
    Ok(entries([(session.id, Entry::Approvals { approvals })]))
}

async fn no_access(
    parts: &Parts,
    installation: Option<InstallationId>,
    repos: &[RepoId],
) -> Result<Settled, Unsettled> {
    let mut sessions = Vec::new();
    if installation.is_some() {
        sessions = parts.store.live_sessions(installation, None).await?;
    }
    for repo in repos {
        sessions.extend(parts.store.live_sessions(None, Some(*repo)).await?);
    }
    Ok(entries(sessions.into_iter().map(|s| (s.id, Entry::NoAccess))))
}
