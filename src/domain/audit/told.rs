//! Lines drawn from the facts they tell.

use super::{Audit, Audited, Leaving, Wish};
use crate::domain::{
    egress::{Reached, Refusals},
    ids::{Actor, Number},
    policy::Touched,
    session::{Ask, Effect, Ending, Entry, NotPushed, Phase, Request, State, Subject},
    text,
};

/// Files that are named of one change; a change of more is counted. As many as one round may change by default.
const FILES: usize = 100;

/// Reasons are cut to this: a sentence, never a page.
const REASON: usize = 300;

impl Audited {
    /// A request that was refused before it reached any session.
    pub fn refused(by: Actor, thread: Number, why: &str) -> Self {
        Self { by: Some(by), what: Audit::Refused { thread, why: short(why) } }
    }

    /// What a session's beginning tells: who asked for it.
    pub fn of_start(state: &State) -> Self {
        let request = &state.facts.request;
        let wish = match state.phase {
            // It was over at once: all it does is answer.
            Phase::Done { .. } => Wish::Unclear,
            _ => Wish::of(&request.job),
        };
        Self::asked(request, wish, None)
    }

    /// What a stepped entry tells.
    pub fn of_step(entry: &Entry, ignored: Option<&str>) -> Vec<Self> {
        let own = |what| Self { by: None, what };
        match entry {
            Entry::Asked { ask } => vec![Self::of_ask(ask, ignored)],
            _ if ignored.is_some() => Vec::new(),
            Entry::RoundEnded { end } => of_ending(&end.ending).map(own).into_iter().collect(),
            Entry::Found { rounds, .. } => {
                let commits = rounds.iter().map(|round| round.commit.clone()).collect();
                vec![own(Audit::Found { commits })]
            }
            Entry::NotPushed { why, .. } => vec![own(Audit::NotPushed { why: not_pushed(why) })],
            _ => Vec::new(),
        }
    }

    /// What a done effect tells, with the result that is stored beside it.
    pub fn of_effect(effect: &Effect, result: &serde_json::Value) -> Option<Self> {
        let id = |name: &str| result[name].as_u64();
        let what = match effect {
            Effect::Push { branch, commit, fork, .. } => {
                let fork = fork.as_ref().map(|fork| fork.id);
                Audit::Pushed { branch: branch.clone(), fork, commit: commit.clone() }
            }
            Effect::OpenPull { .. } => Audit::PullOpened { number: Number(id("pull")?) },
            Effect::PostStatus | Effect::Say { .. } | Effect::Reply { .. } => {
                Audit::Commented { comment: id("comment")? }
            }
            Effect::Review { pull, .. } => Audit::Reviewed { pull: *pull, review: id("review")? },
            Effect::Rerun { check, head } => {
                id("workflow run")?;
                Audit::Rerun { check: check.clone(), head: head.clone() }
            }
            Effect::DeleteBranch { branch, .. } => {
                result["deleted"].as_str()?;
                Audit::BranchDeleted { branch: branch.clone() }
            }
            Effect::React { .. } | Effect::RequestReview { .. } | Effect::Unlabel { .. } => return None,
        };
        Some(Self { by: None, what })
    }

    fn of_ask(ask: &Ask, ignored: Option<&str>) -> Self {
        let (by, wish, at) = match ask {
            Ask::Run { request } => return Self::asked(request, Wish::of(&request.job), ignored),
            Ask::Retry { request } => return Self::asked(request, Wish::Retry, ignored),
            Ask::Status { by, at } => (by, Wish::Status, Some(*at)),
            Ask::Approve { by, at } => (by, Wish::Approve, *at),
            Ask::Stop { by, at } => (by, Wish::Stop, *at),
            Ask::Mistaken { by, at, .. } => (by, Wish::Unclear, *at),
        };
        let source = at.map(|at| Subject::Comment(at.comment));
        Self {
            by: Some(by.clone()),
            what: Audit::Asked { wish, source, ignored: ignored.map(str::to_owned) },
        }
    }

    fn asked(request: &Request, wish: Wish, ignored: Option<&str>) -> Self {
        let what = Audit::Asked { wish, source: Some(request.source), ignored: ignored.map(str::to_owned) };
        Self { by: Some(request.asker.clone()), what }
    }
}

impl Audit {
    /// What a sandbox reached outside and what it was refused there: told however its round ended.
    pub fn of_way_out(reached: &Reached, refused: &Refusals) -> Vec<Self> {
        let reached = reached.iter().map(|(to, traffic)| Self::Reached {
            host: to.to_string(),
            asked: traffic.asked.iter().map(|(method, times)| ((*method).to_owned(), *times)).collect(),
            sent: traffic.sent,
            received: traffic.received,
        });
        let named = refused.all.iter().map(|refused| Self::HostRefused {
            host: refused.to.clone(),
            why: refused.why.to_string(),
            times: u64::from(refused.count),
        });
        let more = (refused.more > 0).then(|| Self::HostRefused {
            host: "others".to_owned(),
            why: "too many to name".to_owned(),
            times: u64::from(refused.more),
        });
        reached.chain(named).chain(more).collect()
    }
}

fn of_ending(ending: &Ending) -> Option<Audit> {
    match ending {
        Ending::Changed { commit, survey, ask_first, .. } => {
            let file = |file: &Touched| Leaving { path: file.path.clone(), bytes: file.bytes };
            Some(Audit::Left {
                commit: commit.clone(),
                files: survey.files.iter().take(FILES).map(file).collect(),
                more: survey.files.len().saturating_sub(FILES),
                bytes: survey.files.iter().map(|file| file.bytes).sum(),
                asks: *ask_first,
            })
        }
        Ending::Refused { why } => Some(Audit::Withheld { why: short(why) }),
        _ => None,
    }
}

fn not_pushed(why: &NotPushed) -> String {
    match why {
        NotPushed::Foreign { head } => format!("{} on the branch is somebody else's", head.short()),
        NotPushed::Refused { reason } => short(reason),
    }
}

fn short(why: &str) -> String {
    text::shorten(why, REASON)
}
