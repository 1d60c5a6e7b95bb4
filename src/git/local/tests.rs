use super::*;
use std::fs;

fn repository(folder: &Path) -> Repository {
    let repo = Repository::init(folder).unwrap();
    repo.config().unwrap().set_str("user.name", "Ada").unwrap();
    repo.config().unwrap().set_str("user.email", "ada@example.com").unwrap();
    fs::create_dir(folder.join("src")).unwrap();
    commit(&repo, "src/a", "one", "First");
    repo
}

fn commit(repo: &Repository, path: &str, text: &str, message: &str) -> Oid {
    fs::write(repo.workdir().unwrap().join(path), text).unwrap();
    let mut index = repo.index().unwrap();
    index.add_path(Path::new(path)).unwrap();
    index.write().unwrap();
    let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
    let who = git2::Signature::new("bot", "bot@example.com", &git2::Time::new(1_000_000_000, 60)).unwrap();
    let parent = repo.head().ok().map(|head| head.peel_to_commit().unwrap());
    repo.commit(Some("HEAD"), &who, &who, message, &tree, &parent.iter().collect::<Vec<_>>()).unwrap()
}

#[tokio::test]
async fn a_branch_is_given_and_nothing_else_is_touched() {
    let (mine, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let repo = repository(mine.path());
    let base = repo.head().unwrap().peel_to_commit().unwrap().id();
    // Their own objects, borrowed from mine: as the forge of a run is.
    let other = Repository::init_bare(theirs.path()).unwrap();
    let local = Local::find(&mine.path().join("src")).await.unwrap();
    Mirror::at(theirs.path().to_owned()).borrow_from(&local.objects().await.unwrap()).await.unwrap();
    let other = Repository::open(other.path()).unwrap();
    let mut parent = other.find_commit(base).unwrap();
    let who = git2::Signature::new("bot", "bot@example.com", &git2::Time::new(1_000_000_000, 60)).unwrap();
    for n in 0..2 {
        let mut folder = other.treebuilder(None).unwrap();
        folder.insert("b", other.blob(format!("{n}").as_bytes()).unwrap(), 0o100_755).unwrap();
        let mut root = other.treebuilder(Some(&parent.tree().unwrap())).unwrap();
        root.insert("new", folder.write().unwrap(), 0o040_000).unwrap();
        let tree = other.find_tree(root.write().unwrap()).unwrap();
        let made = other.commit(None, &who, &who, &format!("Round {n}\n"), &tree, &[&parent]).unwrap();
        parent = other.find_commit(made).unwrap();
    }
    fs::write(mine.path().join("src/a"), "mine").unwrap();
    let index = fs::read(mine.path().join(".git/index")).unwrap();
    assert_eq!(local.unseen().await.unwrap(), Unseen { unstaged: 1, ..Unseen::default() });
    let ends = (&sha(base), &sha(parent.id()));
    let reword = |message: &str| message.replace("Round", "Step");
    let given = local.take(theirs.path(), ends, "fixpoint/mend", reword).await.unwrap();
    let again = local.take(theirs.path(), ends, "fixpoint/mend", reword).await.unwrap();
    assert_eq!((given.branch.as_str(), again.branch.as_str()), ("fixpoint/mend", "fixpoint/mend-2"));
    assert_eq!(fs::read(mine.path().join(".git/index")).unwrap(), index);
    assert_eq!(repo.head().unwrap().peel_to_commit().unwrap().id(), base);
    // What was lent is not needed for it.
    drop(theirs);
    let repo = Repository::open(mine.path()).unwrap();
    let last = repo.find_commit(oid(&given.commit).unwrap()).unwrap();
    assert_eq!(last.message(), Ok("Step 1\n"));
    assert_eq!((last.author().name(), last.time().seconds()), (Ok("Ada"), 1_000_000_000));
    assert_eq!(last.parent(0).unwrap().parent(0).unwrap().id(), base);
    let entry = last.tree().unwrap().get_path(Path::new("new/b")).unwrap();
    assert_eq!(
        (entry.filemode(), repo.find_blob(entry.id()).unwrap().content()),
        (0o100_755, b"1".as_slice())
    );
}

#[tokio::test]
async fn a_branch_called_fixpoint_is_no_hindrance() {
    let mine = tempfile::tempdir().unwrap();
    let repo = repository(mine.path());
    let head = repo.head().unwrap().peel_to_commit().unwrap();
    repo.branch("fixpoint", &head, false).unwrap();
    assert_eq!(put_branch(&repo, "fixpoint/mend", head.id()).unwrap(), "fixpoint-mend");
}

#[tokio::test]
async fn outside_a_repository_and_before_a_commit_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let error = Local::find(folder.path()).await.unwrap_err().to_string();
    assert!(error.contains("a git repository in"), "{error}");
    Repository::init(folder.path()).unwrap();
    let error = Local::find(folder.path()).await.unwrap().head().await.unwrap_err().to_string();
    assert_eq!(error, "git: a first commit is not there");
}
