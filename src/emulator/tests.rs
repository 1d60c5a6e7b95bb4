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
    let talk = Talk::start(Options::default()).await;
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
    let short = Talk::start(Options { token_ttl: Duration::from_millis(100), ..Options::default() }).await;
    short.emulator.create_repository(NewRepository::new(REPO, &[("a", "b")]).private()).unwrap();
    let reads = short.token(json!({ "permissions": { "issues": "read" } })).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (status, answer) = short.get(&issues, &reads).await;
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

/// A receiver of webhooks: what came, as (event, delivery id, signature holds).
async fn receiver(secret: String) -> (String, std::sync::Arc<Mutex<Vec<(String, String, bool)>>>) {
    let heard = std::sync::Arc::new(Mutex::new(Vec::new()));
    let notes = heard.clone();
    let hook = move |headers: axum::http::HeaderMap, body: axum::body::Bytes| async move {
        let text = |name: &str| headers[name].to_str().unwrap().to_owned();
        let mut mac = <hmac::Hmac<sha2::Sha256> as hmac::KeyInit>::new_from_slice(secret.as_bytes()).unwrap();
        hmac::Mac::update(&mut mac, &body);
        let expected = format!("sha256={}", hex::encode(hmac::Mac::finalize(mac).into_bytes()));
        let note =
            (text("x-github-event"), text("x-github-delivery"), text("x-hub-signature-256") == expected);
        notes.lock().unwrap().push(note);
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let app = axum::Router::new().route("/", axum::routing::post(hook));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, heard)
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_signed_and_go_astray_on_demand() {
    let talk = Talk::with_repository(Ci::none()).await;
    let (url, heard) = receiver(talk.emulator.app().webhook_secret).await;
    talk.emulator.deliver_to(&url);
    talk.emulator.faults().astray(Some("issue_comment"), 1, Astray::Duplicate);
    talk.emulator.faults().astray(Some("issues"), 1, Astray::Reorder);
    let number = talk.emulator.open_issue(REPO, "alice", "T", "B").unwrap();
    talk.emulator.comment(REPO, number, "alice", "one").unwrap();
    talk.emulator.settled().await;
    talk.emulator.faults().astray(None, 1, Astray::Drop);
    talk.emulator.comment(REPO, number, "alice", "two").unwrap();
    talk.emulator.settled().await;
    let events: Vec<String> = heard.lock().unwrap().iter().map(|(event, ..)| event.clone()).collect();
    assert_eq!(events, ["issue_comment", "issue_comment", "issues"]);
    assert!(heard.lock().unwrap().iter().all(|(.., signed)| *signed));
    let failed = talk.emulator.deliveries().into_iter().find(|delivery| delivery.status_code == 0).unwrap();
    let path = format!("/app/hook/deliveries/{}/attempts", failed.id);
    assert_eq!(talk.send(Method::POST, &path, &talk.jwt(500), Value::Null).await.0, StatusCode::ACCEPTED);
    talk.emulator.settled().await;
    assert_eq!(heard.lock().unwrap().last().unwrap().1, failed.guid);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_can_be_lost_after_its_effect_and_lists_can_lag() {
    let talk = Talk::with_repository(Ci::none()).await;
    let token = talk.token(Value::Null).await;
    let number = talk.emulator.open_issue(REPO, "alice", "T", "B").unwrap();
    let comments = format!("/repos/{REPO}/issues/{number}/comments");
    talk.emulator.set_list_lag(2);
    talk.emulator.faults().add(Fault::next("/repos/*/*/issues/*/comments", Trouble::LoseAnswer).on("POST"));
    let url = format!("{}{comments}", talk.emulator.api_url());
    let lost = talk.http.post(&url).bearer_auth(&token).json(&json!({ "body": "x" })).send().await;
    assert!(lost.is_err());
    assert_eq!(talk.emulator.comments(REPO, number).unwrap().len(), 1);
    for expected in [0, 0, 1] {
        assert_eq!(talk.get(&comments, &token).await.1.as_array().unwrap().len(), expected);
    }
    let trouble = Trouble::Status { status: 403, retry_after: Some(60) };
    talk.emulator.faults().add(Fault::next("/repos/**", trouble));
    let answer = talk.http.get(&url).bearer_auth(&token).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), &answer.headers()["retry-after"]), (403, &"60".parse().unwrap()));
    let first = talk.http.get(&url).bearer_auth(&token).send().await.unwrap();
    let etag = first.headers()["etag"].clone();
    let again = talk.http.get(&url).bearer_auth(&token).header("if-none-match", etag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let left = |answer: &reqwest::Response| answer.headers()["x-ratelimit-remaining"].clone();
    assert_eq!(left(&first), left(&again));
    talk.emulator.set_rate_remaining(0);
    let (status, answer) = talk.get(&comments, &token).await;
    assert!(status == 403 && answer["message"].as_str().unwrap().starts_with("API rate limit exceeded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_plays_its_script_on_both_wires() {
    let talk = Talk::start(Options::default()).await;
    let arguments = json!({ "path": "src/lib.rs", "old": "a long enough text to be cut into pieces" });
    talk.emulator.model().plays([
        Play::call("edit", arguments.clone()),
        Play::say("well"),
        Play::error(529, "busy"),
    ]);
    talk.emulator.model().plays_where("calendar", [Play::say("keyed")]);
    let ask = |text: &str, stream: bool| {
        let message = json!({ "role": "user", "content": text });
        json!({ "model": "m", "max_tokens": 9, "stream": stream, "messages": [message] })
    };
    let url = format!("{}/v1/messages", talk.emulator.model_url());
    let stream = talk.http.post(&url).json(&ask("go", true)).send().await.unwrap().text().await.unwrap();
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let input: String = events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(serde_json::from_str::<Value>(&input).unwrap(), arguments);
    assert!(events.iter().any(|event| event["delta"]["stop_reason"] == "tool_use"));
    let (_, keyed) = talk.send(Method::POST, "/v1/messages", "", ask("the calendar", false)).await;
    assert_eq!(keyed["content"][0]["text"], "keyed");
    let (_, said) = talk.send(Method::POST, "/v1/chat/completions", "", ask("go on", false)).await;
    assert_eq!(said["choices"][0]["message"]["content"], "well");
    let (status, busy) = talk.send(Method::POST, "/v1/messages", "", ask("x", false)).await;
    assert_eq!((status.as_u16(), &busy["error"]["type"]), (529, &json!("overloaded_error")));
    let (status, empty) = talk.send(Method::POST, "/v1/messages", "", ask("x", false)).await;
    assert!(status == 400 && empty["error"]["message"].as_str().unwrap().contains("script is empty"));
    assert_eq!((talk.emulator.model().left(), talk.emulator.model().unscripted()), (0, 1));
    assert!(talk.emulator.model().shown()[1].holds("the calendar"));
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_notified_as_github_would() {
    let talk = Talk::with_repository(Ci::none()).await;
    let emulator = &talk.emulator;
    emulator.watch(REPO, "bob").unwrap();
    let number = emulator.open_issue(REPO, "alice", "T", "B").unwrap();
    let bot = emulator.comment(REPO, number, "fixpoint[bot]", "working").unwrap();
    emulator.edit_comment(REPO, bot, "fixpoint[bot]", "done, @carol").unwrap();
    emulator.push_as(REPO, "fixpoint[bot]", "x", &[("a", "b")]).unwrap();
    let pull = emulator.open_pull(REPO, "fixpoint[bot]", "x", "P", "asked by @alice").unwrap();
    let token = talk.token(Value::Null).await;
    let path = format!("/repos/{REPO}/pulls/{pull}/requested_reviewers");
    talk.send(Method::POST, &path, &token, json!({ "reviewers": ["alice"] })).await;
    let told: Vec<String> = emulator
        .notifications()
        .into_iter()
        .map(|n| format!("{} #{} {} {}", n.login, n.number, n.reason, n.about))
        .collect();
    let expected = [
        "bob #1 subscribed opened",
        "bob #1 subscribed comment",
        "alice #1 subscribed comment",
        "bob #2 subscribed opened",
        "alice #2 mention opened",
        "alice #2 review_requested review_requested",
    ];
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    assert_eq!(sorted(told), sorted(expected.map(String::from).to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_threads_and_permissions_over_graphql() {
    let talk = Talk::with_repository(Ci::none()).await;
    talk.emulator.push_as(REPO, "fixpoint[bot]", "x", &[("a", "b")]).unwrap();
    let number = talk.emulator.open_pull(REPO, "fixpoint[bot]", "x", "P", "").unwrap();
    let line = LineComment::on("a", 1, "why");
    talk.emulator.review(REPO, number, "alice", "COMMENTED", "", &[line]).unwrap();
    let token = talk.token(Value::Null).await;
    let (owner, name) = REPO.split_once('/').unwrap();
    let query = "query($o: String!, $r: String!, $n: Int!) { repository(owner: $o, name: $r) { pullRequest(number: $n) { id isDraft
        reviewThreads(first: 50) { nodes { id isResolved comments(first: 1) { nodes { author { login } body } } } } } } }";
    let body = json!({ "query": query, "variables": { "o": owner, "r": name, "n": number } });
    let (_, answer) = talk.send(Method::POST, "/graphql", &token, body).await;
    let pull = &answer["data"]["repository"]["pullRequest"];
    let thread = &pull["reviewThreads"]["nodes"][0];
    assert_eq!(
        (&pull["isDraft"], &thread["comments"]["nodes"][0]["author"]["login"]),
        (&json!(false), &json!("alice"))
    );
    let resolve = json!({ "query": "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }",
        "variables": { "id": thread["id"] } });
    let (_, answer) = talk.send(Method::POST, "/api/graphql", &token, resolve).await;
    assert_eq!(answer, json!({ "data": { "resolveReviewThread": { "thread": { "isResolved": true } } } }));
    let draft = json!({ "query": "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } } }",
        "variables": { "id": pull["id"] } });
    let reads = talk.token(json!({ "permissions": { "pull_requests": "read" } })).await;
    let (_, refused) = talk.send(Method::POST, "/graphql", &reads, draft.clone()).await;
    assert_eq!(refused["errors"][0]["type"], "FORBIDDEN");
    talk.send(Method::POST, "/graphql", &token, draft).await;
    assert!(talk.emulator.pull(REPO, number).unwrap().draft);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scripted_ci_does_what_it_is_told_and_again() {
    let talk = Talk::with_repository(Ci::scripted(&["test"])).await;
    let token = talk.token(Value::Null).await;
    let flaky = |play: JobPlay| CiPlay::Jobs(vec![("test".into(), play)]);
    talk.emulator.ci_plays(REPO, flaky(JobPlay::loses_its_runner())).unwrap();
    talk.emulator.ci_plays(REPO, flaky(JobPlay::passes())).unwrap();
    let sha = talk.emulator.push_as(REPO, "alice", "x", &[("a", "b")]).unwrap();
    talk.emulator.settled().await;
    let runs = format!("/repos/{REPO}/actions/runs?head_sha={sha}");
    let (_, answer) = talk.get(&runs, &token).await;
    let run = &answer["workflow_runs"][0];
    assert_eq!(run["conclusion"], "failure");
    let again = format!("/repos/{REPO}/actions/runs/{}/rerun-failed-jobs", run["id"]);
    assert_eq!(talk.send(Method::POST, &again, &token, Value::Null).await.0, StatusCode::CREATED);
    talk.emulator.settled().await;
    let (_, answer) = talk.get(&runs, &token).await;
    assert_eq!(
        (&answer["workflow_runs"][0]["conclusion"], &answer["workflow_runs"][0]["run_attempt"]),
        (&json!("success"), &json!(2))
    );
    let (_, checks) = talk.get(&format!("/repos/{REPO}/commits/{sha}/check-runs"), &token).await;
    assert_eq!(
        (&checks["total_count"], &checks["check_runs"][0]["conclusion"]),
        (&json!(1), &json!("success"))
    );
    talk.emulator.ci_plays(REPO, CiPlay::Nothing).unwrap();
    let silent = talk.emulator.push_as(REPO, "alice", "x", &[("a", "c")]).unwrap();
    let (_, suites) = talk.get(&format!("/repos/{REPO}/commits/{silent}/check-suites"), &token).await;
    assert_eq!(
        (&suites["total_count"], &suites["check_suites"][0]["status"]),
        (&json!(1), &json!("queued")),
        "only our own"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_renamed_repositories_and_hidden_members() {
    let talk = Talk::with_repository(Ci::scripted(&["test"]).on(On::PullRequest)).await;
    let emulator = &talk.emulator;
    let token = talk.token(Value::Null).await;
    let fork = emulator.fork(REPO, "mallory").unwrap();
    let sha = emulator.push_as(&fork, "mallory", "y", &[("a", "b")]).unwrap();
    let number = emulator.open_pull(REPO, "mallory", "mallory:y", "From a fork", "").unwrap();
    let (_, checks) = talk.get(&format!("/repos/{REPO}/commits/{sha}/check-runs"), &token).await;
    assert_eq!((&checks["total_count"], &checks["check_runs"][0]["pull_requests"]), (&json!(1), &json!([])));
    let (_, reference) = talk.get(&format!("/repos/{REPO}/git/ref/pull/{number}/head"), &token).await;
    assert_eq!(reference["object"]["sha"], sha.as_str());

    emulator.hidden_member(REPO, "dave", Permission::Maintain).unwrap();
    let comment = emulator.comment(REPO, number, "dave", "hi").unwrap();
    let (_, shown) = talk.get(&format!("/repos/{REPO}/issues/comments/{comment}"), &token).await;
    assert_eq!(shown["author_association"], "NONE");
    let (_, may) = talk.get(&format!("/repos/{REPO}/collaborators/dave/permission"), &token).await;
    assert_eq!((&may["permission"], &may["role_name"]), (&json!("write"), &json!("maintain")));

    emulator.rename_repository(REPO, "alice", "almanac").unwrap();
    let (status, moved) = talk.get(&format!("/repos/{REPO}/pulls/{number}"), &token).await;
    assert_eq!(status, StatusCode::MOVED_PERMANENTLY);
    let path = moved["url"].as_str().unwrap().strip_prefix(emulator.api_url()).unwrap();
    assert_eq!(talk.get(path, &token).await.1["base"]["repo"]["name"], "almanac");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_with_the_workflows_own_token_starts_no_ci() {
    let talk = Talk::with_repository(Ci::scripted(&["test"])).await;
    let token = talk.emulator.actions_token(REPO, &[("contents", "write")]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = talk.emulator.web_url().replace("http://", &format!("http://x-access-token:{token}@"));
    git(folder.path(), &["clone", "-q", &format!("{url}/{REPO}.git"), "."]);
    git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "Nothing"]);
    let (pushed, words) = git(folder.path(), &["push", "-q", "origin", "HEAD:refs/heads/z"]);
    assert!(pushed, "{words}");
    let app = talk.token(Value::Null).await;
    let sha = talk.emulator.branch(REPO, "z").unwrap().unwrap();
    let (_, suites) = talk.get(&format!("/repos/{REPO}/commits/{sha}/check-suites"), &app).await;
    assert_eq!(suites["total_count"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_can_drive_it_over_http() {
    let talk = Talk::start(Options::default()).await;
    let drive = async |verb: &str, arguments: Value| {
        let (status, answer) = talk.send(Method::POST, &format!("/_emulator/{verb}"), "", arguments).await;
        assert_eq!(status, StatusCode::OK, "{verb}: {answer}");
        answer
    };
    let wish = json!({ "name": REPO, "files": { "ci.sh": "exit 1" }, "commands": { "test": "sh ci.sh" } });
    drive("create_repository", wish).await;
    drive("collaborator", json!({ "repo": REPO, "login": "alice", "permission": "write" })).await;
    let number =
        drive("open_issue", json!({ "repo": REPO, "login": "alice", "title": "T", "body": "B" })).await;
    drive("comment", json!({ "repo": REPO, "number": number, "login": "alice", "body": "hi" })).await;
    drive("push", json!({ "repo": REPO, "login": "alice", "branch": "x", "files": { "a": "b" } })).await;
    drive("model_plays", json!({ "plays": [{ "say": "hi" }, { "calls": { "say": "", "calls": [{ "tool": "t", "arguments": {} }] } }] })).await;
    drive("push", json!({ "repo": REPO, "login": "alice", "branch": "base", "files": { "c": "d" } })).await;
    let wish = json!({ "repo": REPO, "login": "alice", "head": "x", "title": "T", "draft": true });
    let pull = drive("open_pull", wish).await;
    let at = |more: Value| {
        let mut at = json!({ "repo": REPO, "number": pull, "login": "bob" });
        at.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        at
    };
    let lines = json!([{ "path": "a", "line": 1, "body": "```suggestion\nB\n```" }]);
    let review = json!({ "state": "CHANGES_REQUESTED", "body": "no", "lines": lines });
    let review = drive("review", at(review)).await;
    drive("dismiss", at(json!({ "review": review }))).await;
    drive("label", at(json!({ "label": "l" }))).await;
    drive("unlabel", at(json!({ "label": "l" }))).await;
    drive("draft", at(json!({ "draft": false }))).await;
    drive("retarget", at(json!({ "base": "base" }))).await;
    drive("queue", at(json!({ "queued": true }))).await;
    let seen = drive("pull", json!({ "repo": REPO, "number": pull })).await;
    assert_eq!(
        (&seen["base_branch"], &seen["draft"], &seen["labels"]),
        (&json!("base"), &json!(false), &json!([]))
    );
    assert_eq!(drive("reviews", at(json!({}))).await[0]["state"], "DISMISSED");
    assert_eq!(drive("line_comments", at(json!({}))).await[0]["line"], 1);
    assert_eq!(
        drive("check_runs", json!({ "repo": REPO, "sha": seen["head_sha"] })).await[0]["name"],
        "test"
    );
    let beside = json!({ "path": "a", "line": 9, "body": "x" });
    let (status, _) =
        talk.send(Method::POST, "/_emulator/comment_on_line", "", at(json!({ "line": beside }))).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "line 9 is not part of the difference");
    drive("settled", Value::Null).await;
    assert_eq!(drive("comments", json!({ "repo": REPO, "number": number })).await[0]["author"], "alice");
    assert_eq!(drive("app", Value::Null).await["slug"], "fixpoint");
    let unknown = talk.send(Method::POST, "/_emulator/dance", "", Value::Null).await;
    assert!(unknown.0 == 400 && unknown.1["message"].as_str().unwrap().contains("dance"));
}
