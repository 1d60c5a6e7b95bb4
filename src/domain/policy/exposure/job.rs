//! Which jobs run, and what each is handed; calls of reusable workflows and chains of workflows followed.

use super::{
    EVERY_SECRET, Job, MOST_JOBS, NAME, Permissions, Place, condition, runner, secrets,
    trigger::{self, Start},
    yaml,
};
use crate::domain::text;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Workflows that call each other, and actions that use each other: GitHub allows ten levels of either.
const DEEPEST: usize = 10;

/// Trees by path.
type Files<'a> = BTreeMap<&'a str, Value>;

/// Adds every job of these workflows that runs on the change.
pub(super) fn read(workflows: &Files<'_>, actions: &Files<'_>, place: &Place<'_>, into: &mut Vec<Job>) {
    let mut reader = Reader { workflows, actions, place, left: MOST_JOBS, jobs: into };
    for (path, start) in started(workflows, place) {
        reader.workflow(&Call {
            top: path,
            name: String::new(),
            path,
            start: &start,
            given: None,
            permissions: None,
            depth: 0,
        });
    }
}

/// Every workflow with what starts it; those that follow another follow one that was started.
fn started<'a>(workflows: &'a Files<'_>, place: &Place<'_>) -> Vec<(&'a str, Start)> {
    let mut started: Vec<(&str, Start)> = Vec::new();
    for (path, tree) in workflows {
        started.extend(trigger::starts(tree, place).into_iter().map(|start| (*path, start)));
    }
    let mut names: BTreeSet<String> = started.iter().map(|(path, _)| named(path, &workflows[path])).collect();
    // GitHub follows three in a row; here whatever can be reached is.
    loop {
        let before = started.len();
        for (path, tree) in workflows {
            let Some((followed, start)) = trigger::follows(tree, place) else { continue };
            let is_there = started.iter().any(|(known, of)| known == path && of.event == start.event);
            let begins = start.unread.is_some() || followed.iter().any(|name| names.contains(name));
            if begins && !is_there {
                names.insert(named(path, tree));
                started.push((path, start));
            }
        }
        if started.len() == before {
            return started;
        }
    }
}

/// A workflow's name; without one GitHub takes its path.
fn named(path: &str, workflow: &Value) -> String {
    workflow.get("name").and_then(Value::as_str).unwrap_or(path).to_owned()
}

/// One workflow that runs: started by an event, or called by a job.
struct Call<'a> {
    /// The workflow that was started.
    top: &'a str,
    /// The jobs that call it, each followed by ` / `.
    name: String,
    path: &'a str,
    start: &'a Start,
    /// What is passed to it: names within it, and what they stand for. `None`: all there is.
    given: Option<BTreeMap<String, BTreeSet<String>>>,
    /// What its caller's token may do, where that is said.
    permissions: Option<Permissions>,
    depth: usize,
}

struct Reader<'a> {
    workflows: &'a Files<'a>,
    actions: &'a Files<'a>,
    place: &'a Place<'a>,
    /// Jobs that may still be looked at.
    left: usize,
    jobs: &'a mut Vec<Job>,
}

impl Reader<'_> {
    fn workflow(&mut self, call: &Call<'_>) {
        let tree = &self.workflows[call.path];
        let jobs = match tree.get("jobs") {
            // Without jobs it is a file that GitHub refuses, and runs nothing.
            None | Some(Value::Null) => return,
            Some(Value::Object(jobs)) => jobs,
            Some(_) => {
                self.jobs.push(Job::unread(call.path, "it has no jobs that can be read"));
                return;
            }
        };
        for (key, job) in jobs {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            if self.left == 0 {
                self.jobs.push(Job::unread(call.top, "it has more jobs than are read"));
            } else if !is_skipped(job, call.start, self.place) {
                self.job(call, tree, key, job);
            }
        }
    }

    fn job(&mut self, call: &Call<'_>, workflow: &Value, key: &str, job: &Value) {
        let permissions = permissions(job).or_else(|| permissions(workflow)).or(call.permissions.clone());
        let name = format!("{}{key}", call.name);
        match job.get("uses").and_then(Value::as_str) {
            Some(uses) => self.called(call, uses, (name, workflow, job), permissions),
            None => {
                let (runner, self_hosted) = runner::runner(job);
                let secrets = self.handed(call, workflow, job);
                let unread = match job.is_object() {
                    true => call.start.unread,
                    false => Some("what it does"),
                };
                self.push(
                    call,
                    &name,
                    Job {
                        secrets: secrets.into_iter().collect(),
                        permissions: permissions.unwrap_or_else(Permissions::default_of_the_repository),
                        environment: environment(job),
                        runner,
                        self_hosted,
                        ..blank(unread)
                    },
                );
            }
        }
    }

    /// A job that is a call of another workflow.
    fn called(
        &mut self,
        call: &Call<'_>,
        uses: &str,
        (name, workflow, job): (String, &Value, &Value),
        permissions: Option<Permissions>,
    ) {
        let passed = passed(job);
        let known = uses.strip_prefix("./").and_then(|path| self.workflows.get_key_value(path));
        if let (Some((path, _)), true) = (known, call.depth < DEEPEST) {
            let given = match passed {
                Passed::All => call.given.clone(),
                Passed::Named(named) => Some(
                    named.into_iter().map(|(name, secrets)| (name, through(call, secrets, false))).collect(),
                ),
            };
            let (top, start, depth) = (call.top, call.start, call.depth + 1);
            let inner = Call { top, name: format!("{name} / "), path, start, given, permissions, depth };
            self.workflow(&inner);
            return;
        }
        let secrets = match passed {
            Passed::All => [EVERY_SECRET.to_owned()].into(),
            Passed::Named(_) => self.handed(call, workflow, job),
        };
        let secrets = through(call, secrets, false);
        self.push(
            call,
            &name,
            Job {
                secrets: secrets.into_iter().collect(),
                permissions: permissions.unwrap_or_else(Permissions::default_of_the_repository),
                runner: text::shorten(uses, NAME),
                // A workflow of somebody else's runs where it wants to, on the caller's machines too.
                self_hosted: true,
                ..blank(Some("the workflow it calls"))
            },
        );
    }

    /// The secrets that a job takes: itself, by the workflow's environment, and by actions of the repository. A step's `if`
    /// spares nothing: a runner is sent all that its job takes, and whatever runs on it can read its memory.
    fn handed(&self, call: &Call<'_>, workflow: &Value, job: &Value) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut take = |key: &str, text: &str| secrets::taken(key, text, &mut found);
        yaml::texts(workflow.get("env").unwrap_or(&Value::Null), "env", &mut take);
        yaml::texts(job, "", &mut take);
        for action in self.actions_of(job) {
            yaml::texts(action, "", &mut take);
        }
        through(call, found, environment(job).is_some())
    }

    /// The repository's own actions that a job uses, and those that they use.
    fn actions_of(&self, job: &Value) -> Vec<&Value> {
        let mut found: BTreeMap<String, &Value> = BTreeMap::new();
        let mut look: Vec<&Value> = vec![job];
        for _ in 0..DEEPEST {
            let mut next = Vec::new();
            for tree in std::mem::take(&mut look) {
                for path in used(tree) {
                    let file = |end: &str| format!("{path}/{end}").trim_start_matches('/').to_owned();
                    let tree = ["action.yml", "action.yaml"]
                        .into_iter()
                        .find_map(|end| self.actions.get(&*file(end)));
                    if let (Some(tree), false) = (tree, found.contains_key(&path)) {
                        found.insert(path, tree);
                        next.push(tree);
                    }
                }
            }
            look = next;
        }
        found.into_values().collect()
    }

    fn push(&mut self, call: &Call<'_>, name: &str, job: Job) {
        self.jobs.push(Job {
            workflow: text::shorten(call.top, NAME),
            job: text::shorten(name, NAME),
            event: text::shorten(&call.start.event, NAME),
            ..job
        });
    }
}

/// What is not known of a job but by its reader.
fn blank(unread: Option<&str>) -> Job {
    Job {
        environment: None,
        unread: unread.map(|what| format!("{what} cannot be read here")),
        ..Job::unread("", "")
    }
}

/// The folders of the repository's own actions that are used anywhere below.
fn used(tree: &Value) -> Vec<String> {
    let mut used = Vec::new();
    yaml::texts(tree, "", &mut |key, text| {
        if let ("uses", Some(path)) = (key, text.strip_prefix("./").or((text == ".").then_some(""))) {
            used.push(path.trim_end_matches('/').to_owned());
        }
    });
    used
}

/// What a call passes on.
enum Passed {
    All,
    Named(BTreeMap<String, BTreeSet<String>>),
}

fn passed(job: &Value) -> Passed {
    match job.get("secrets") {
        Some(Value::Object(named)) => {
            let taken = |value: &Value| {
                let mut found = BTreeSet::new();
                yaml::texts(value, "", &mut |key, text| secrets::taken(key, text, &mut found));
                found
            };
            Passed::Named(named.iter().map(|(name, value)| (name.to_uppercase(), taken(value))).collect())
        }
        // `inherit`, and whatever else may stand there.
        Some(Value::String(_)) => Passed::All,
        _ => Passed::Named(BTreeMap::new()),
    }
}

/// What names within a called workflow stand for outside of it. An environment's secrets come from there, not by the call.
fn through(call: &Call<'_>, names: BTreeSet<String>, has_environment: bool) -> BTreeSet<String> {
    let Some(given) = &call.given else { return names };
    let stands_for = |name: String| match given.get(&name) {
        Some(outside) => outside.clone(),
        None if name == EVERY_SECRET => {
            let all = given.values().flatten().cloned();
            all.chain(has_environment.then(|| EVERY_SECRET.to_owned())).collect()
        }
        None if has_environment => [name].into(),
        None => BTreeSet::new(),
    };
    names.into_iter().flat_map(stands_for).collect()
}

fn is_skipped(job: &Value, start: &Start, place: &Place<'_>) -> bool {
    match job.get("if") {
        Some(Value::Bool(runs)) => !runs,
        Some(Value::String(condition)) => condition::is_never(condition, &start.event, place),
        _ => false,
    }
}

/// What a job or a workflow says of its token.
fn permissions(of: &Value) -> Option<Permissions> {
    let unknown = || Permissions::Word("unknown".to_owned());
    Some(match of.get("permissions")? {
        Value::Null => return None,
        Value::String(word) if matches!(word.as_str(), "read-all" | "write-all") => {
            Permissions::Word(word.clone())
        }
        Value::Object(each) => {
            let level = |level: &Value| text::shorten(level.as_str().unwrap_or("unknown"), NAME);
            Permissions::Each(each.iter().map(|(name, of)| (text::shorten(name, NAME), level(of))).collect())
        }
        _ => unknown(),
    })
}

fn environment(job: &Value) -> Option<String> {
    let name = match job.get("environment")? {
        Value::Object(environment) => environment.get("name")?.clone(),
        name => name.clone(),
    };
    let name = yaml::words(&name)?.join(", ");
    (!name.is_empty()).then(|| text::shorten(&name, NAME))
}
