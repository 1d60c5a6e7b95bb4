//! What the emulated GitHub knows: plain data, held in memory behind one lock.
//!
//! Nothing here speaks a wire format; [`super::render`] turns these into the JSON that GitHub sends.

mod ci;
mod threads;

use super::ci::Ci;
use chrono::{DateTime, Utc};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

pub use ci::{Annotation, CheckAction};
pub(crate) use ci::{CheckRun, Job, Progress, Status, Step, Suite, Workflow, WorkflowRun};
pub(crate) use threads::{Comment, Issue, Label, Merged, Pull, Reaction, Review, ReviewComment, Side};

pub(crate) type Id = u64;
pub(crate) type Time = DateTime<Utc>;

/// The account id that GitHub Actions' own app has on github.com.
pub(crate) const ACTIONS_APP: Id = 15368;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Bot,
    Organization,
}

#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) id: Id,
    pub(crate) login: String,
    pub(crate) kind: Kind,
}

/// What a person may do in a repository, as GitHub's roles go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// No access beyond what is public.
    None,
    /// May read.
    Read,
    /// May manage issues; GitHub's `permission` says `read`, its `role_name` says `triage`.
    Triage,
    /// May push.
    Write,
    /// May push and manage; GitHub's `permission` says `write`, its `role_name` says `maintain`.
    Maintain,
    /// May do everything.
    Admin,
}

impl Permission {
    /// The legacy word of the `permission` field: triage is `read`, maintain is `write`.
    pub(crate) fn legacy(self) -> &'static str {
        match self {
            Permission::None => "none",
            Permission::Read | Permission::Triage => "read",
            Permission::Write | Permission::Maintain => "write",
            Permission::Admin => "admin",
        }
    }

    pub(crate) fn role(self) -> &'static str {
        match self {
            Permission::None => "none",
            Permission::Read => "read",
            Permission::Triage => "triage",
            Permission::Write => "write",
            Permission::Maintain => "maintain",
            Permission::Admin => "admin",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) permission: Permission,
    /// Membership of the organisation is hidden: `author_association` says `NONE` although the person may push.
    pub(crate) hidden: bool,
}

#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) id: Id,
    pub(crate) owner: Id,
    pub(crate) name: String,
    /// `owner/name` as it was called before: requests for it are redirected.
    pub(crate) former: Vec<String>,
    pub(crate) private: bool,
    pub(crate) default_branch: String,
    pub(crate) git: PathBuf,
    pub(crate) fork_of: Option<Id>,
    pub(crate) archived: bool,
    /// Deleted, or out of everyone's reach.
    pub(crate) gone: bool,
    /// The App is installed here.
    pub(crate) installed: bool,
    /// `false`: asking for a draft is refused with 422, as on plans without drafts.
    pub(crate) drafts: bool,
    pub(crate) members: BTreeMap<Id, Member>,
    /// Those who get a notification for everything.
    pub(crate) watchers: BTreeSet<Id>,
    pub(crate) labels: BTreeMap<String, Label>,
    pub(crate) protected: BTreeSet<String>,
    pub(crate) required_checks: Vec<String>,
    pub(crate) next_number: u64,
    pub(crate) issues: BTreeMap<u64, Issue>,
    pub(crate) comments: BTreeMap<Id, Comment>,
    pub(crate) reviews: BTreeMap<Id, Review>,
    pub(crate) review_comments: BTreeMap<Id, ReviewComment>,
    pub(crate) suites: BTreeMap<Id, Suite>,
    pub(crate) check_runs: BTreeMap<Id, CheckRun>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) workflow_runs: BTreeMap<Id, WorkflowRun>,
    pub(crate) jobs: BTreeMap<Id, Job>,
    /// What each job had to do, for running it again.
    pub(crate) work: BTreeMap<Id, super::ci::Work>,
    pub(crate) ci: Ci,
    /// What CI hands to jobs that name it, by name.
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) created: Time,
    pub(crate) pushed: Time,
}

/// The App under test and its one installation.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) id: Id,
    pub(crate) client_id: String,
    pub(crate) slug: String,
    pub(crate) name: String,
    pub(crate) bot: Id,
    pub(crate) owner: Id,
    pub(crate) webhook_secret: String,
    pub(crate) installation: Id,
    /// What the installation grants.
    pub(crate) permissions: BTreeMap<String, String>,
    /// What the App's settings ask for, where that is something else.
    pub(crate) asked: Option<BTreeMap<String, String>>,
    pub(crate) events: BTreeSet<String>,
    pub(crate) suspended: Option<Time>,
    pub(crate) created: Time,
}

/// An installation token, or a person's.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) actor: Id,
    pub(crate) app: Id,
    pub(crate) permissions: BTreeMap<String, String>,
    /// `None`: every repository of the installation.
    pub(crate) repositories: Option<Vec<Id>>,
    pub(crate) expires: Time,
}

/// One webhook as it was sent, as `GET /app/hook/deliveries` tells it.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) id: Id,
    pub(crate) guid: String,
    pub(crate) event: String,
    pub(crate) action: Option<String>,
    pub(crate) repository: Option<Id>,
    pub(crate) payload: serde_json::Value,
    pub(crate) redelivery: bool,
    pub(crate) at: Time,
    pub(crate) seconds: f64,
    /// 0 where no answer came.
    pub(crate) status_code: u16,
    pub(crate) answer: String,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) api: String,
    pub(crate) web: String,
    /// Where signed log addresses point: another origin, which must never see a token.
    pub(crate) storage: String,
    pub(crate) root: PathBuf,
    pub(crate) last_id: Id,
    pub(crate) users: BTreeMap<Id, User>,
    pub(crate) app: App,
    pub(crate) tokens: BTreeMap<String, Token>,
    pub(crate) token_ttl: chrono::TimeDelta,
    pub(crate) repositories: BTreeMap<Id, Repository>,
    pub(crate) deliveries: VecDeque<Delivery>,
    pub(crate) manifests: BTreeMap<String, serde_json::Value>,
    pub(crate) signed: BTreeMap<String, Vec<u8>>,
    pub(crate) notifications: Vec<super::notifications::Notification>,
    pub(crate) rate: super::auth::Rate,
    /// Given to what is created from now on; see [`Issue::lag`].
    pub(crate) list_lag: u32,
    /// How often GitHub does not know yet whether a pull request merges, each time its head or base has moved.
    pub(crate) merge_lag: u32,
    /// The App's tokens reach forks whose owners let maintainers push.
    pub(crate) reaches_forks: bool,
    pub(crate) wires: super::Wires,
}

impl World {
    pub(crate) fn id(&mut self) -> Id {
        self.last_id += 1;
        self.last_id
    }

    #[expect(clippy::expect_used, reason = "repositories are marked as gone, never removed")]
    pub(crate) fn repo_mut(&mut self, id: Id) -> &mut Repository {
        self.repositories.get_mut(&id).expect("an id that came from this world")
    }

    /// The account of that login, made when it is new.
    pub(crate) fn user(&mut self, login: &str) -> Id {
        if let Some(id) = self.find_user(login) {
            return id;
        }
        let kind = if login.ends_with("[bot]") { Kind::Bot } else { Kind::User };
        self.make_user(login, kind)
    }

    pub(crate) fn make_user(&mut self, login: &str, kind: Kind) -> Id {
        let id = self.id();
        self.users.insert(id, User { id, login: login.into(), kind });
        id
    }

    pub(crate) fn find_user(&self, login: &str) -> Option<Id> {
        self.users.values().find(|user| user.login.eq_ignore_ascii_case(login)).map(|user| user.id)
    }

    pub(crate) fn login(&self, id: Id) -> &str {
        self.users.get(&id).map_or("ghost", |user| &user.login)
    }

    pub(crate) fn find_repository(&self, owner: &str, name: &str) -> Option<Id> {
        let same = |repo: &&Repository| {
            !repo.gone
                && repo.name.eq_ignore_ascii_case(name)
                && self.login(repo.owner).eq_ignore_ascii_case(owner)
        };
        self.repositories.values().find(same).map(|repo| repo.id)
    }

    pub(crate) fn full_name(&self, repo: &Repository) -> String {
        format!("{}/{}", self.login(repo.owner), repo.name)
    }

    /// What `user` may do in `repo`, public reading included.
    pub(crate) fn permission(&self, repo: &Repository, user: Id) -> Permission {
        if repo.owner == user {
            return Permission::Admin;
        }
        let least = if repo.private { Permission::None } else { Permission::Read };
        repo.members.get(&user).map_or(least, |member| member.permission.max(least))
    }

    pub(crate) fn association(&self, repo: &Repository, user: Id) -> &'static str {
        let organization = self.users.get(&repo.owner).is_some_and(|owner| owner.kind == Kind::Organization);
        let merged = |issue: &Issue| issue.pull.as_ref().is_some_and(|pull| pull.merged.is_some());
        match repo.members.get(&user) {
            _ if repo.owner == user => "OWNER",
            Some(member) if !member.hidden && organization => "MEMBER",
            Some(member) if !member.hidden => "COLLABORATOR",
            _ if repo.issues.values().any(|issue| issue.author == user && merged(issue)) => "CONTRIBUTOR",
            _ => "NONE",
        }
    }

    /// The same for the author of a pull request, of whom GitHub tells that it is the first one.
    pub(crate) fn association_of_author(&self, repo: &Repository, user: Id) -> &'static str {
        match self.association(repo, user) {
            "NONE" if !repo.members.contains_key(&user) => "FIRST_TIME_CONTRIBUTOR",
            known => known,
        }
    }
}

pub(crate) fn stamp(time: Time) -> String {
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}
