//! What CI would hand to a change, by the workflows that would run on it.

use super::change::Change;
use crate::{
    domain::{
        Sha,
        policy::exposure::{self, File, Handed, Place},
    },
    work::Halt,
};

/// Paths below `.github` among which actions are looked for.
const MOST_PATHS: usize = 10_000;

impl Change {
    /// A push runs the workflows of the very tree, a pull request those of its merge with the base, and what follows either
    /// those of the default branch. Mostly all are the same; where they differ each counts.
    pub(super) async fn handed(&self, tree: &Sha) -> Result<Handed, Halt> {
        let facts = &self.state.facts;
        let touched = self.touched(tree).await?;
        let place = Place { branch: &facts.branch, base: &facts.base.branch, paths: touched.as_deref() };
        let trees =
            [facts.base.sha.as_ref().unwrap_or(&self.start), facts.tip.as_ref().unwrap_or(tree), tree];
        let mut jobs = Vec::new();
        let mut read = Vec::new();
        for tree in trees {
            let files = self.files(tree).await?;
            if read.contains(&files) {
                continue;
            }
            let given: Vec<File<'_>> =
                files.iter().map(|(path, text)| File { path, text: text.as_deref() }).collect();
            for job in exposure::read(&given, &place) {
                if !jobs.contains(&job) {
                    jobs.push(job);
                }
            }
            read.push(files);
        }
        if facts.guest.as_ref().is_some_and(|guest| guest.fork.is_some()) {
            jobs = jobs.into_iter().filter_map(exposure::Job::of_a_fork).collect();
        }
        Ok(Handed::of(jobs))
    }

    /// The paths of which a workflow's filter may see one; `None`: a merge brings more than can be told, and on a person's
    /// branch there is more than ours.
    async fn touched(&self, tree: &Sha) -> Result<Option<Vec<String>>, Halt> {
        let facts = &self.state.facts;
        if facts.guest.is_some() || self.merge.is_some() {
            return Ok(None);
        }
        let base = facts.base.sha.as_ref().unwrap_or(&self.start);
        // A push is compared with the push before it, a pull request with its base.
        let mut paths = Vec::new();
        for from in [base, &self.start] {
            paths.extend(self.mirror.stat(from, tree).await?.into_iter().map(|stat| stat.path));
        }
        Ok(Some(paths))
    }

    /// The workflows and actions of a tree; without a text those that are too long.
    async fn files(&self, tree: &Sha) -> Result<Vec<(String, Option<String>)>, Halt> {
        // One more than is read: that there are more is then seen there.
        let mut paths = self.mirror.paths(tree, exposure::WORKFLOWS, exposure::MOST_WORKFLOWS + 1).await?;
        let more = self.mirror.paths(tree, exposure::FOLDER, MOST_PATHS).await?;
        paths.extend(more.into_iter().filter(|path| exposure::is_action(path)));
        let mut files = Vec::new();
        for path in paths {
            let text = self.mirror.file(tree, &path, exposure::WORKFLOW + 1).await?.unwrap_or_default();
            let fits = text.len() <= exposure::WORKFLOW;
            files.push((path, fits.then(|| String::from_utf8_lossy(&text).into_owned())));
        }
        Ok(files)
    }
}
