use super::*;
use crate::domain::{
    InstallationId, RepoId,
    repo_config::{Dependencies, Place},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn key(image: &str) -> Key {
    let place = Place { installation: InstallationId(1), repository: RepoId(1), image };
    Dependencies::default().key(place, &[])
}

async fn keep(kept: &Kept, image: &str, content: &[u8]) {
    let mut writing = kept.begin(&key(image)).await.unwrap();
    writing.write_all(content).await.unwrap();
    writing.done().await.unwrap();
}

async fn found(kept: &Kept, image: &str) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    kept.find(&key(image)).await.unwrap()?.read_to_end(&mut content).await.unwrap();
    Some(content)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn t32_what_is_not_as_it_was_written_is_thrown_away() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept::new(folder.path().join("kept"), 1 << 20);
    assert_eq!(found(&kept, "a").await, None);
    keep(&kept, "a", b"installed").await;
    assert_eq!(found(&kept, "a").await.unwrap(), b"installed");
    assert_eq!(found(&kept, "b").await, None, "another key");
    let path = files(&folder.path().join("kept")).remove(0);
    let tampered: [&[u8]; 3] = [b"instaLled", b"install", b""];
    for content in tampered {
        keep(&kept, "a", b"installed").await;
        fs::write(&path, content).unwrap();
        assert_eq!(found(&kept, "a").await, None);
        assert_eq!(files(&folder.path().join("kept")), [] as [PathBuf; 0], "it is gone");
    }
}

#[tokio::test]
async fn what_is_not_written_to_its_end_is_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept::new(folder.path().to_owned(), 1 << 20);
    let mut writing = kept.begin(&key("a")).await.unwrap();
    writing.write_all(b"half").await.unwrap();
    writing.flush().await.unwrap();
    assert_eq!(found(&kept, "a").await, None);
    drop(writing);
    assert_eq!(files(folder.path()).len(), 0);
    // A process that was killed could not even drop it.
    fs::write(folder.path().join(".part-dead"), b"half").unwrap();
    assert_eq!(kept.tidy().await.unwrap(), 0, "it may be alive");
    let file = fs::File::options().append(true).open(folder.path().join(".part-dead")).unwrap();
    file.set_modified(SystemTime::now() - UNFINISHED * 2).unwrap();
    assert_eq!((kept.tidy().await.unwrap(), files(folder.path()).len()), (1, 0));
}

#[tokio::test]
async fn the_longest_unused_make_room_and_the_old_go() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept::new(folder.path().to_owned(), 25);
    assert_eq!(kept.largest(), 25);
    for image in ["a", "b"] {
        keep(&kept, image, format!("{image} has ten").as_bytes()).await;
    }
    for (n, path) in files(folder.path()).iter().enumerate() {
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(100 * (n as u64 + 1))).unwrap();
    }
    // Using it keeps it.
    assert!(found(&kept, "a").await.is_some());
    keep(&kept, "c", b"c has ten.").await;
    assert!(found(&kept, "a").await.is_some() && found(&kept, "c").await.is_some());
    assert_eq!(found(&kept, "b").await, None);
    for path in files(folder.path()) {
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - UNUSED * 2).unwrap();
    }
    assert_eq!((kept.tidy().await.unwrap(), files(folder.path()).len()), (2, 0));
    // Thrown away by its key.
    keep(&kept, "a", b"x").await;
    kept.forget(&key("a")).await.unwrap();
    assert_eq!(found(&kept, "a").await, None);
    keep(&kept, "a", b"x").await;
    kept.forget_repository(RepoId(11)).await.unwrap();
    assert!(found(&kept, "a").await.is_some(), "another repository's");
    kept.forget_repository(RepoId(1)).await.unwrap();
    assert_eq!(files(folder.path()).len(), 0);
}
