//! The folder of real logs, where there is one.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder `name` of the material, or nothing, said aloud.
pub fn folder(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("FIXPOINT_DATA").map(|data| PathBuf::from(data).join(name));
    let folder = folder.filter(|folder| folder.is_dir());
    if folder.is_none() {
        println!("FIXPOINT_DATA has no {name}: skipped");
    }
    folder
}

/// The cases of a source: name, what is expected, the log unpacked.
pub fn cases(source: &Path) -> impl Iterator<Item = (String, Value, Vec<u8>)> {
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names.into_iter().map(|path| {
        let expected = serde_json::from_slice(&std::fs::read(path.join("expected.json")).unwrap()).unwrap();
        (path.file_name().unwrap().to_string_lossy().into_owned(), expected, unpack(&path.join("log.txt.gz")))
    })
}

/// The bytes of a packed file.
pub fn unpack(path: &Path) -> Vec<u8> {
    Command::new("gzip").arg("-dc").arg(path).output().unwrap().stdout
}
