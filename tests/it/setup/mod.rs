//! From nothing to a server that hears GitHub: set-up in a real browser, then the doctor, then `serve`, each a process of
//! its own, against the emulator's manifest pages. And what the doctor says where something is wrong.

mod browser;

use crate::support::REPO;
use axum::{Router, body::Bytes, http::StatusCode, routing::post};
use browser::Browser;
use fixpoint::emulator::{Emulator, NewRepository, Options, Permission};
use serde_json::Value;
use std::{os::unix::fs::PermissionsExt as _, path::Path, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader, Lines},
    process::Command,
};

/// Longer than anything here takes, even on a machine that is busy with something else.
const LONGEST: Duration = Duration::from_secs(180);

async fn github() -> Emulator {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let github = Emulator::start(Options::default()).await.unwrap();
    let mut repository = NewRepository::new(REPO, &[("README.md", "# calendar\n")]);
    repository.required_checks = vec!["test".into()];
    repository.protected = vec!["main".into()];
    github.create_repository(repository).unwrap();
    github.collaborator(REPO, "alice", Permission::Write).unwrap();
    github
}

fn fixpoint(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fixpoint"));
    command.args(arguments).env("NO_PROXY", "127.0.0.1").env_remove("FIXPOINT_CONFIG");
    // What set-up does not write: no container, no model, any port.
    command.env("FIXPOINT_SANDBOX_KIND", "local").env("FIXPOINT_MODEL_KEY", "key");
    command.env("FIXPOINT_SERVER_LISTEN", "127.0.0.1:0").env("FIXPOINT_LOG_FORMAT", "json");
    command.kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for a line that tells something.
async fn told(
    lines: &mut Lines<BufReader<impl AsyncRead + Unpin>>,
    told: impl Fn(&str) -> Option<String>,
) -> String {
    loop {
        let line = tokio::time::timeout(LONGEST, lines.next_line()).await.expect("a line in time").unwrap();
        let line = line.expect("it goes on");
        if let Some(found) = told(&line) {
            return found;
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The findings about a subject, as `level what`; the rest of the line for how to mend it.
async fn doctor(folder: &Path, more: &[&str]) -> (bool, Value) {
    let config = folder.join("fixpoint.toml").display().to_string();
    let done = fixpoint(&["doctor", "--json", "--config", &config]).args(more).output().await.unwrap();
    let found: Value =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", text(&done.stderr)));
    assert_eq!(found["ok"].as_bool(), Some(done.status.success()), "{found}");
    (done.status.success(), found)
}

fn about(found: &Value, subject: &str) -> Vec<String> {
    let all = found["findings"].as_array().unwrap().iter().filter(|f| f["subject"] == subject);
    all.map(|f| format!("{} {}", f["level"].as_str().unwrap(), f["what"].as_str().unwrap())).collect()
}

/// A repository's issue is told of; gives back the answers to all deliveries so far.
async fn something_happens(github: &Emulator) -> Vec<u16> {
    github.open_issue(REPO, "alice", "The sum is wrong", "It is.").unwrap();
    github.settled().await;
    github.deliveries().iter().map(|delivery| delivery.status_code).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn set_up_in_a_browser_then_the_doctor_is_content_and_serve_hears_github() {
    let Some(browser) = Browser::start().await else { return };
    let (github, folder) = (github().await, tempfile::tempdir().unwrap());
    let at = folder.path().display().to_string();
    let wanted = ["setup", "--org", "acme", "--url", "https://fixpoint.example.com", "--dir", &at];
    let mut setup = fixpoint(&wanted).args(["--github-url", github.web_url()]).spawn().unwrap();
    let mut lines = BufReader::new(setup.stdout.take().unwrap()).lines();
    let page =
        told(&mut lines, |line| line.trim().strip_prefix("http://").map(|rest| format!("http://{rest}")));
    let page = page.await;

    browser.go(&page).await;
    browser.sees("h1", "A GitHub App for fixpoint").await;
    pictures(&browser, "setup").await;
    browser.click("#continue").await.unwrap();
    browser.sees("h1", "Create GitHub App").await;
    let asked = browser.text("ul").await;
    assert!(asked.contains("contents: write") && !asked.contains("administration"), "{asked}");
    browser.fill("input[name=name]", "Acme Fixpoint").await;
    browser.click("#create").await.unwrap();
    browser.sees("#made", "acme-fixpoint is made").await;
    pictures(&browser, "setup-made").await;
    browser.quit().await;

    let mut rest = String::new();
    while let Some(line) = tokio::time::timeout(LONGEST, lines.next_line()).await.unwrap().unwrap() {
        rest.push_str(&line);
        rest.push('\n');
    }
    assert!(setup.wait().await.unwrap().success(), "{rest}");
    for said in [
        "fixpoint.toml",
        "/apps/acme-fixpoint/installations/new",
        "ANTHROPIC_API_KEY",
        "fixpoint doctor",
        "fixpoint serve",
    ] {
        assert!(rest.contains(said), "{said} is missing:\n{rest}");
    }
    assert!(!rest.contains("switched off"), "{rest}");
    for secret in ["app.pem", "webhook-secret"] {
        let mode = folder.path().join(secret).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{secret}");
    }

    let (well, found) = doctor(folder.path(), &["--repo", REPO]).await;
    assert!(well, "{found:#}");
    assert_eq!(
        about(&found, "github app"),
        ["ok acme-fixpoint (4101) of acme; may do all that the profile fix needs"]
    );
    assert_eq!(about(&found, "webhook"), ["ok https://fixpoint.example.com/webhooks"]);
    assert_eq!(about(&found, "repository")[0], "ok acme/calendar: main requires test, drafts possible");

    let config = folder.path().join("fixpoint.toml").display().to_string();
    let mut serve = fixpoint(&["serve", "--config", &config]).spawn().unwrap();
    let mut log = BufReader::new(serve.stderr.take().unwrap()).lines();
    let address = told(&mut log, |line| {
        let line: Value = serde_json::from_str(line).ok()?;
        Some(line["fields"]["address"].as_str()?.to_owned())
    });
    github.deliver_to(&format!("http://{}/webhooks", address.await));
    assert_eq!(something_happens(&github).await, [202], "the secret on both sides is the same");
    serve.kill().await.unwrap();

    let again = fixpoint(&wanted).output().await.unwrap();
    assert!(
        !again.status.success() && text(&again.stderr).contains("is there already"),
        "{}",
        text(&again.stderr)
    );
}

/// Both widths in both colours: nothing is cut off, and the folder that `FIXPOINT_PICTURES` names gets to see it.
async fn pictures(browser: &Browser, name: &str) {
    let folder = std::env::var("FIXPOINT_PICTURES");
    for (width, size) in [(640, "wide"), (360, "narrow")] {
        for scheme in ["light", "dark"] {
            browser.look(width, scheme).await;
            let wide = browser.script("document.documentElement.scrollWidth").await;
            assert!(wide.as_u64().unwrap() <= u64::from(width), "{name} {size}: {wide} wide");
            let back = browser.script("getComputedStyle(document.body).backgroundColor").await;
            let dark = back.as_str().unwrap().contains("18, 20, 23");
            assert_eq!(dark, scheme == "dark", "the style applies: {back}");
            if let Ok(folder) = &folder {
                let file = Path::new(folder).join(format!("{name}-{size}-{scheme}.png"));
                std::fs::write(file, browser.picture().await).unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_browser_is_elsewhere_the_address_it_ended_at_is_pasted() {
    let Some(browser) = Browser::start().await else { return };
    let (github, folder) = (github().await, tempfile::tempdir().unwrap());
    let at = folder.path().display().to_string();
    let mut setup = fixpoint(&["setup", "--headless", "--dir", &at, "--name", "quiet"])
        .args(["--github-url", github.web_url()])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(setup.stdout.take().unwrap()).lines();
    let file =
        told(&mut lines, |line| line.trim().strip_suffix(".html").map(|file| format!("{file}.html"))).await;
    browser.go(&format!("file://{file}")).await;
    browser.click("#continue").await.unwrap();
    browser.text("#create").await;
    // Where it is sent then nothing answers: that is an error to the driver, and as it should be.
    let _ = browser.click("#create").await;
    let ended = browser.comes_to("http://127.0.0.1:9/").await;
    browser.quit().await;
    assert!(ended.starts_with("http://127.0.0.1:9/created?code="), "{ended}");
    let mut input = setup.stdin.take().unwrap();
    input.write_all(format!("{ended}\n").as_bytes()).await.unwrap();
    let done = setup.wait_with_output().await.unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(!Path::new(&file).exists(), "the page has served");
    // Without an address of this server the webhook is off, and GitHub made no secret: ours is told to it.
    let secret = std::fs::read_to_string(folder.path().join("webhook-secret")).unwrap();
    assert_eq!(secret.trim(), github.app().webhook_secret);
    let (well, found) = doctor(folder.path(), &[]).await;
    assert!(well, "{found:#}");
    assert_eq!(about(&found, "github app").len(), 1, "{found:#}");
    assert!(about(&found, "webhook")[0].starts_with("warn no address is set"), "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_names_what_is_missing_and_has_failed_deliveries_sent_again() {
    let (github, folder) = (github().await, tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let said = taken(&github, folder.path()).await;
    assert!(said.contains("GitHub does not know the webhook secret yet"), "{said}");

    github.grant("checks", None);
    github.ask_for("members", "read");
    github.unsubscribe("issue_comment");
    github.unsubscribe("status");
    github.settled().await;
    let (well, found) = doctor(folder.path(), &["--repo", "acme/nowhere"]).await;
    assert!(!well);
    let said = about(&found, "github app").join("\n");
    insta::assert_snapshot!(said, @r#"
    fail permission "checks: write" is missing: it does not see check runs, and with read alone it shows no check of its own
    fail event "issue_comment" is missing: no command in a comment is heard
    warn event "status" is missing: commit statuses are looked at by the clock alone
    warn it may use more than it ever needs: members
    "#);
    let missing =
        &found["findings"].as_array().unwrap().iter().find(|f| f["subject"] == "github app").unwrap();
    assert!(
        missing["mend"][0]
            .as_str()
            .unwrap()
            .contains("/organizations/acme/settings/apps/fixpoint/permissions"),
        "{missing}"
    );
    assert_eq!(about(&found, "repository"), ["fail acme/nowhere: the App is not installed on it"]);
    assert_eq!(
        about(&found, "installations"),
        ["ok acme (all repositories)", "warn acme has not accepted \"members: read\""]
    );

    // Nobody has listened so far: what GitHub could not deliver has failed.
    something_happens(&github).await;
    let lost = github.deliveries().len();
    let (_, found) = doctor(folder.path(), &[]).await;
    assert!(about(&found, "deliveries")[0].starts_with(&format!("warn {lost} failed since 20")), "{found:#}");
    github.deliver_to(&receiver().await);
    let (_, found) = doctor(folder.path(), &["--redeliver"]).await;
    assert_eq!(about(&found, "deliveries"), [format!("ok {lost} of {lost} that failed are sent again")]);
    github.settled().await;
    let (_, found) = doctor(folder.path(), &[]).await;
    assert_eq!(
        about(&found, "deliveries"),
        [format!("ok none of {} failed in the last three days", 2 * lost)]
    );

    github.suspend(true);
    let (_, found) = doctor(folder.path(), &[]).await;
    assert!(about(&found, "installations").contains(&"warn acme has suspended it".to_owned()), "{found:#}");
    std::fs::write(at("app.pem"), include_str!("../../../src/github/test-app.pem")).unwrap();
    let (well, found) = doctor(folder.path(), &[]).await;
    let said = about(&found, "github app");
    assert!(
        !well && said[0].starts_with("fail the App's credentials are refused"),
        "another App's key: {found:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_looks_whether_a_rule_and_the_configuration_go_together() {
    let (github, folder) = (github().await, tempfile::tempdir().unwrap());
    taken(&github, folder.path()).await;
    for (name, file, required) in [
        ("acme/stuck", "", true),
        ("acme/held", "second_person: two\n", true),
        ("acme/loose", "second_person: two\nroundss: 3\n", false),
    ] {
        let mut repository = NewRepository::new(name, &[(".github/fixpoint.yml", file)]);
        if required {
            repository.required_checks = vec!["fixpoint/second-person".into()];
            repository.protected = vec!["main".into()];
        }
        github.create_repository(repository).unwrap();
    }
    let repos = ["--repo", "acme/stuck", "--repo", "acme/held", "--repo", "acme/loose"];
    let (well, found) = doctor(folder.path(), &repos).await;
    assert!(!well);
    let said = about(&found, "repository").join("\n");
    insta::assert_snapshot!(said, @r#"
    ok acme/stuck: main requires fixpoint/second-person, drafts possible
    fail acme/stuck: main requires fixpoint/second-person, which nothing shows: nothing can be merged
    ok acme/held: main requires fixpoint/second-person, drafts possible
    ok acme/held: main waits for the second person that .github/fixpoint.yml wants
    ok acme/loose: main requires no check, drafts possible
    warn acme/loose: .github/fixpoint.yml:2:1: "roundss" is not a setting (did you mean "rounds"?)
    warn acme/loose: fixpoint/second-person is shown and main does not require it: it holds nothing back
    "#);
}

/// The emulator's App, taken by its id and key.
async fn taken(github: &Emulator, folder: &Path) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    let app = github.app();
    std::fs::write(at("key"), &app.private_key_pem).unwrap();
    let id = app.app_id.to_string();
    let taken = fixpoint(&["setup", "--app-id", &id, "--key", &at("key"), "--dir", &at("")])
        .args(["--github-url", github.web_url()])
        .output()
        .await
        .unwrap();
    assert!(taken.status.success(), "{}", text(&taken.stderr));
    text(&taken.stdout)
}

/// Takes whatever comes.
async fn receiver() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/webhooks", post(taken_whole));
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/webhooks")
}

/// Answered when all of it has come.
async fn taken_whole(_: Bytes) -> StatusCode {
    StatusCode::ACCEPTED
}
