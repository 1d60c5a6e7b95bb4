//! `fixpoint config` for a repository's file: printed, checked, told where it is wrong.

use assert_cmd::Command;
use std::path::Path;

fn fixpoint(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("fixpoint").unwrap();
    let out = command.current_dir(folder).env_remove("FIXPOINT_CONFIG").args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().unwrap(), text(&out.stdout), text(&out.stderr))
}

#[test]
fn a_repositorys_file_is_checked_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::create_dir(folder.join(".github")).unwrap();
    let file = ".github/fixpoint.yml";
    let check = |content: &str, more: &[&str]| {
        std::fs::write(folder.join(file), content).unwrap();
        fixpoint(folder, &[&["config", "check", file], more].concat())
    };
    let (status, out, errors) = check("rounds: 2\nchecks:\n  rerunn: first\nroundss: 1\n", &[]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert_eq!(
        errors,
        ".github/fixpoint.yml:3:3: \"rerunn\" is not a setting (did you mean \"rerun\"?)\n\
         .github/fixpoint.yml:4:1: \"roundss\" is not a setting (did you mean \"rounds\"?)\n"
    );
    let (status, out, errors) = check("rounds: 9\nmodel: opus\nbudget: { request: $2 }\n", &[]);
    assert_eq!((status, errors.as_str()), (0, ""));
    for holds in ["model          opus;", "rounds         3 a request", "$2.00 a request, $25.00 a day"] {
        assert!(out.contains(holds), "{holds} in {out}");
    }
    std::fs::write(folder.join("server.toml"), "[model]\nname = \"sonnet\"\n[limits]\nrounds = 7\n").unwrap();
    let (status, _, errors) = check("model: opus\n", &["--within", "server.toml"]);
    assert_eq!(status, 2);
    assert!(errors.contains("fixpoint.yml:1:8: the operator does not allow the model \"opus\""), "{errors}");
    let services = "services:\n  db:\n    image: postgres:16\nsetup: [make deps]\n";
    let (status, _, errors) = check(services, &["--within", "server.toml"]);
    assert_eq!(status, 2);
    assert!(
        errors.contains("fixpoint.yml:3:12: the operator does not allow the service \"postgres:16\""),
        "{errors}"
    );
    let (status, out, errors) = check(services, &[]);
    assert_eq!((status, errors.as_str()), (0, ""));
    assert!(
        out.contains("services       db (postgres:16)\ndependencies   none\nsetup          make deps"),
        "{out}"
    );
    let (status, out, _) = check("rounds: 9\n", &["--within", "server.toml"]);
    assert!(status == 0 && out.contains("rounds         7 a request"), "{out}");
}

#[test]
fn the_example_of_a_repository_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let (status, example, _) = fixpoint(folder.path(), &["config", "example", "--repository"]);
    assert_eq!(status, 0);
    std::fs::write(folder.path().join("fixpoint.yaml"), example).unwrap();
    let (status, _, errors) = fixpoint(folder.path(), &["config", "check", "fixpoint.yaml"]);
    assert_eq!((status, errors.as_str()), (0, ""));
    let (status, _, errors) = fixpoint(folder.path(), &["config", "check", "nowhere.yml"]);
    assert_eq!((status, errors.starts_with("nowhere.yml cannot be read")), (2, true), "{errors}");
}
