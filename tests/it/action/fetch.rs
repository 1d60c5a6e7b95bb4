//! Which program a run gets: the released one, with its checksum, or none.

use super::runner::action;
use std::{collections::BTreeMap, fs, path::Path, process::Command};

/// A folder of releases with one archive, and what the first step makes of it.
fn fetched(version: &str, sums: &str, sha256: &str, platform: &str) -> (bool, String, Option<String>) {
    let folder = tempfile::tempdir().unwrap();
    let release = folder.path().join("releases").join("v0.1.0");
    fs::create_dir_all(&release).unwrap();
    fs::write(folder.path().join("fixpoint"), "#!/bin/sh\necho released\n").unwrap();
    let archive = release.join("fixpoint-0.1.0-x86_64-unknown-linux-gnu.tar.gz");
    let tar =
        Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(folder.path()).arg("fixpoint").status();
    assert!(tar.unwrap().success());
    let sum = Command::new("sha256sum").arg(&archive).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap()[..64].to_owned();
    let own = "fixpoint-0.1.0-x86_64-unknown-linux-gnu.tar.gz";
    fs::write(release.join("SHA256SUMS"), sums.replace("SUM", &sum).replace("FILE", own)).unwrap();
    let output = folder.path().join("output");
    let script = action()["runs"]["steps"][0]["run"].as_str().unwrap().to_owned();
    let env = BTreeMap::from([
        ("BINARY", String::new()),
        ("VERSION", version.to_owned()),
        ("SHA256", sha256.replace("SUM", &sum)),
        ("RELEASES", format!("file://{}", folder.path().join("releases").display())),
        ("ACTION_REPOSITORY", "fixpoint/fixpoint".to_owned()),
        ("PLATFORM", platform.to_owned()),
        ("RUNNER_TEMP", folder.path().display().to_string()),
        ("GITHUB_OUTPUT", output.display().to_string()),
        ("GITHUB_ACTION_PATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("action").display().to_string()),
    ]);
    let ran = Command::new("bash").args(["-eo", "pipefail", "-c", &script]).envs(env).output().unwrap();
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    let program =
        fs::read_to_string(output).ok().and_then(|o| o.trim().strip_prefix("program=").map(str::to_owned));
    let works = program.map(|p| String::from_utf8(Command::new(p).output().unwrap().stdout).unwrap());
    (ran.status.success(), said, works)
}

#[test]
fn the_released_program_is_taken_with_its_checksum_alone() {
    let x64 = "Linux-X64";
    for (sums, sha256) in [("SUM  FILE\n", ""), ("SUM *FILE\n", ""), ("", "SUM")] {
        let (ok, said, works) = fetched("0.1.0", sums, sha256, x64);
        assert!(ok, "{said}");
        assert_eq!(works.as_deref(), Some("released\n"));
    }
    let zeros = "0".repeat(64);
    let forged = format!("{zeros}  FILE\n");
    for (version, sums, sha256, platform, why) in [
        ("0.1.0", forged.as_str(), "", x64, "does not have the checksum"),
        ("0.1.0", "SUM  FILE\n", zeros.as_str(), x64, "does not have the checksum"),
        ("0.1.0", "SUM  another-file\n", "", x64, "there is no checksum"),
        ("0.1.1", "SUM  FILE\n", "", x64, "cannot be fetched"),
        ("0.1.0/../x", "SUM  FILE\n", "", x64, "three numbers are expected"),
        ("0.1.0", "SUM  FILE\n", "", "Windows-X64", "no release for Windows-X64"),
    ] {
        let (ok, said, works) = fetched(version, sums, sha256, platform);
        assert!(!ok && works.is_none(), "{said}");
        assert!(said.contains(why) && said.contains("::error title=fixpoint::"), "{why}: {said}");
    }
}
