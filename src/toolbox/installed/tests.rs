use super::*;
use proptest::prelude::*;
use std::{
    os::unix::fs::{MetadataExt, symlink},
    time::{Duration, SystemTime},
};

/// A workspace as the seed leaves it: one tracked file, one ignored folder, a home.
struct Room(tempfile::TempDir);

impl Room {
    fn new(tracked: &[(&str, &str)]) -> Self {
        let room = Self(tempfile::tempdir().unwrap());
        let (workspace, home) = (room.workspace(), room.home());
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(shadow(&workspace)).unwrap();
        let repository = git2::Repository::init(&workspace).unwrap();
        for (path, content) in tracked {
            fs::create_dir_all(workspace.join(path).parent().unwrap()).unwrap();
            fs::write(workspace.join(path), content).unwrap();
        }
        let mut index = repository.index().unwrap();
        index.add_all(["*"], git2::IndexAddOption::DEFAULT, None).unwrap();
        index.write().unwrap();
        fs::copy(workspace.join(".git/index"), shadow(&workspace).join("index")).unwrap();
        room
    }

    fn workspace(&self) -> PathBuf {
        self.0.path().join("work/repo")
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn packed(&self, most: u64) -> (bool, Vec<u8>) {
        let mut out = Vec::new();
        let (workspace, home) = (self.workspace(), self.home());
        let good = pack(&Folders { workspace: &workspace, home: &home }, most, &mut out).unwrap();
        (good, out)
    }

    fn unpacked(&self, stream: &[u8]) -> (bool, String) {
        let mut out = Vec::new();
        let (workspace, home) = (self.workspace(), self.home());
        let good = unpack(&Folders { workspace: &workspace, home: &home }, &mut &*stream, &mut out).unwrap();
        (good, String::from_utf8_lossy(&out).into_owned())
    }
}

#[test]
fn what_was_installed_arrives_as_it_was() {
    let from = Room::new(&[("README.md", "read"), ("src/lib.js", "old")]);
    let (w, h) = (from.workspace(), from.home());
    fs::create_dir_all(w.join("node_modules/.bin")).unwrap();
    fs::write(w.join("node_modules/a.js"), "a".repeat(300_000)).unwrap();
    fs::write(w.join("node_modules/.bin/tool"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(w.join("node_modules/.bin/tool"), Permissions::from_mode(0o755)).unwrap();
    symlink("/usr/bin/python3", w.join("node_modules/python")).unwrap();
    symlink("../src", w.join("node_modules/src")).unwrap();
    fs::write(w.join(format!("node_modules/{}", "long".repeat(60))), "long").unwrap();
    fs::write(w.join(".git/hooks/pre-commit"), "evil").unwrap();
    fs::create_dir_all(h.join("go/pkg/mod")).unwrap();
    fs::write(h.join("go/pkg/mod/x.go"), "x").unwrap();
    let old = SystemTime::now() - Duration::from_secs(5000);
    fs::File::open(h.join("go/pkg/mod/x.go")).unwrap().set_modified(old).unwrap();
    fs::set_permissions(h.join("go/pkg/mod"), Permissions::from_mode(0o555)).unwrap();

    let (good, archive) = from.packed(1 << 20);
    assert!(good);
    // Another commit of the same repository: its own files stand, whatever lay beside the old ones.
    let to = Room::new(&[("README.md", "new"), ("node_modules/a.js", "tracked")]);
    assert_eq!(to.unpacked(&archive), (true, "E\0\0\0\0".to_owned()));
    let (w, h) = (to.workspace(), to.home());
    let text = |path: PathBuf| fs::read_to_string(path).unwrap();
    assert_eq!(text(w.join("README.md")), "new");
    assert_eq!(text(w.join("node_modules/a.js")), "tracked");
    assert!(!w.join("src/lib.js").exists(), "the repository's own files are not packed");
    assert!(!w.join(".git/hooks/pre-commit").exists());
    assert_eq!(fs::metadata(w.join("node_modules/.bin/tool")).unwrap().mode() & 0o777, 0o755);
    assert_eq!(fs::read_link(w.join("node_modules/python")).unwrap(), Path::new("/usr/bin/python3"));
    assert_eq!(text(w.join(format!("node_modules/{}", "long".repeat(60)))), "long");
    let module = h.join("go/pkg/mod");
    let age = fs::metadata(module.join("x.go"))
        .unwrap()
        .modified()
        .unwrap()
        .duration_since(old)
        .unwrap_or_default();
    assert!(age < Duration::from_secs(2), "{age:?}: builds go by the time of a file");
    assert_eq!(fs::metadata(&module).unwrap().mode() & 0o777, 0o555);
    for folder in [module, from.home().join("go/pkg/mod")] {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn too_much_is_told_and_is_no_archive() {
    let from = Room::new(&[]);
    fs::write(from.home().join("large"), vec![7; 2 << 20]).unwrap();
    let (good, stream) = from.packed(1 << 20);
    assert!(!good && String::from_utf8_lossy(&stream).contains("over 1 MiB"));
    let mut kept = Vec::new();
    let mut stream = &*stream;
    let read = wire::receive_pack(&mut stream, &mut kept, 8 << 20);
    assert!(matches!(futures::executor::block_on(read), Err(wire::WireError::Failed(_))));
    // The host goes by its own count, whatever the toolbox was told.
    let (_, stream) = from.packed(8 << 20);
    let mut stream = &*stream;
    let read = wire::receive_pack(&mut stream, &mut kept, 1 << 20);
    assert!(matches!(futures::executor::block_on(read), Err(wire::WireError::TooMuch(_))));
}

/// A stream of one archive with one entry of that name, as nobody of ours would write it.
fn forged(name: &str, link: Option<&str>) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_mode(0o777);
    header.set_size(0);
    if let Some(link) = link {
        header.set_entry_type(EntryType::Symlink);
        header.set_link_name_literal(link).unwrap();
    }
    header.set_cksum();
    let mut stream = Vec::new();
    let mut out = wire::Outgoing::new(&mut stream, 1 << 20);
    out.write_all(header.as_bytes()).unwrap();
    out.flush().unwrap();
    stream
}

#[test]
fn an_archive_never_leaves_its_two_folders() {
    for name in ["../x", "repo/../../x", "/x", "repo", "repo/.git/hooks/x", "home/../work/x", "x", "repo/"] {
        let room = Room::new(&[]);
        let mut stream = forged(name, None);
        wire::answer(&mut stream, Ok(())).unwrap();
        let (good, said) = room.unpacked(&stream);
        assert!(!good && said.contains("the archive holds"), "{name}: {said}");
    }
    // Nor by a link that it brings along itself.
    let room = Room::new(&[]);
    let outside = tempfile::tempdir().unwrap();
    let mut stream = forged("repo/out", outside.path().to_str());
    stream.extend(forged("repo/out/x", None));
    wire::answer(&mut stream, Ok(())).unwrap();
    let (good, said) = room.unpacked(&stream);
    assert!(!good && said.contains("leads out"), "{said}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

proptest! {
    #[test]
    fn whatever_comes_is_answered(stream in prop::collection::vec(any::<u8>(), 0..2000)) {
        let room = Room::new(&[]);
        room.unpacked(&stream);
        prop_assert!(fs::read_dir(room.0.path()).unwrap().count() <= 2);
    }
}
