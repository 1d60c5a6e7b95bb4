//! Lines as people read them.

use super::{Audit, Wish};
use crate::domain::{
    Sha,
    session::{Job, Subject},
};
use std::fmt;

impl Wish {
    pub(super) fn of(job: &Job) -> Self {
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
            Self::Reached { host, asked, sent, received } => {
                f.write_str(host)?;
                for (method, times) in asked {
                    write!(f, ", {times} {method}")?;
                }
                write!(f, ", {sent} bytes out, {received} in")
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
