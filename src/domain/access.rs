//! What the App may do on GitHub, and what it hears of: one table, for the manifest, for `doctor` and for the page that
//! explains it.
//!
//! Never in it: administration, members, secrets, workflows. What is not granted cannot be stolen.

use serde::Deserialize;
use std::fmt;

/// How much is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Reads alone, for `fixpoint observe` and a server that does the same again and again.
    Observe,
    /// What the whole loop needs.
    Fix,
    /// [`Profile::Fix`], and jobs may be started again.
    Full,
}

/// A permission's level, the lower one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Look.
    Read,
    /// Look and change.
    Write,
}

/// A permission of the App.
#[derive(Clone, Copy, Debug)]
pub struct Permission {
    /// GitHub's name for it in the API.
    pub name: &'static str,
    /// Its level in each profile, in their order.
    levels: [Option<Level>; 3],
    /// What stops working without it.
    pub without: &'static str,
}

/// An event that the App's webhook tells of.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// GitHub's name for it.
    pub name: &'static str,
    /// Nothing else tells of what people ask in it. The rest is also found by looking, later.
    pub asks: bool,
    /// What stops working without it.
    pub without: &'static str,
}

const READ: Option<Level> = Some(Level::Read);
const WRITE: Option<Level> = Some(Level::Write);

/// Every permission any profile has.
pub const PERMISSIONS: [Permission; 7] = [
    Permission {
        name: "contents",
        levels: [READ, WRITE, WRITE],
        without: "it cannot read the code, and with read alone it cannot push its branch",
    },
    Permission {
        name: "issues",
        levels: [None, WRITE, WRITE],
        without: "it cannot react to a comment, answer one, or keep its status comment",
    },
    Permission {
        name: "pull_requests",
        levels: [READ, WRITE, WRITE],
        without: "it cannot open its pull request, mark it ready or ask for review",
    },
    Permission {
        name: "checks",
        levels: [READ, WRITE, WRITE],
        without: "it does not see check runs, and with read alone it shows no check of its own",
    },
    Permission {
        name: "actions",
        levels: [READ, READ, WRITE],
        without: "it cannot read the logs of failed jobs, and with read alone it cannot start a job again that lost \
                  its runner",
    },
    Permission {
        name: "statuses",
        levels: [READ, READ, READ],
        without: "it does not see CI that reports commit statuses instead of checks",
    },
    Permission {
        name: "metadata",
        levels: [READ, READ, READ],
        without: "nothing can be read at all; GitHub gives it to every App",
    },
];

/// The events of every profile that works; one that only observes hears nothing.
pub const EVENTS: [Event; 10] = [
    Event { name: "check_run", asks: false, without: "checks are looked at by the clock alone" },
    Event { name: "check_suite", asks: false, without: "the end of all checks is seen by the clock alone" },
    Event { name: "issue_comment", asks: true, without: "no command in a comment is heard" },
    Event {
        name: "issues",
        asks: true,
        without: "no command in a new issue is heard, nor that an issue was closed",
    },
    Event {
        name: "pull_request",
        asks: false,
        without: "a merged or closed pull request is noticed late, and its sandbox ended late",
    },
    Event { name: "pull_request_review", asks: true, without: "no review starts a round" },
    Event { name: "push", asks: false, without: "a commit of yours on its branch is noticed late" },
    Event {
        name: "repository",
        asks: false,
        without: "a renamed or deleted repository is noticed at the next call",
    },
    Event { name: "status", asks: false, without: "commit statuses are looked at by the clock alone" },
    Event {
        name: "workflow_run",
        asks: false,
        without: "a run that waits for approval or could not start is seen late",
    },
];

/// What an App of this project must not be able to do: a token of its own then could.
pub const NEVER: [&str; 6] = [
    "administration",
    "members",
    "organization_administration",
    "organization_secrets",
    "secrets",
    "workflows",
];

impl Profile {
    /// All of them, the least first.
    pub const ALL: [Profile; 3] = [Profile::Observe, Profile::Fix, Profile::Full];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Observe => "observe",
            Profile::Fix => "fix",
            Profile::Full => "full",
        }
    }

    /// What it is for, in a sentence without a full stop.
    pub const fn meaning(self) -> &'static str {
        match self {
            Profile::Observe => "reads alone: `fixpoint observe` and nothing that changes anything",
            Profile::Fix => "the whole loop, from the comment to the green pull request",
            Profile::Full => "the same, and failed jobs that lost their runner are started again",
        }
    }

    /// Its permissions with their levels.
    pub fn permissions(self) -> impl Iterator<Item = (&'static Permission, Level)> {
        PERMISSIONS.iter().filter_map(move |permission| Some((permission, permission.level(self)?)))
    }

    /// Its events.
    pub const fn events(self) -> &'static [Event] {
        match self {
            Profile::Observe => &[],
            Profile::Fix | Profile::Full => &EVENTS,
        }
    }
}

impl Permission {
    /// How much of it a profile has.
    pub const fn level(&self, profile: Profile) -> Option<Level> {
        match profile {
            Profile::Observe => self.levels[0],
            Profile::Fix => self.levels[1],
            Profile::Full => self.levels[2],
        }
    }

    /// Its name as GitHub's pages and people write it.
    pub fn words(&self) -> String {
        words(self.name)
    }
}

/// A permission's name as people write it: `pull requests`.
pub fn words(name: &str) -> String {
    name.replace('_', " ")
}

impl Level {
    /// GitHub's word for a level; anything above `write` counts as that.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "read" => READ,
            "write" | "admin" => WRITE,
            _ => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Read => "read",
            Level::Write => "write",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_profile_takes_nothing_away_and_none_has_what_is_never_granted() {
        for permission in &PERMISSIONS {
            let [least, more, most] = Profile::ALL.map(|profile| permission.level(profile));
            assert!(least <= more && more <= most, "{}", permission.name);
            assert!(!NEVER.contains(&permission.name));
        }
        assert!(Profile::Observe.permissions().all(|(_, level)| level == Level::Read));
    }
}
