//! `fixpoint explain exposure`: what CI would hand to a change that fixpoint pushes.

use crate::domain::{
    policy::exposure::{
        self, EVERY_SECRET, File, Job, Permissions, Place, WORKFLOW, WORKFLOWS, is_action, is_yaml,
    },
    text::{shorten, terminal},
};
use anyhow::Context;
use clap::Args;
use serde_json::json;
use std::{
    collections::BTreeSet,
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Folders below folders in which actions are looked for, and files looked at in all: more is no repository's way.
const DEEPEST: usize = 6;
/// The same.
const MOST_FILES: usize = 20_000;

/// Widest cell of the table, in characters.
const CELL: usize = 44;

#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// A repository's folder, or a folder of workflow files.
    dir: PathBuf,
    /// The branch that would be pushed.
    #[arg(long, default_value = "fixpoint/1-change")]
    branch: String,
    /// The branch that its pull request would go to.
    #[arg(long, default_value = "main")]
    base: String,
    /// A path that the change touches, may be given more than once; without any, filters of paths count as fitting.
    #[arg(long = "path")]
    paths: Vec<String>,
    /// Print one JSON object instead of words.
    #[arg(long)]
    json: bool,
}

#[allow(clippy::print_stdout, reason = "the answer is the program's output")]
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (files, given) = files(&arguments.dir)?;
    let files: Vec<File<'_>> =
        files.iter().map(|(path, text)| File { path, text: text.as_deref() }).collect();
    let paths = (!arguments.paths.is_empty()).then_some(arguments.paths.as_slice());
    let jobs = exposure::read(&files, &Place { branch: &arguments.branch, base: &arguments.base, paths });
    let jobs: Vec<Job> =
        jobs.into_iter().map(|job| Job { workflow: given.shown(&job.workflow), ..job }).collect();
    if arguments.json {
        println!("{}", json!({ "jobs": jobs.iter().map(object).collect::<Vec<_>>() }));
    } else {
        match files.is_empty() {
            true => println!("There is no workflow in {}.", arguments.dir.display()),
            false => print!("{}", words(&jobs)),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What the folder is.
#[derive(Clone, Copy)]
enum Given {
    Repository,
    Workflows,
}

impl Given {
    /// A path as it lies in the folder.
    fn shown(self, path: &str) -> String {
        match (self, path.strip_prefix(WORKFLOWS).and_then(|rest| rest.strip_prefix('/'))) {
            (Self::Workflows, Some(name)) => name.to_owned(),
            _ => path.to_owned(),
        }
    }
}

/// A path of the repository, and its text unless it is too long.
type Text = (String, Option<String>);

/// The workflows and actions of a folder.
fn files(dir: &Path) -> anyhow::Result<(Vec<Text>, Given)> {
    anyhow::ensure!(dir.is_dir(), "{} is no folder", dir.display());
    let is_repository = dir.join(WORKFLOWS).is_dir() || dir.join(".git").exists();
    let (given, workflows) = match is_repository {
        true => (Given::Repository, dir.join(WORKFLOWS)),
        false => (Given::Workflows, dir.to_owned()),
    };
    let mut found = Vec::new();
    for name in names(&workflows).into_iter().filter(|name| is_yaml(name)) {
        let text = text(&workflows.join(&name))?;
        found.push((format!("{WORKFLOWS}/{name}"), text));
    }
    if !is_repository
        && found.is_empty()
        && let Some(top) = top_above(dir)
    {
        anyhow::bail!("no workflow is in {}; its repository is {}", dir.display(), top.display());
    }
    let mut left = MOST_FILES;
    actions(dir, &mut Vec::new(), &mut left, &mut found)?;
    Ok((found, given))
}

/// The repository that a folder is somewhere in.
fn top_above(dir: &Path) -> Option<PathBuf> {
    let dir = dir.canonicalize().ok()?;
    let top = dir
        .ancestors()
        .skip(1)
        .find(|above| above.join(WORKFLOWS).is_dir() || above.join(".git").exists())?;
    Some(top.to_owned())
}

/// Adds the actions below a folder; links are not followed.
fn actions(dir: &Path, at: &mut Vec<String>, left: &mut usize, found: &mut Vec<Text>) -> anyhow::Result<()> {
    for name in names(dir) {
        if *left == 0 || at.len() == DEEPEST || name == ".git" {
            continue;
        }
        *left -= 1;
        let path = dir.join(&name);
        if path.is_symlink() {
            continue;
        }
        at.push(name);
        if path.is_dir() {
            actions(&path, at, left, found)?;
        } else if is_action(&at.join("/")) {
            found.push((at.join("/"), text(&path)?));
        }
        at.pop();
    }
    Ok(())
}

/// The names in a folder, sorted; none where there is no such folder.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().take(MOST_FILES);
    let names: BTreeSet<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.into_iter().collect()
}

/// A file's text; `None` for what GitHub would not read as a workflow: too long, or a link.
fn text(path: &Path) -> anyhow::Result<Option<String>> {
    if path.is_symlink() || !path.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let most = u64::try_from(WORKFLOW).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
    Ok((bytes.len() <= WORKFLOW).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

fn object(job: &Job) -> serde_json::Value {
    json!({
        "workflow": job.workflow,
        "job": job.job,
        "event": job.event,
        "secrets": job.secrets,
        "permissions": job.permissions,
        "environment": job.environment,
        "runner": job.runner,
        "self_hosted": job.self_hosted,
    })
}

fn words(jobs: &[Job]) -> String {
    let mut out = format!("{}\n", upshot(jobs));
    if jobs.is_empty() {
        return out;
    }
    let head = ["workflow", "job", "event", "secrets", "permissions", "environment", "runner"];
    let rows: Vec<[String; 7]> =
        std::iter::once(head.map(str::to_owned)).chain(jobs.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    out.push('\n');
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    let unread: BTreeSet<String> =
        jobs.iter().filter_map(|job| Some(format!("{}: {}", job.workflow, job.unread.as_deref()?))).collect();
    for one in unread {
        out.push_str(&format!("\n{}; what cannot be read counts as handing out everything", terminal(&one)));
    }
    if out.ends_with('\n') { out } else { out + "\n" }
}

/// The upshot in a sentence.
fn upshot(jobs: &[Job]) -> String {
    let distinct = |jobs: &mut dyn Iterator<Item = &Job>| {
        jobs.map(|job| (job.workflow.as_str(), job.job.as_str())).collect::<BTreeSet<_>>().len()
    };
    let (all, exposed) =
        (distinct(&mut jobs.iter()), distinct(&mut jobs.iter().filter(|job| job.is_exposed())));
    let noun = |n: usize| if n == 1 { "job runs" } else { "jobs run" };
    match (all, exposed) {
        (0, _) => "No job runs on a push of fixpoint's or on its pull request.".to_owned(),
        (all, 0) => format!(
            "{all} {} on what fixpoint pushes, and none of them is handed a secret, an environment, a token that is said to write, or a machine that is not GitHub's.",
            noun(all)
        ),
        (all, exposed) => format!(
            "{all} {} on what fixpoint pushes, and {exposed} of them {} handed something that whoever wrote the change gets with it.",
            noun(all),
            if exposed == 1 { "is" } else { "are" }
        ),
    }
}

fn row(job: &Job) -> [String; 7] {
    let cell = |text: &str| if text.is_empty() { "-".to_owned() } else { shorten(&terminal(text), CELL) };
    let secrets = match job.secrets.iter().any(|name| name == EVERY_SECRET) {
        true => "every one".to_owned(),
        false => job.secrets.join(", "),
    };
    let permissions = match &job.permissions {
        Permissions::Word(word) => word.clone(),
        Permissions::Each(each) if each.is_empty() => "none".to_owned(),
        Permissions::Each(each) => {
            each.iter().map(|(name, level)| format!("{name}: {level}")).collect::<Vec<_>>().join(", ")
        }
    };
    let runner =
        if job.self_hosted { format!("{} (perhaps not GitHub's)", job.runner) } else { job.runner.clone() };
    let name = job.workflow.rsplit('/').next().unwrap_or(&job.workflow);
    [
        cell(name),
        cell(&job.job),
        cell(&job.event),
        cell(&secrets),
        cell(&permissions),
        cell(job.environment.as_deref().unwrap_or_default()),
        shorten(&terminal(&runner), CELL + 24),
    ]
}
