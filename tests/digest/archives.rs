//! Original log archives of Actions runs.

use crate::corpus::folder;
use fixpoint::digest::{Digester, Options, archive::Archive};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn f47_every_archive_is_read_and_the_jobs_with_an_error_are_found() {
    let Some(folder) = folder("actions-log-archives") else { return };
    let index: Vec<Value> =
        serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    for run in index {
        let file = run["file"].as_str().unwrap();
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let mut archive = Archive::open(&bytes).unwrap();
        let failed = archive.failed().unwrap();
        let got: BTreeSet<&str> = failed.iter().map(|failed| &failed.job.file[..]).collect();
        let want: BTreeSet<&str> =
            run["job_files_with_error"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(got, want, "{file}");
        for failed in failed {
            let mut digester = Digester::new(Options { budget: 8000, ..Options::default() });
            assert!(archive.read(&failed.job, |chunk| digester.push(chunk)).unwrap());
            let step = failed.step.or(digester.finish().step);
            assert!(step.is_some(), "{file}: {} names no step", failed.job.file);
        }
    }
}

#[test]
fn odd_archives_are_read_too() {
    let Some(folder) = folder("actions-log-archives/cli") else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "zip") {
            let bytes = std::fs::read(&path).unwrap();
            Archive::open(&bytes)
                .unwrap()
                .failed()
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}
