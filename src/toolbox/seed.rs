//! `toolbox seed`: a pack becomes a repository with its files checked out, without a git program in the
//! image.
//!
//! The pack is the host's own (so its objects are not verified again), without deltas, and shallow: the
//! commit's parents are not in it. No filter runs, neither here nor in a snapshot: what lies in the workspace
//! is byte for byte what the repository holds.

use super::{keep, wire};
use git2::{Index, Indexer, ObjectType, Oid, Repository, RepositoryInitOptions, build::CheckoutBuilder};
use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
};

/// What is laid into a workspace.
#[derive(Clone, Debug)]
pub struct Order {
    /// The workspace; there and empty.
    pub workspace: PathBuf,
    /// HEAD.
    pub commit: String,
    /// The tree whose files are checked out, where it is not the commit's own: a checkpoint.
    pub tree: Option<String>,
    /// The branch HEAD stands on.
    pub branch: String,
}

/// Reads the pack from `input`, lays the repository out, answers on `output`.
///
/// # Errors
/// Only where the answer itself cannot be written; a failed seed is an answer.
pub fn run(order: &Order, input: &mut impl Read, output: &mut impl Write) -> Result<bool, wire::WireError> {
    let result = lay(order, input).map_err(|error| format!("seed: {error:#}"));
    let good = result.is_ok();
    wire::answer(output, result)?;
    Ok(good)
}

/// Where the state that snapshots are compared with is kept.
pub(super) fn shadow(workspace: &Path) -> PathBuf {
    keep(workspace).join("shadow")
}

fn lay(order: &Order, input: &mut impl Read) -> anyhow::Result<()> {
    let workspace = &order.workspace;
    anyhow::ensure!(fs::read_dir(workspace)?.next().is_none(), "{} is not empty", workspace.display());
    let commit = Oid::from_str(&order.commit)?;

    let repository = init(order)?;
    let pack = receive(repository.path(), input)?;
    // Told before anything looks at the commit: its parents are not here.
    fs::write(repository.path().join("shallow"), format!("{commit}\n"))?;
    let repository = Repository::open(workspace)?;

    let base = repository.find_commit(commit)?;
    repository.reference(&format!("refs/heads/{}", order.branch), commit, true, "seed")?;
    let mut checkout = CheckoutBuilder::new();
    checkout.force().disable_filters(true);
    repository.checkout_tree(base.as_object(), Some(&mut checkout))?;

    let tree = match &order.tree {
        Some(tree) => check_out_over(&repository, Oid::from_str(tree)?)?,
        None => base.tree_id(),
    };
    remember(&repository, workspace, &pack, tree)
}

fn init(order: &Order) -> Result<Repository, git2::Error> {
    let mut options = RepositoryInitOptions::new();
    options.no_reinit(true).external_template(false).initial_head(&order.branch);
    let repository = Repository::init_opts(&order.workspace, &options)?;
    let mut config = repository.config()?;
    // For commits that tests or the agent make in here; none of them leaves the sandbox.
    config.set_str("user.name", "fixpoint")?;
    config.set_str("user.email", "fixpoint@localhost")?;
    Ok(repository)
}

/// Writes the pack and its index into the repository; gives the pack's path without its extension.
fn receive(git: &Path, input: &mut impl Read) -> anyhow::Result<PathBuf> {
    let packs = git.join("objects/pack");
    fs::create_dir_all(&packs)?;
    let mut indexer = Indexer::new(None, &packs, 0o444, false)?;
    wire::receive_pieces(input, |piece| indexer.write_all(piece))?;
    Ok(packs.join(format!("pack-{}", indexer.commit()?)))
}

/// The checkpoint's files over the commit's; the index keeps the commit's, so that the difference shows as
/// work not yet committed.
fn check_out_over(repository: &Repository, tree: Oid) -> Result<Oid, git2::Error> {
    let tree = repository.find_object(tree, Some(ObjectType::Tree))?;
    let mut checkout = CheckoutBuilder::new();
    checkout.force().disable_filters(true).update_index(false);
    repository.checkout_tree(&tree, Some(&mut checkout))?;
    Ok(tree.id())
}

/// Keeps the seeded tree in a git directory of the toolbox's own: what the agent does to `.git` changes no
/// snapshot.
fn remember(repository: &Repository, workspace: &Path, pack: &Path, tree: Oid) -> anyhow::Result<()> {
    let directory = shadow(workspace);
    let mut options = RepositoryInitOptions::new();
    options.bare(true).mkpath(true).external_template(false);
    Repository::init_opts(&directory, &options)?;
    let name = pack.file_name().unwrap_or_default();
    for extension in ["pack", "idx"] {
        let to = directory.join("objects/pack").join(name).with_extension(extension);
        fs::hard_link(pack.with_extension(extension), to)?;
    }
    fs::create_dir_all(directory.join("info"))?;
    // The strongest of all attribute files: no conversion, whatever the workspace's own say.
    fs::write(directory.join("info/attributes"), "* -text -eol -ident -filter -working-tree-encoding\n")?;

    // The index holds what the files' stat was when they were written: it spares the snapshots reading them
    // all.
    fs::copy(repository.path().join("index"), directory.join("index"))?;
    let shadow = Repository::open_bare(&directory)?;
    let mut index = Index::open(&directory.join("index"))?;
    index.read_tree(&shadow.find_tree(tree)?)?;
    Ok(index.write()?)
}
