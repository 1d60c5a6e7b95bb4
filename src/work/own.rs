//! What is ours on a branch: the commits of our rounds name their session and their round.
//!
//! A database that was put back to an older day does not know the last of them. They are taken up as they stand, by the
//! address of our bot and by what they say of themselves, instead of being taken for somebody else's or made again. Whoever
//! may push to the branch could make a commit that says so: they gain nothing by it, for it passes the policy or is theirs.

use super::{
    Halt, Parts,
    round::{Ruled, ruled},
};
use crate::{
    domain::{Actor, Entry, SessionId, Sha, State, session::Found},
    git::{Logged, Mirror},
};

/// A round that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pushed {
    /// Which request of the session, counted by the rounds: it began where they begin anew.
    pub(super) request: u32,
    pub(super) round: u32,
    pub(super) commit: Sha,
    pub(super) tree: Sha,
    pub(super) parent: Option<Sha>,
    pub(super) subject: String,
    pub(super) by: String,
}

impl Pushed {
    pub(super) fn at(&self) -> (u32, u32) {
        (self.request, self.round)
    }
}

/// The rounds of a session that a branch's commits name, oldest first; without one, those of the session that pushed last.
pub(super) fn pushed(log: &[Logged], session: Option<&str>) -> Vec<Pushed> {
    let of = |logged: &Logged| trailer(&logged.message, "Fixpoint-Session").map(str::to_owned);
    let Some(session) = session.map(str::to_owned).or_else(|| log.iter().rev().find_map(of)) else {
        return Vec::new();
    };
    let (mut request, mut before) = (1, 0);
    let mut rounds = Vec::new();
    for logged in log.iter().filter(|logged| of(logged).as_ref() == Some(&session)) {
        let Some(round) = trailer(&logged.message, "Fixpoint-Round").and_then(|r| r.parse().ok()) else {
            continue;
        };
        if round <= before {
            request += 1;
        }
        before = round;
        rounds.push(Pushed {
            request,
            round,
            commit: logged.commit.clone(),
            tree: logged.tree.clone(),
            parent: logged.parent.clone(),
            subject: logged.message.lines().next().unwrap_or_default().to_owned(),
            by: trailer(&logged.message, "Requested-by").unwrap_or_default().to_owned(),
        });
    }
    rounds
}

/// A trailer of a message's last paragraph.
fn trailer<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let last = message.trim_end().rsplit("\n\n").next()?;
    let line = last.lines().rev().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim())
}

/// The address that GitHub shows the bot beside a commit by.
pub(super) fn address(bot: &Actor) -> String {
    format!("{}+{}@users.noreply.github.com", bot.id, bot.login)
}

/// The rounds of the session that stand on its branch upon what it knows of it, up to the first commit of anybody else.
/// The mirror must hold the branch.
pub(super) async fn unknown(
    parts: &Parts,
    (session, state): (SessionId, &State),
    mirror: &Mirror,
    (base, live): (&Sha, &Sha),
) -> Result<Vec<Pushed>, Halt> {
    let mut known = vec![base];
    if let Some(head) = &state.facts.head {
        if !mirror.has(std::slice::from_ref(head)).await? {
            // The branch is fetched: a head that did not come along is no part of it, so it was put back by somebody.
            return Ok(Vec::new());
        }
        known.push(head);
    }
    let mut log = mirror.log(&known, live).await?;
    let own = address(&parts.repository(state).bot().await?);
    let theirs = log.iter().position(|logged| logged.by.iter().any(|by| *by != own));
    log.truncate(theirs.unwrap_or(log.len()));
    let rounds = pushed(&log, Some(&session.short()));
    // A commit between them that names no round of this session is not ours to speak for.
    let whole = rounds.iter().zip(&log).take_while(|(round, logged)| round.commit == logged.commit).count();
    Ok(rounds.into_iter().take(whole).collect())
}

/// Takes them up. `None`: there are none, or what they hold would not be let out today.
pub(super) async fn found(
    parts: &Parts,
    (session, state): (SessionId, &State),
    mirror: &Mirror,
    (base, live): (&Sha, &Sha),
) -> Result<Option<Entry>, Halt> {
    let rounds = unknown(parts, (session, state), mirror, (base, live)).await?;
    let (Some(first), Some(last)) = (rounds.first(), rounds.last()) else { return Ok(None) };
    let start = last.parent.clone().unwrap_or_else(|| base.clone());
    // The base as it was last taken in.
    let base = match mirror.merge_base(base, &last.commit).await.unwrap_or_default() {
        Some(taken_in) => taken_in,
        None => first.parent.clone().unwrap_or_else(|| base.clone()),
    };
    let before = mirror.tree_of(if state.facts.guest.is_some() { &start } else { &base }).await?;
    let Ruled::Pass(flags, survey) = ruled(parts, mirror, &before, &last.tree).await? else {
        return Ok(None);
    };
    tracing::warn!(rounds = rounds.len(), head = %last.commit, "the branch is ahead of the database, by work of ours");
    let told = |round: Pushed| Found {
        round: round.round,
        commit: round.commit,
        tree: round.tree,
        summary: round.subject,
    };
    let rounds = rounds.into_iter().map(told).collect();
    Ok(Some(Entry::Found { rounds, base, start, flags, survey: *survey }))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::work) fn sha(n: usize) -> Sha {
        Sha::parse(&format!("{n:040x}")).unwrap()
    }

    /// A branch that rounds of a session have pushed to, one upon the other.
    pub(in crate::work) fn log(session: &str, rounds: &[u32]) -> Vec<Logged> {
        let commit = |(n, round): (usize, &u32)| Logged {
            commit: sha(n + 1),
            tree: sha(n + 101),
            parent: Some(sha(n)),
            by: Default::default(),
            message: format!(
                "Mend it\n\nFixpoint-Round: 9 is only a word here\n\nFor #1\n\nRequested-by: alice\n\
                 Fixpoint-Session: {session}\nFixpoint-Round: {round}\n"
            ),
        };
        rounds.iter().enumerate().map(commit).collect()
    }

    #[test]
    fn an_older_session_of_the_branch_is_another_matter() {
        let both = [log("old", &[1, 2, 3]), log("new", &[1])].concat();
        let at = |session| pushed(&both, session).last().map(Pushed::at);
        assert_eq!((at(None), at(Some("new")), at(Some("old"))), (Some((1, 1)), Some((1, 1)), Some((1, 3))));
        assert_eq!(at(Some("newer")), None);
    }

    #[test]
    fn a_branch_without_rounds_of_ours_tells_nothing() {
        let theirs = Logged {
            commit: sha(1),
            tree: sha(2),
            parent: None,
            by: Default::default(),
            message: "Say `Fixpoint-Round: 3`\n\nFixpoint-Rounds: 2\nx: Fixpoint-Round: 1\n".to_owned(),
        };
        assert!(pushed(&[theirs], None).is_empty());
    }
}
