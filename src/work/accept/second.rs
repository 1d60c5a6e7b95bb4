//! The second-person check on people's own pull requests: a rule that requires it holds for all, so it passes there at once.

use super::Unsettled;
use crate::{
    domain::{Number, RepoId, repo_config::SecondPerson, say},
    github::{CheckShow, PullRequest, Repository},
    work::{Parts, accept::begin, rules},
};

/// Lets it pass on the live head, if this repository uses it and the pull request is not ours. The check is found again by
/// its external id, so that twice is once.
pub(super) async fn passes(
    parts: &Parts,
    repository: &Repository,
    repo: RepoId,
    number: Number,
) -> Result<&'static str, Unsettled> {
    if rules::of(&parts.house, repository, repo).await?.second_person == SecondPerson::Off {
        return Ok("nothing follows from that");
    }
    let pull: PullRequest = repository.pull(number).await?;
    if !pull.open || begin::is_ours(repository, &pull).await? {
        return Ok("its session shows who approved it");
    }
    let (title, summary) = say::PERSONS_OWN;
    let show = CheckShow {
        external_id: format!("second:{number}:{}", pull.head.short()),
        head: pull.head,
        name: say::SECOND_PERSON.to_owned(),
        conclusion: Some("success"),
        title: title.to_owned(),
        summary: summary.to_owned(),
        actions: Vec::new(),
        details_url: None,
    };
    let id = repository.check_once(&show).await?;
    repository.update_check(id, &show).await?;
    Ok("a person's own pull request needs no second person of ours")
}
