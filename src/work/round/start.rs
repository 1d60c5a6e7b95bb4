//! Where a round starts: from the branch's live head, while the day's money lasts.

use crate::{
    domain::{Entry, Sha, session::Outcome},
    work::{Halt, drive::Driver, look},
};

/// The day's budget that is used up, if one is: nothing more begins until the next day, by UTC.
pub(super) async fn daily_budget(driver: &Driver) -> Result<Option<String>, Halt> {
    let facts = &driver.state.facts;
    let spent = driver.parts.store.spent_today(facts.installation, facts.repo.id).await?;
    Ok(driver.parts.settings.daily.used_up(spent))
}

/// Where a round starts, or what was found instead.
pub(super) enum Start {
    At { base: Sha, start: Sha },
    Entry(Box<Entry>),
}

pub(super) async fn start_point(driver: &mut Driver) -> Result<Start, Halt> {
    let (parts, state) = (driver.parts.clone(), driver.state.clone());
    let (repository, mirror) = (parts.repository(&state), parts.mirror(&state).await?);
    let [base, live] = match parts.fetch_branches(&mirror, &repository, &state).await {
        // An empty repository has nothing that could be fetched.
        Err(Halt::Empty) => [None, None],
        found => found?,
    };
    let Some(base) = base else {
        let why = format!(
            "The branch `{}` has no commit. Push a first commit, then `/{} retry`.",
            state.facts.base.branch, parts.settings.word
        );
        return Ok(Start::Entry(Box::new(Entry::CannotBegin { outcome: Outcome::CannotBegin { why } })));
    };
    Ok(match (state.facts.head.clone(), live) {
        (None, None) => Start::At { start: base.clone(), base },
        (Some(_), None) => Start::Entry(Box::new(Entry::BranchDeleted)),
        (Some(head), Some(live)) if head == live => Start::At { base, start: live },
        (None, Some(live)) => match look::moved(driver, live).await? {
            Some(found @ Entry::Found { .. }) => Start::Entry(Box::new(found)),
            // Somebody else's branch of that name: the push will say so.
            _ => Start::At { start: base.clone(), base },
        },
        (Some(_), Some(live)) => Start::Entry(Box::new(look::moved(driver, live).await?.ok_or(Halt::Empty)?)),
    })
}
