//! Conversations with the emulator over real HTTP and real git.

use super::*;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const REPO: &str = "acme/calendar";

struct Talk {
    emulator: Emulator,
    http: reqwest::Client,
}

impl Talk {
    async fn start(options: Options) -> Talk {
        let emulator = Emulator::start(options).await.unwrap();
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Talk { emulator, http }
    }

    async fn with_repository(ci: Ci) -> Talk {
        let talk = Talk::start(Options::default()).await;
        let files = [
            ("lib.sh", "echo wrong\n"),
            ("ci/test.sh", "sh lib.sh | grep -q right || { echo 'not right'; exit 3; }\n"),
        ];
        talk.emulator.create_repository(NewRepository::new(REPO, &files).ci(ci)).unwrap();
        talk.emulator.collaborator(REPO, "alice", Permission::Write).unwrap();
        talk
    }

    async fn send(&self, method: Method, path: &str, secret: &str, body: Value) -> (StatusCode, Value) {
        let url = format!("{}{path}", self.emulator.api_url());
        let mut request = self.http.request(method, url);
        if !secret.is_empty() {
            request = request.bearer_auth(secret);
        }
        if !body.is_null() {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status();
        (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or(Value::Null))
    }

    async fn get(&self, path: &str, secret: &str) -> (StatusCode, Value) {
        self.send(Method::GET, path, secret, Value::Null).await
    }

    fn jwt(&self, seconds: i64) -> String {
        let app = self.emulator.app();
        let now = chrono::Utc::now().timestamp();
        let claims = json!({ "iss": app.client_id, "iat": now - 30, "exp": now + seconds });
        let key = jsonwebtoken::EncodingKey::from_rsa_pem(app.private_key_pem.as_bytes()).unwrap();
        jsonwebtoken::encode(&jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS256), &claims, &key)
            .unwrap()
    }

    async fn token(&self, wish: Value) -> String {
        let path = format!("/app/installations/{}/access_tokens", self.emulator.app().installation_id);
        let (status, answer) = self.send(Method::POST, &path, &self.jwt(500), wish).await;
        assert_eq!(status, StatusCode::CREATED, "{answer}");
        answer["token"].as_str().unwrap().into()
    }
}

fn git(directory: &Path, arguments: &[&str]) -> (bool, String) {
    let output = git::store::program(directory)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_minted_narrowed_and_end() {
    let talk = Talk::start(Options { token_ttl: Duration::from_millis(400), ..Options::default() }).await;
    talk.emulator.create_repository(NewRepository::new(REPO, &[("a", "b")]).private()).unwrap();
    assert_eq!(talk.get("/app", &talk.jwt(3600)).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(talk.get("/app", &talk.jwt(500)).await.1["slug"], "fixpoint");
    let reads = talk.token(json!({ "permissions": { "issues": "read" } })).await;
    let issues = format!("/repos/{REPO}/issues");
    assert_eq!(talk.get(&issues, &reads).await.0, StatusCode::OK);
    let (status, answer) = talk.send(Method::POST, &issues, &reads, json!({ "title": "x" })).await;
    assert_eq!(
        (status, &answer["message"]),
        (StatusCode::FORBIDDEN, &json!("Resource not accessible by integration"))
    );
    assert_eq!(talk.get(&issues, "").await.0, StatusCode::NOT_FOUND);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (status, answer) = talk.get(&issues, &reads).await;
    assert_eq!((status, &answer["message"]), (StatusCode::UNAUTHORIZED, &json!("Bad credentials")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_opens_a_pull_request_and_ci_really_runs() {
    let talk = Talk::with_repository(Ci::command("test", "sh ci/test.sh")).await;
    let token = talk.token(Value::Null).await;
    let folder = tempfile::tempdir().unwrap();
    let url = talk.emulator.web_url().replace("http://", &format!("http://x-access-token:{token}@"));
    let (cloned, words) = git(folder.path(), &["clone", "-q", &format!("{url}/{REPO}.git"), "clone"]);
    assert!(cloned, "{words}");
    let clone = folder.path().join("clone");
    std::fs::write(clone.join("note"), "x".repeat(300_000)).unwrap();
    git(&clone, &["checkout", "-q", "-b", "fixpoint/1-x"]);
    git(&clone, &["add", "."]);
    git(&clone, &["commit", "-q", "-m", "Note"]);
    let (pushed, words) = git(&clone, &["push", "-q", "origin", "HEAD"]);
    assert!(pushed, "{words}");
    let wish = json!({ "title": "T", "head": "fixpoint/1-x", "base": "main", "draft": true });
    let pulls = format!("/repos/{REPO}/pulls");
    let (status, pull) = talk.send(Method::POST, &pulls, &token, wish.clone()).await;
    assert_eq!(
        (status, &pull["draft"], &pull["user"]["login"]),
        (StatusCode::CREATED, &json!(true), &json!("fixpoint[bot]"))
    );
    let (status, refused) = talk.send(Method::POST, &pulls, &token, wish).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(refused["errors"][0]["message"], "A pull request already exists for acme:fixpoint/1-x.");

    talk.emulator.settled().await;
    let sha = pull["head"]["sha"].as_str().unwrap();
    let (_, runs) = talk.get(&format!("/repos/{REPO}/commits/{sha}/check-runs"), &token).await;
    assert_eq!((&runs["total_count"], &runs["check_runs"][0]["conclusion"]), (&json!(1), &json!("failure")));
    let id = &runs["check_runs"][0]["id"];
    let log = format!("{}/repos/{REPO}/actions/jobs/{id}/logs", talk.emulator.api_url());
    let redirect = talk.http.get(log).bearer_auth(&token).send().await.unwrap();
    assert_eq!(redirect.status(), StatusCode::FOUND);
    let address = redirect.headers()["location"].to_str().unwrap().to_owned();
    let text = talk.http.get(&address).send().await.unwrap().text().await.unwrap();
    for part in ["##[group]Run sh ci/test.sh", "not right", "##[error]Process completed with exit code 3."] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(talk.emulator.leaked_authorizations().is_empty());
    talk.http.get(&address).bearer_auth(&token).send().await.unwrap();
    assert_eq!(talk.emulator.leaked_authorizations().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_are_refused_in_githubs_words() {
    let talk = Talk::start(Options::default()).await;
    let new = NewRepository { protected: vec!["main".into()], ..NewRepository::new(REPO, &[("a", "b")]) };
    talk.emulator.create_repository(new).unwrap();
    let token = talk.token(Value::Null).await;
    let folder = tempfile::tempdir().unwrap();
    let url = talk.emulator.web_url().replace("http://", &format!("http://x-access-token:{token}@"));
    git(folder.path(), &["clone", "-q", &format!("{url}/{REPO}.git"), "."]);
    std::fs::create_dir_all(folder.path().join(".github/workflows")).unwrap();
    std::fs::write(folder.path().join(".github/workflows/ci.yml"), "on: push\n").unwrap();
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "CI"]);
    let (ok, words) = git(folder.path(), &["push", "origin", "HEAD:refs/heads/x"]);
    assert!(!ok);
    let expected = "(refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission)";
    assert!(words.contains(expected), "{words}");
    let (ok, words) = git(folder.path(), &["push", "origin", "HEAD:refs/heads/main"]);
    assert!(!ok && words.contains("GH006") && words.contains("(protected branch hook declined)"), "{words}");
    let (ok, words) = git(folder.path(), &["push", "origin", "HEAD:refs/pull/7/head"]);
    assert!(!ok && words.contains("deny updating a hidden ref"), "{words}");
    let reads = talk.token(json!({ "permissions": { "contents": "read" } })).await;
    let url = url.replace(&token, &reads);
    let (ok, words) = git(folder.path(), &["push", &format!("{url}/{REPO}.git"), "HEAD:refs/heads/y"]);
    assert!(!ok && words.contains("Permission to acme/calendar.git denied to fixpoint[bot]"), "{words}");
}
