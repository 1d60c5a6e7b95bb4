//! The record of who asked, what was refused, what left the sandbox and what was published: lines that outlive the
//! session, and hold no content.
//!
//! A line is drawn from the fact it tells (an entry, a done effect), so that it is written in the fact's own transaction
//! and cannot say anything else. What happens beside the session's steps (a host that a sandbox reached) is a kind more
//! of [`Audit`], handed to the store as it is.

use super::{
    egress::Refused,
    ids::{Actor, Number, RepoId, Sha},
    session::{Ask, Effect, Ending, Entry, Job, NotPushed, Phase, Request, State, Subject},
    text,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Files that are named of one change; a change of more is counted. As many as one round may change by default.
const FILES: usize = 100;

/// Reasons are cut to this: a sentence, never a page.
const REASON: usize = 300;

/// One line before it is stored: whose deed, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// The account that asked for it; `None`: fixpoint's own doing.
    pub by: Option<Actor>,
    /// What.
    pub what: Audit,
}

/// What is recorded: a closed set, each with its fields and without content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Audit {
    /// Somebody who may ask asked for something.
    Asked {
        /// What.
        wish: Wish,
        /// The comment, review or button that asked, where one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Subject>,
        /// Why nothing came of it, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ignored: Option<String>,
    },
    /// Somebody asked and was refused: nothing was begun, and nothing said.
    Refused {
        /// The issue or pull request.
        thread: Number,
        /// Why.
        why: String,
    },
    /// A change was taken out of the sandbox and passed the policy.
    Left {
        /// The commit made of it.
        commit: Sha,
        /// Its files.
        files: Vec<Leaving>,
        /// Files beyond those named.
        more: usize,
        /// Bytes of all files.
        bytes: u64,
        /// A person is asked before it is pushed.
        asks: bool,
    },
    /// A change was not let out of the sandbox.
    Withheld {
        /// Which rule, in words.
        why: String,
    },
    /// A branch was pushed and read back.
    Pushed {
        /// The branch.
        branch: String,
        /// The fork that it is in; `None`: the repository itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fork: Option<RepoId>,
        /// The commit it is at.
        commit: Sha,
    },
    /// Commits of ours were found on the branch that the database, put back to an older day, did not know.
    Found {
        /// They, oldest first.
        commits: Vec<Sha>,
    },
    /// A push was not made.
    NotPushed {
        /// Why.
        why: String,
    },
    /// A pull request was opened, or found open.
    PullOpened {
        /// Its number.
        number: Number,
    },
    /// A comment was written.
    Commented {
        /// GitHub's id of it.
        comment: u64,
    },
    /// A review was posted.
    Reviewed {
        /// The pull request.
        pull: Number,
        /// GitHub's id of the review.
        review: u64,
    },
    /// A check's failed jobs were started again.
    Rerun {
        /// The check.
        check: String,
        /// The commit it ran on.
        head: Sha,
    },
    /// A merged branch of ours was deleted.
    BranchDeleted {
        /// Which.
        branch: String,
    },
    /// A host outside was reached from a sandbox.
    Reached {
        /// `HOST:PORT`.
        host: String,
        /// Requests or connections.
        times: u64,
        /// Bytes that left.
        sent: u64,
        /// Bytes that came back.
        received: u64,
    },
    /// A host outside was asked for from a sandbox and refused.
    HostRefused {
        /// `HOST:PORT`, as it was asked for.
        host: String,
        /// Which rule, in words.
        why: String,
        /// How often.
        times: u64,
    },
}

/// A file on its way out of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaving {
    /// Its path.
    pub path: String,
    /// Its size; nothing for one that was removed.
    pub bytes: u64,
}

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// A change.
    Run,
    /// A plan.
    Plan,
    /// That CI is mended.
    Fix,
    /// That the base is taken in.
    Rebase,
    /// A review.
    Review,
    /// A review of ours was answered by a person's review.
    Feedback,
    /// The last request once more.
    Retry,
    /// Where it stands.
    Status,
    /// Yes to what waits.
    Approve,
    /// An end.
    Stop,
    /// Something that cannot be followed.
    Unclear,
}

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
            Entry::RoundEnded { end } => {
                let hosts = end.refused.all.iter().map(host_refused);
                hosts.chain(of_ending(&end.ending)).map(own).collect()
            }
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

impl Wish {
    fn of(job: &Job) -> Self {
        match job {
            Job::Run => Self::Run,
            Job::Plan => Self::Plan,
            Job::Fix => Self::Fix,
            Job::Rebase => Self::Rebase,
            Job::Review => Self::Review,
            Job::Feedback { .. } => Self::Feedback,
        }
    }

    /// The word a command has for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Plan => "plan",
            Self::Fix => "fix",
            Self::Rebase => "rebase",
            Self::Review => "review",
            Self::Feedback => "a review's answer",
            Self::Retry => "retry",
            Self::Status => "status",
            Self::Approve => "approve",
            Self::Stop => "stop",
            Self::Unclear => "something unclear",
        }
    }
}

fn host_refused(refused: &Refused) -> Audit {
    let times = u64::from(refused.count);
    Audit::HostRefused { host: refused.to.clone(), why: refused.why.to_string(), times }
}

fn of_ending(ending: &Ending) -> Option<Audit> {
    match ending {
        Ending::Changed { commit, survey, ask_first, .. } => {
            let file = |file: &super::policy::Touched| Leaving { path: file.path.clone(), bytes: file.bytes };
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

impl Audit {
    /// The kind's name, as it is stored.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Asked { .. } => "asked",
            Self::Refused { .. } => "refused",
            Self::Left { .. } => "left",
            Self::Withheld { .. } => "withheld",
            Self::Pushed { .. } => "pushed",
            Self::Found { .. } => "found",
            Self::NotPushed { .. } => "not_pushed",
            Self::PullOpened { .. } => "pull_opened",
            Self::Commented { .. } => "commented",
            Self::Reviewed { .. } => "reviewed",
            Self::Rerun { .. } => "rerun",
            Self::BranchDeleted { .. } => "branch_deleted",
            Self::Reached { .. } => "reached",
            Self::HostRefused { .. } => "host_refused",
        }
    }
}

/// One line for people, without the kind.
impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked { wish, source, ignored } => {
                f.write_str(wish.word())?;
                source.map_or(Ok(()), |source| place(f, source))?;
                ignored.as_ref().map_or(Ok(()), |why| write!(f, "; nothing came of it: {why}"))
            }
            Self::Refused { thread, why } => write!(f, "on #{thread}: {why}"),
            Self::Left { commit, files, more, bytes, asks } => {
                write!(f, "{}, {bytes} bytes: ", commit.short())?;
                for (n, file) in files.iter().enumerate() {
                    write!(f, "{}{} ({})", if n > 0 { ", " } else { "" }, file.path, file.bytes)?;
                }
                if *more > 0 {
                    write!(f, " and {more} more")?;
                }
                f.write_str(if *asks { "; a person is asked first" } else { "" })
            }
            Self::Withheld { why } | Self::NotPushed { why } => f.write_str(why),
            Self::Pushed { branch, fork: None, commit } => write!(f, "{branch} at {}", commit.short()),
            Self::Pushed { branch, fork: Some(fork), commit } => {
                write!(f, "{branch} of the fork {fork} at {}", commit.short())
            }
            Self::Found { commits } => {
                let names: Vec<&str> = commits.iter().map(Sha::short).collect();
                f.write_str(&names.join(", "))
            }
            Self::PullOpened { number } => write!(f, "#{number}"),
            Self::Commented { comment } => write!(f, "comment {comment}"),
            Self::Reviewed { pull, review } => write!(f, "review {review} on #{pull}"),
            Self::Rerun { check, head } => write!(f, "{check} on {}", head.short()),
            Self::BranchDeleted { branch } => f.write_str(branch),
            Self::Reached { host, times, sent, received } => {
                write!(f, "{host}, {times} times, {sent} bytes out, {received} in")
            }
            Self::HostRefused { host, why, times } => write!(f, "{host}, {times} times: {why}"),
        }
    }
}

fn place(f: &mut fmt::Formatter<'_>, source: Subject) -> fmt::Result {
    match source {
        Subject::Body => f.write_str(" in the text of the issue"),
        Subject::Comment(id) => write!(f, " in comment {id}"),
        Subject::Review(id) => write!(f, " in review {id}"),
        Subject::Label => f.write_str(" by the label"),
        Subject::Button(id) => write!(f, " by a button of check run {id}"),
        Subject::Checks => f.write_str(" by the repository's rule"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        CommentId, UserId,
        session::{Message, Spot},
    };

    fn alice() -> Actor {
        Actor { id: UserId(3), login: "alice".into() }
    }

    #[test]
    fn a_kind_is_called_in_the_store_as_it_is_written() {
        let head = Sha::parse(&"a".repeat(40)).unwrap();
        let all = [
            Audit::Asked { wish: Wish::Run, source: None, ignored: None },
            Audit::Withheld { why: "x".into() },
            Audit::Rerun { check: "test".into(), head },
            Audit::HostRefused { host: "h:443".into(), why: "not allowed".into(), times: 2 },
        ];
        for one in all {
            let json = serde_json::to_value(&one).unwrap();
            assert_eq!(json["kind"], one.kind());
            assert_eq!(serde_json::from_value::<Audit>(json).unwrap(), one);
        }
    }

    #[test]
    fn what_was_said_is_not_in_it() {
        let request = Request::run(alice(), "the secret plan".into(), Subject::Comment(CommentId(7)));
        let told = Audited::of_step(&Entry::Asked { ask: Ask::Run { request } }, None).remove(0);
        assert_eq!(told.by, Some(alice()));
        assert_eq!(told.what.to_string(), "run in comment 7");
        let text = "the secret plan".to_owned();
        let noted = Entry::Noted { by: alice(), text, comment: CommentId(8) };
        assert_eq!(Audited::of_step(&noted, None), []);
        let say = Effect::Say {
            message: Message::CannotFollow { text: "the secret plan".into() },
            to: "alice".into(),
            request_no: 1,
            at: Some(Spot { thread: Number(1), comment: CommentId(7) }),
        };
        let told = Audited::of_effect(&say, &serde_json::json!({ "comment": 12 })).unwrap();
        assert_eq!(told.what, Audit::Commented { comment: 12 });
    }

    #[test]
    fn what_came_to_nothing_is_told_with_its_reason() {
        let stop = Entry::Asked { ask: Ask::Stop { by: alice(), at: None } };
        let told = Audited::of_step(&stop, Some("nothing runs")).remove(0);
        assert_eq!(told.what.to_string(), "stop; nothing came of it: nothing runs");
    }
}
