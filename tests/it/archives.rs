//! Log archives of real runs, handed out as GitHub hands them out: over a redirect to a signed address.

use fixpoint::{
    digest::{Digester, Options, archive::Archive},
    emulator::{Ci, Emulator, JobPlay, NewRepository, PastRun, Permission},
    github::{self, GitHub, Identity, JobLog},
};
use serde_json::Value;
use std::{collections::BTreeSet, path::PathBuf, time::Duration};

/// Larger than the largest of them.
const LARGEST: usize = 64 << 20;

/// Archives with what is known of them.
fn archives() -> Option<(PathBuf, Vec<Value>)> {
    let folder = PathBuf::from(std::env::var_os("FIXPOINT_DATA")?).join("actions-log-archives");
    let index = std::fs::read(folder.join("index.json")).ok()?;
    Some((folder, serde_json::from_slice(&index).expect("a list")))
}

#[tokio::test(flavor = "multi_thread")]
async fn f47_every_archive_is_read_from_its_endpoint_and_its_failed_jobs_and_steps_are_known() {
    let Some((folder, index)) = archives() else {
        println!("FIXPOINT_DATA has no actions-log-archives: skipped");
        return;
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let emulator = Emulator::start(fixpoint::emulator::Options::default()).await.unwrap();
    let repo = crate::support::REPO;
    emulator.create_repository(NewRepository::new(repo, &[("a", "1\n")]).ci(Ci::none())).unwrap();
    emulator.collaborator(repo, "alice", Permission::Write).unwrap();
    let sha = emulator.push_as(repo, "alice", "main", &[("a", "2\n")]).unwrap();
    let job = vec![("test".to_owned(), JobPlay::fails("error: wrong"))];
    let past = PastRun { branch: "main".into(), sha, ago: Duration::from_secs(60), attempts: vec![job] };
    let run = emulator.past_run(repo, "alice", &past).unwrap();
    let github = github(&emulator);
    let (owner, name) = repo.split_once('/').unwrap();
    let (installation, place) = github.installed(owner, name).await.unwrap();
    let repository = github.repository(installation, &place);
    let (mut failed, mut largest) = (0, 0);
    for entry in &index {
        let file = entry["file"].as_str().unwrap();
        let original = std::fs::read(folder.join(file)).unwrap();
        emulator.recorded_logs(repo, run, original.clone()).unwrap();
        let read = repository.run_archive(run, LARGEST).await.unwrap();
        assert!(read == JobLog::Text(original), "{file}: not what was recorded");
        let JobLog::Text(bytes) = read else { continue };
        largest = largest.max(bytes.len());
        failed += steps(file, entry, &bytes);
    }
    assert_eq!(repository.run_archive(run, 1_000).await.unwrap(), JobLog::Gone, "half a zip cannot be read");
    assert!(emulator.leaked_authorizations().is_empty(), "a token left GitHub's origin");
    println!("{} archives, {failed} failed jobs, the largest has {largest} bytes", index.len());
}

/// The failed jobs are those that are known to be, and each names its step; gives how many there are.
fn steps(file: &str, entry: &Value, bytes: &[u8]) -> usize {
    let mut archive = Archive::open(bytes).unwrap();
    let failed = archive.failed().unwrap();
    let got: BTreeSet<&str> = failed.iter().map(|failed| &failed.job.file[..]).collect();
    let want = entry["job_files_with_error"].as_array().unwrap();
    assert_eq!(got, want.iter().filter_map(Value::as_str).collect(), "{file}");
    for failed in &failed {
        let mut digester = Digester::new(Options { budget: 8_000, ..Options::default() });
        archive.read(&failed.job, |chunk| digester.push(chunk)).unwrap();
        let digest = digester.finish();
        assert!(!digest.text.is_empty(), "{file}: nothing is shown of {}", failed.job.file);
        let step = failed.step.as_ref().or(digest.step.as_ref());
        assert!(step.is_some(), "{file}: {} names no step", failed.job.file);
    }
    failed.len()
}

fn github(emulator: &Emulator) -> GitHub {
    let app = emulator.app();
    let settings = github::Settings {
        api_url: emulator.api_url().parse().unwrap(),
        web_url: emulator.web_url().parse().unwrap(),
        identity: Identity::App { id: app.app_id.to_string(), private_key: app.private_key_pem.into() },
    };
    let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    GitHub::new(settings, http.build().unwrap()).unwrap()
}
