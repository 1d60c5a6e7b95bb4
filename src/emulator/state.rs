//! What the emulated GitHub knows: plain data, held in memory behind one lock.
//!
//! Nothing here speaks a wire format; [`super::render`] turns these into the JSON that GitHub sends.

use super::ci::Ci;
use chrono::{DateTime, Utc};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

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
    pub(crate) created: Time,
    pub(crate) pushed: Time,
}

#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) color: String,
    pub(crate) description: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Reaction {
    pub(crate) id: Id,
    pub(crate) user: Id,
    pub(crate) content: String,
    pub(crate) created: Time,
}

#[derive(Debug, Clone)]
pub(crate) struct Issue {
    pub(crate) id: Id,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) author: Id,
    pub(crate) via_app: bool,
    pub(crate) open: bool,
    pub(crate) locked: bool,
    pub(crate) labels: Vec<String>,
    pub(crate) assignees: Vec<Id>,
    pub(crate) created: Time,
    pub(crate) updated: Time,
    pub(crate) closed: Option<Time>,
    pub(crate) closed_by: Option<Id>,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) subscribers: BTreeSet<Id>,
    /// How many more list answers leave this out (GitHub's lists lag behind its writes).
    pub(crate) lag: u32,
    pub(crate) pull: Option<Pull>,
}

#[derive(Debug, Clone)]
pub(crate) struct Side {
    pub(crate) repository: Id,
    pub(crate) branch: String,
    pub(crate) sha: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Pull {
    pub(crate) id: Id,
    pub(crate) head: Side,
    pub(crate) base: Side,
    pub(crate) draft: bool,
    pub(crate) merged: Option<Merged>,
    pub(crate) maintainer_can_modify: bool,
    pub(crate) reviewers: Vec<Id>,
    /// It stands in the merge queue.
    pub(crate) queued: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Merged {
    pub(crate) at: Time,
    pub(crate) by: Id,
    pub(crate) sha: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub(crate) id: Id,
    pub(crate) issue: u64,
    pub(crate) author: Id,
    pub(crate) via_app: bool,
    pub(crate) body: String,
    pub(crate) created: Time,
    pub(crate) updated: Time,
    pub(crate) reactions: Vec<Reaction>,
    pub(crate) minimized: Option<String>,
    pub(crate) lag: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Review {
    pub(crate) id: Id,
    pub(crate) pull: u64,
    pub(crate) author: Id,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`, `PENDING` or `DISMISSED`.
    pub(crate) state: String,
    pub(crate) body: String,
    pub(crate) commit: String,
    pub(crate) submitted: Time,
}

#[derive(Debug, Clone)]
pub(crate) struct ReviewComment {
    pub(crate) id: Id,
    pub(crate) pull: u64,
    pub(crate) review: Id,
    pub(crate) author: Id,
    pub(crate) body: String,
    pub(crate) path: String,
    pub(crate) line: u64,
    pub(crate) commit: String,
    pub(crate) hunk: String,
    pub(crate) in_reply_to: Option<Id>,
    /// Of the first comment of a thread only.
    pub(crate) resolved_by: Option<Id>,
    pub(crate) created: Time,
    pub(crate) updated: Time,
    pub(crate) reactions: Vec<Reaction>,
}

/// Of a check run, job, suite or workflow run: where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    Queued,
    InProgress,
    Completed(String),
}

impl Progress {
    pub(crate) fn status(&self) -> &'static str {
        match self {
            Progress::Queued => "queued",
            Progress::InProgress => "in_progress",
            Progress::Completed(_) => "completed",
        }
    }

    pub(crate) fn conclusion(&self) -> Option<&str> {
        match self {
            Progress::Completed(conclusion) => Some(conclusion),
            _ => None,
        }
    }

    pub(crate) fn is_completed(&self) -> bool {
        matches!(self, Progress::Completed(_))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Suite {
    pub(crate) id: Id,
    pub(crate) app: Id,
    pub(crate) head_sha: String,
    pub(crate) head_branch: Option<String>,
    pub(crate) before: Option<String>,
    pub(crate) progress: Progress,
    pub(crate) created: Time,
    pub(crate) updated: Time,
}

#[derive(Debug, Clone)]
pub(crate) struct CheckRun {
    pub(crate) id: Id,
    pub(crate) suite: Id,
    pub(crate) app: Id,
    pub(crate) name: String,
    pub(crate) head_sha: String,
    pub(crate) progress: Progress,
    pub(crate) details_url: Option<String>,
    pub(crate) external_id: String,
    pub(crate) title: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) started: Option<Time>,
    pub(crate) completed: Option<Time>,
}

/// One annotation of a check run.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Annotation {
    /// The file, relative to the repository's root; GitHub writes `.github` when it means the run itself.
    pub path: String,
    /// First line, 1-based.
    pub start_line: u64,
    /// Last line, inclusive.
    pub end_line: u64,
    /// `notice`, `warning` or `failure`.
    pub annotation_level: String,
    /// The text that is shown.
    pub message: String,
    /// A heading.
    #[serde(default)]
    pub title: Option<String>,
}

impl Annotation {
    /// What Actions writes when something went wrong with a job itself rather than with a file.
    pub fn of_the_run(message: impl Into<String>) -> Annotation {
        Annotation {
            path: ".github".into(),
            start_line: 1,
            end_line: 1,
            annotation_level: "failure".into(),
            message: message.into(),
            title: None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) id: Id,
    pub(crate) sha: String,
    pub(crate) context: String,
    pub(crate) state: String,
    pub(crate) description: Option<String>,
    pub(crate) target_url: Option<String>,
    pub(crate) creator: Id,
    pub(crate) created: Time,
}

#[derive(Debug, Clone)]
pub(crate) struct WorkflowRun {
    pub(crate) id: Id,
    pub(crate) suite: Id,
    pub(crate) workflow: Workflow,
    pub(crate) number: u64,
    pub(crate) attempt: u64,
    pub(crate) event: String,
    pub(crate) head_sha: String,
    pub(crate) head_branch: String,
    pub(crate) actor: Id,
    pub(crate) progress: Progress,
    pub(crate) created: Time,
    pub(crate) updated: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workflow {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) path: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) progress: Progress,
    pub(crate) log: String,
    pub(crate) started: Option<Time>,
    pub(crate) completed: Option<Time>,
}

#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Equal to the id of its check run, as on GitHub.
    pub(crate) id: Id,
    pub(crate) run: Id,
    pub(crate) attempt: u64,
    pub(crate) name: String,
    pub(crate) progress: Progress,
    pub(crate) steps: Vec<Step>,
    /// `None` until the job has a log: asking for it is a 404.
    pub(crate) log: Option<String>,
    pub(crate) runner: Option<String>,
    pub(crate) created: Time,
    pub(crate) started: Option<Time>,
    pub(crate) completed: Option<Time>,
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
    pub(crate) permissions: BTreeMap<String, String>,
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
        match repo.members.get(&user) {
            _ if repo.owner == user => "OWNER",
            Some(member) if member.hidden => "NONE",
            Some(_) if organization => "MEMBER",
            Some(_) => "COLLABORATOR",
            None => "NONE",
        }
    }
}

pub(crate) fn stamp(time: Time) -> String {
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}
