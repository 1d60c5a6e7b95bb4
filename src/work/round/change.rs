//! A round's change on its way out: the policy on the very tree to be pushed, the commit, the kept patch.

use super::around::around;
use crate::{
    domain::{
        Sha, State,
        policy::{Flag, Ruling, Survey, rule, survey},
        repo_config::Update,
        say,
        session::{Cause, Ending},
    },
    git::{Merged, Mirror, Signature},
    store::Lease,
    work::{Halt, Parts, drive::Driver, journal::loose, own},
};

/// What a round changes, seen from the host.
pub(in crate::work) struct Change {
    pub(in crate::work) parts: Parts,
    pub(in crate::work) state: State,
    pub(super) lease: Lease,
    pub(in crate::work) mirror: Mirror,
    /// The commit the round starts from.
    pub(in crate::work) start: Sha,
    /// The base that is taken in, in a round that is about that.
    pub(in crate::work) merge: Option<Merge>,
    /// The tree the round's work begins with: the start's, or the merge's with its conflicts.
    pub(super) first_tree: Sha,
}

/// The base on its way into the branch.
pub(in crate::work) struct Merge {
    /// The base's commit.
    pub(super) tip: Sha,
    /// What libgit2 made of it.
    pub(super) merged: Merged,
}

impl Merge {
    /// The files that somebody has to decide about.
    pub(in crate::work) fn files(&self) -> &[String] {
        match &self.merged {
            Merged::Conflicts { files, .. } => files,
            _ => &[],
        }
    }
}

/// What is said of a change.
pub(super) struct Said {
    /// What was done, and why.
    pub(super) summary: String,
    /// The repository's template for pull requests, filled in.
    pub(super) description: Option<String>,
}

/// What the policy says of a tree.
pub(in crate::work) enum Ruled {
    Pass(Vec<Flag>, Box<Survey>),
    Refuse(Vec<String>),
}

impl Change {
    pub(super) async fn of(driver: &Driver) -> Result<Self, Halt> {
        let (parts, state, lease) = (driver.parts.clone(), driver.state.clone(), driver.lease.clone());
        // A round without a start cannot have begun.
        let start = state.facts.start.clone().ok_or(Halt::Empty)?;
        let mirror = parts.mirror(&state).await?;
        let mut first_tree = mirror.tree_of(&start).await?;
        let mut merge = None;
        if let (Cause::Conflict, Some(tip)) = (state.facts.cause, state.facts.tip.clone()) {
            let merged = mirror.merge(&start, &tip).await?;
            if let Merged::Clean { tree } | Merged::Conflicts { tree, .. } = &merged {
                first_tree = tree.clone();
            }
            merge = Some(Merge { tip, merged });
        }
        Ok(Self { parts, state, lease, mirror, start, merge, first_tree })
    }

    /// A base that can be taken in without anybody thinking about it.
    pub(super) async fn by_itself(&self) -> Result<Option<Ending>, Halt> {
        let base = &self.state.facts.base.branch;
        match &self.merge {
            Some(Merge { merged: Merged::UpToDate, .. }) => {
                let summary = format!("The branch holds all of `{base}` already.");
                Ok(Some(Ending::Nothing { summary }))
            }
            Some(Merge { merged: Merged::Clean { tree }, .. }) => {
                let said = Said { summary: format!("Merge {base}"), description: None };
                Ok(Some(match self.ruling(tree).await? {
                    Ruled::Pass(flags, survey) => self.committed(tree.clone(), said, flags, *survey).await?,
                    Ruled::Refuse(reasons) => Ending::Refused { why: reasons.join(" ") },
                }))
            }
            _ => Ok(None),
        }
    }

    /// Nothing differs from what the round began with; a resolution may well keep one side as it was.
    pub(super) fn is_unchanged(&self, tree: &Sha) -> bool {
        self.merge.is_none() && *tree == self.first_tree
    }

    /// What the policy says of the very tree that would be pushed, and what it touches.
    pub(super) async fn ruling(&self, tree: &Sha) -> Result<Ruled, Halt> {
        if let Some(merge) = &self.merge {
            let left = self.mirror.has_markers(tree, merge.files()).await?;
            if !left.is_empty() {
                let why = left.iter().map(|file| format!("`{file}` still holds conflict markers."));
                return Ok(Ruled::Refuse(why.collect()));
            }
        }
        ruled(&self.parts, &self.mirror, &self.before().await?, tree).await
    }

    /// The tree that the policy compares with. On our own branch it is the base: what an earlier round weakened stays in
    /// sight. On a person's it is what they had: their own doing is not ours to judge.
    async fn before(&self) -> Result<Sha, Halt> {
        let facts = &self.state.facts;
        Ok(match (&facts.guest, &self.merge) {
            (Some(_), _) => self.first_tree.clone(),
            (None, Some(merge)) => self.mirror.tree_of(&merge.tip).await?,
            (None, None) => {
                // What a person took in from the base since then is the base's.
                let taken_in = match &facts.tip {
                    // A shallow history may not reach so far; then the base is the one that is recorded.
                    Some(tip) => self.mirror.merge_base(tip, &self.start).await.unwrap_or_default(),
                    None => None,
                };
                let base = taken_in.as_ref().or(facts.base.sha.as_ref());
                self.mirror.tree_of(base.unwrap_or(&self.start)).await?
            }
        })
    }

    /// The commit is made before its push is intended, its date included: pushing twice pushes the same.
    pub(super) async fn committed(
        &self,
        tree: Sha,
        Said { summary, description }: Said,
        flags: Vec<Flag>,
        survey: Survey,
    ) -> Result<Ending, Halt> {
        let takes_in = self.merge.as_ref().map(|merge| merge.tip.clone());
        // A branch of ours may begin anew on the base, as one commit; a person's is only ever added to.
        let facts = &self.state.facts;
        let rebased = facts.guest.is_none() && self.parts.house.holds.update == Update::Rebase;
        let rewrites = takes_in.is_some() && rebased;
        let summary = if rewrites { facts.summary.clone().unwrap_or(summary) } else { summary };
        let on = [self.start.clone()].into_iter().filter(|_| !rewrites);
        let parents: Vec<Sha> = on.chain(takes_in.clone()).collect();
        let commit = self.made(&tree, &parents, &summary).await?;
        if self.state.facts.guest.as_ref().is_some_and(|guest| !guest.pushable) {
            self.keep(&self.first_tree, &tree).await?;
        }
        let tainted = facts.tainted || facts.reads_strangers();
        let handed = self.handed(&tree).await?;
        let ask_first = self.parts.house.holds.ask.asks(tainted, !handed.is_empty());
        if ask_first {
            // Whoever is asked sees it, and a stop does not throw it away.
            self.keep(&self.before().await?, &tree).await?;
        }
        Ok(Ending::Changed {
            commit,
            tree,
            summary,
            description,
            flags,
            survey,
            handed,
            ask_first,
            takes_in,
            rewrites,
        })
    }

    async fn made(&self, tree: &Sha, parents: &[Sha], summary: &str) -> Result<Sha, Halt> {
        let at = self.parts.store.now().await?;
        let app = self.parts.app().await?;
        let bot = self.parts.repository(&self.state).bot().await?;
        let (name, email) = (bot.login.clone(), own::address(&bot));
        let session = self.lease.session.short();
        let context = crate::work::show::context(&self.parts, app, &self.state, &session, None);
        let message = say::commit(&self.state, summary, &context);
        let message = self.parts.house.holds.signed(message, &self.state.facts.request.asker);
        let commit = self.mirror.commit(tree, parents, &message, &Signature { name, email, at }).await?;
        self.mirror.hold(&format!("session/{}", self.lease.session), &commit).await?;
        Ok(commit)
    }

    /// Keeps what lies between two trees as the session's patch: work that is not pushed is not lost.
    pub(super) async fn keep(&self, from: &Sha, to: &Sha) -> Result<(), Halt> {
        let patch = self.mirror.patch(from, to).await?;
        if !patch.is_empty() {
            self.parts.patiently(|| self.parts.store.keep_patch(&self.lease, &patch)).await?;
        }
        Ok(())
    }
}

/// What the policy says of what lies between two trees.
pub(in crate::work) async fn ruled(
    parts: &Parts,
    mirror: &Mirror,
    before: &Sha,
    tree: &Sha,
) -> Result<Ruled, Halt> {
    let settings = &parts.settings;
    let files = mirror.diff(before, tree, &loose(&settings.limits)).await?;
    let around = around(parts, mirror, (before, tree), &files).await?;
    Ok(match rule(&files, &around, &settings.rules, &settings.limits, &settings.own_secrets()) {
        Ruling::Pass { flags } => Ruled::Pass(flags, Box::new(survey(&files))),
        Ruling::Refuse { reasons } => Ruled::Refuse(reasons),
    })
}
