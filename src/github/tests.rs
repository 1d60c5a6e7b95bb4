//! Against a small server that misbehaves as GitHub does: what is sent, how often, and with which token.

use super::*;
use crate::domain::{Actor, CommentId, Number};
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// One request as it arrived.
#[derive(Clone, Debug)]
struct Seen {
    method: Method,
    path: String,
    bearer: Option<String>,
    headers: HeaderMap,
    body: Value,
}

/// A server, everything it was asked, and a client for its repository `o/r`.
struct Stub {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    github: GitHub,
    repository: Repository,
}

impl Stub {
    /// Answers what Apps ask by itself (`ghs_1`, `ghs_2` … are the tokens); everything else is `answer`'s, which gets
    /// the request and the server's address.
    async fn new(answer: impl Fn(&Seen, &str) -> Response + Send + Sync + 'static) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (log, own, minted, answer) = (seen.clone(), url.clone(), AtomicUsize::new(0), Arc::new(answer));
        let minted = Arc::new(minted);
        let handler = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let bearer = headers.get("authorization").map(|h| h.to_str().unwrap().replace("Bearer ", ""));
            let path = uri.path_and_query().unwrap().to_string();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let request = Seen { method, path, bearer, headers, body };
            log.lock().unwrap().push(request.clone());
            let (own, minted, answer) = (own.clone(), minted.clone(), answer.clone());
            async move {
                match request.path.as_str() {
                    "/app" => json_of(json!({ "id": 42, "slug": "fx" })),
                    "/app/installations/5" => json_of(json!({ "permissions": {
                        "metadata": "read", "contents": "write", "issues": "write", "pull_requests": "write",
                        "checks": "write", "actions": "write", "statuses": "read" } })),
                    "/app/installations/5/access_tokens" => {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        let token = format!("ghs_{}", minted.fetch_add(1, SeqCst) + 1);
                        let end = chrono::Utc::now() + chrono::TimeDelta::hours(1);
                        json_of(json!({ "token": token, "expires_at": end.to_rfc3339() }))
                    }
                    _ => answer(&request, &own),
                }
            }
        };
        let app = axum::Router::new().fallback(handler);
        tokio::spawn(async move { axum::serve(listener, app).await });
        let settings = Settings {
            api_url: url.parse().unwrap(),
            web_url: url.parse().unwrap(),
            identity: Identity::App {
                id: "Iv1.x".into(),
                private_key: include_str!("test-app.pem").to_owned().into(),
            },
        };
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let github = GitHub::new(settings, http.build().unwrap()).unwrap();
        let repo = Repo { id: RepoId(9), owner: "o".into(), name: "r".into() };
        let repository = github.repository(InstallationId(5), &repo);
        Self { url, seen, github, repository }
    }

    /// What was asked of the repository: method, path, token.
    fn story(&self) -> String {
        let seen = self.seen.lock().unwrap();
        let own = seen.iter().filter(|s| !s.path.starts_with("/app"));
        let line = |s: &Seen| format!("{} {} {}", s.method, s.path, s.bearer.as_deref().unwrap_or("-"));
        own.map(line).collect::<Vec<_>>().join("\n")
    }

    fn count(&self, method: &Method, part: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|s| s.method == method && s.path.contains(part)).count()
    }
}

fn json_of(value: Value) -> Response {
    axum::Json(value).into_response()
}

fn status(code: u16, value: Value) -> Response {
    (StatusCode::from_u16(code).unwrap(), axum::Json(value)).into_response()
}

fn issue() -> Value {
    // Everything GitHub may leave out or null is nulled.
    json!({ "number": 7, "title": "t", "body": null, "user": null, "state": "open", "labels": [{ "name": null }, "bug"],
            "pull_request": null, "updated_at": null })
}

#[tokio::test]
async fn f23_one_token_serves_all_and_is_minted_again_once_on_401() {
    let stub = Stub::new(|request, _| match request.bearer.as_deref() {
        Some("ghs_1") => status(401, json!({ "message": "Bad credentials" })),
        _ => json_of(issue()),
    })
    .await;
    let issues = futures::future::join_all((0..8).map(|_| stub.repository.issue(Number(7)))).await;
    assert!(issues.iter().all(Result::is_ok), "{issues:?}");
    assert_eq!(stub.count(&Method::POST, "access_tokens"), 2);
    let issue = issues[0].as_ref().unwrap();
    assert_eq!((issue.author.login.as_str(), issue.labels.last().unwrap().as_str()), ("ghost", "bug"));
    assert!(!issue.is_pull);
    let mint = stub.seen.lock().unwrap().iter().find(|s| s.path.ends_with("access_tokens")).unwrap().clone();
    assert_eq!(mint.body["repository_ids"], json!([9]));
    assert_eq!(mint.body["permissions"]["contents"], "read");
}

#[tokio::test]
async fn a_token_refused_twice_is_not_asked_for_a_third_time() {
    let stub = Stub::new(|_, _| status(401, json!({ "message": "Bad credentials" }))).await;
    assert!(matches!(stub.repository.issue(Number(7)).await, Err(GitHubError::Unauthorized(_))));
    assert_eq!(stub.count(&Method::GET, "/repos"), 2);
}

#[tokio::test]
async fn reads_are_repeated_and_writes_are_not() {
    let left = AtomicUsize::new(2);
    let stub = Stub::new(move |request, _| {
        let fails =
            request.method == Method::POST || left.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1)).is_ok();
        if fails { status(502, json!({})) } else { json_of(issue()) }
    })
    .await;
    stub.repository.issue(Number(7)).await.unwrap();
    let on = crate::domain::session::Subject::Comment(CommentId(3));
    assert!(matches!(stub.repository.react(Number(7), on).await, Err(GitHubError::Unavailable(_))));
    insta::assert_snapshot!(stub.story(), @r"
    GET /repos/o/r/issues/7 ghs_1
    GET /repos/o/r/issues/7 ghs_1
    GET /repos/o/r/issues/7 ghs_1
    POST /repos/o/r/issues/comments/3/reactions ghs_2
    ");
}

#[tokio::test]
async fn c20_while_limited_nothing_is_sent() {
    let stub = Stub::new(|_, _| {
        let message = json!({ "message": "You have exceeded a secondary rate limit" });
        (StatusCode::FORBIDDEN, [("retry-after", "600")], axum::Json(message)).into_response()
    })
    .await;
    for _ in 0..3 {
        let error = stub.repository.issue(Number(7)).await.unwrap_err();
        assert!(error.retry_after().is_some_and(|wait| wait > Duration::from_secs(120)), "{error}");
    }
    assert!(stub.repository.credential(Scope::Push).await.is_err());
    assert_eq!(stub.seen.lock().unwrap().len(), 3, "one read, and what its token took");
}

#[tokio::test]
async fn the_token_stays_with_the_api_whatever_an_answer_says() {
    let thief = Stub::new(|_, _| json_of(json!([]))).await;
    let elsewhere = thief.url.clone();
    let stub = Stub::new(move |request, own| match request.path.as_str() {
        "/repos/o/r/issues/7" => {
            (StatusCode::MOVED_PERMANENTLY, [("location", format!("{own}/repositories/9/issues/7"))])
                .into_response()
        }
        "/repositories/9/issues/7" => json_of(issue()),
        _ => {
            let next = format!("<{elsewhere}/x?page=2>; rel=\"next\"");
            ([("link", next)], axum::Json(json!([]))).into_response()
        }
    })
    .await;
    stub.repository.issue(Number(7)).await.unwrap();
    assert!(matches!(stub.repository.comments(Number(7)).await, Err(GitHubError::Invalid(_))));
    assert_eq!(thief.seen.lock().unwrap().len(), 0);
    insta::assert_snapshot!(stub.story(), @r"
    GET /repos/o/r/issues/7 ghs_1
    GET /repositories/9/issues/7 ghs_1
    GET /repos/o/r/issues/7/comments?per_page=100 ghs_1
    ");
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let stub = Stub::new(|request, _| match request.headers.get("if-none-match") {
        Some(tag) if tag == "\"v1\"" => StatusCode::NOT_MODIFIED.into_response(),
        _ => ([("etag", "\"v1\"")], axum::Json(issue())).into_response(),
    })
    .await;
    for _ in 0..2 {
        assert_eq!(stub.repository.issue(Number(7)).await.unwrap().title, "t");
    }
    let other = Repo { id: RepoId(10), owner: "o".into(), name: "r".into() };
    stub.github.repository(InstallationId(5), &other).issue(Number(7)).await.unwrap();
    let seen = stub.seen.lock().unwrap();
    let asked = seen.iter().filter(|s| s.path.contains("/issues/"));
    let conditional: Vec<bool> = asked.map(|s| s.headers.contains_key("if-none-match")).collect();
    assert_eq!(conditional, [false, true, false], "another token's answers are never used");
}

#[tokio::test]
async fn f16_a_permission_of_somebody_else_gives_nothing() {
    let stub = Stub::new(|request, _| match request.path.contains("/ghosted/") {
        true => status(404, json!({ "message": "ghosted is not a user" })),
        false => json_of(
            json!({ "permission": "admin", "role_name": "admin", "user": { "id": 1, "login": "alice" } }),
        ),
    })
    .await;
    let ask = async |id, login: &str| {
        let actor = Actor { id: UserId(id), login: login.into() };
        stub.repository.permission(&actor).await.unwrap()
    };
    assert_eq!(ask(1, "alice").await, Permission::Admin);
    assert_eq!(ask(1, "alice").await, Permission::Admin);
    assert_eq!(ask(2, "alice").await, Permission::None, "the login was taken over");
    assert_eq!(ask(3, "ghosted").await, Permission::None);
    assert_eq!(stub.count(&Method::GET, "/alice/"), 2, "asked once a minute");
}

/// A conversation whose list lags behind by `lag` reads.
struct Thread {
    comments: Vec<Value>,
    lag: usize,
}

impl Thread {
    fn say(&mut self, id: u64, app: Option<u64>, body: &str) -> Value {
        let via = app.map(|id| json!({ "id": id }));
        let url = format!("https://h/{id}");
        let comment = json!({ "id": id, "body": body, "html_url": url, "performed_via_github_app": via });
        self.comments.push(comment.clone());
        comment
    }
}

async fn thread(thread: Thread) -> (Stub, Arc<Mutex<Thread>>) {
    let thread = Arc::new(Mutex::new(thread));
    let shared = thread.clone();
    let stub = Stub::new(move |request, _| {
        let mut thread = shared.lock().unwrap();
        match request.method {
            Method::POST => {
                let body = request.body["body"].as_str().unwrap().to_owned();
                let id = 100 + thread.comments.len() as u64;
                json_of(thread.say(id, Some(42), &body))
            }
            Method::DELETE => {
                let id: u64 = request.path.rsplit('/').next().unwrap().parse().unwrap();
                thread.comments.retain(|c| c["id"] != id);
                StatusCode::NO_CONTENT.into_response()
            }
            _ if thread.lag > 0 => {
                thread.lag -= 1;
                json_of(json!([]))
            }
            _ => json_of(json!(thread.comments)),
        }
    })
    .await;
    (stub, thread)
}

#[tokio::test]
async fn c16_a_comment_stays_one_though_the_list_lags() {
    // Written by an earlier try whose result was lost, and not in the first list that is read.
    let mut before = Thread { comments: vec![], lag: 1 };
    before.say(50, None, "<!-- fx:1 --> copied by a stranger");
    before.say(60, Some(42), "<!-- fx:1 --> ours");
    let (stub, thread) = thread(before).await;
    let once = stub.repository.comment_once(Number(7), "<!-- fx:1 -->", "ours").await.unwrap();
    assert_eq!(once, (CommentId(60), "https://h/60".into()));
    let ids: Vec<u64> = thread.lock().unwrap().comments.iter().map(|c| c["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [50, 60], "our second one is deleted, nobody else's");
    let again = stub.repository.comment_once(Number(7), "<!-- fx:1 -->", "ours").await.unwrap();
    assert_eq!((again.0, stub.count(&Method::POST, "/comments")), (CommentId(60), 1));
}

#[tokio::test]
async fn c16_a_new_comment_carries_its_marker() {
    let (stub, thread) = thread(Thread { comments: vec![], lag: 3 }).await;
    let once = stub.repository.comment_once(Number(7), "<!-- fx:1 -->", "text").await.unwrap();
    assert_eq!(once.0, CommentId(100), "a list that does not show it yet deletes nothing");
    assert_eq!(thread.lock().unwrap().comments[0]["body"], "text\n\n<!-- fx:1 -->");
}

fn pull(number: u64, state: &str, merged: bool, draft: bool) -> Value {
    let end = |branch: &str| json!({ "sha": "a".repeat(40), "ref": branch, "repo": { "id": 9 } });
    json!({ "number": number, "node_id": "PR_x", "state": state, "merged_at": merged.then_some("2026-01-01T00:00:00Z"),
            "draft": draft, "head": end("b"), "base": end("main"), "mergeable": null, "html_url": "u" })
}

#[tokio::test]
async fn c14_a_pull_request_that_exists_already_is_found() {
    let asked = AtomicUsize::new(0);
    let stub = Stub::new(move |request, _| match request.method {
        Method::POST => status(
            422,
            json!({ "message": "Validation Failed", "errors": [
            { "message": "A pull request already exists for o:b." }] }),
        ),
        // The list lags by two reads.
        _ if asked.fetch_add(1, SeqCst) < 2 => json_of(json!([pull(3, "closed", true, false)])),
        _ => json_of(json!([pull(8, "open", false, true), pull(3, "closed", true, false)])),
    })
    .await;
    let found = stub.repository.pull_once("b", "main", "t", "x").await.unwrap();
    assert_eq!((found.number, found.draft), (Number(8), true));
    assert!(stub.story().contains("/pulls?state=all&head=o%3Ab&per_page=100"));
}

#[tokio::test]
async fn c15_a_pull_request_that_a_person_closed_is_not_opened_again() {
    let stub = Stub::new(|_, _| json_of(json!([pull(8, "closed", false, true)]))).await;
    let found = stub.repository.pull_once("b", "main", "t", "x").await.unwrap();
    assert!(!found.open && !found.merged && stub.count(&Method::POST, "/pulls") == 0);
}

#[tokio::test]
async fn where_drafts_are_refused_an_ordinary_one_is_opened() {
    let stub = Stub::new(|request, _| match (&request.method, &request.body["draft"]) {
        (&Method::POST, Value::Bool(true)) => {
            status(422, json!({ "message": "Draft pull requests are not supported in this repository." }))
        }
        (&Method::POST, _) => status(201, pull(8, "open", false, false)),
        _ => json_of(json!([])),
    })
    .await;
    let opened = stub.repository.pull_once("b", "main", "t", "x").await.unwrap();
    assert_eq!((opened.number, opened.draft), (Number(8), false));
}

#[tokio::test]
async fn draft_and_ready_are_idempotent_and_need_both_permissions() {
    let stub = Stub::new(|request, _| match request.path.as_str() {
        "/graphql" => json_of(
            json!({ "data": null, "errors": [{ "type": "UNPROCESSABLE", "message": "is not a draft" }] }),
        ),
        _ => json_of(pull(8, "open", false, false)),
    })
    .await;
    let now = stub.repository.pull(Number(8)).await.unwrap();
    stub.repository.set_draft(&now, false).await.unwrap();
    assert!(matches!(stub.repository.set_draft(&now, true).await, Err(GitHubError::Invalid(_))));
    let mints = stub.seen.lock().unwrap().iter().rfind(|s| s.path.ends_with("tokens")).unwrap().clone();
    assert_eq!(
        mints.body["permissions"],
        json!({ "metadata": "read", "contents": "write", "pull_requests": "write" })
    );
}

#[tokio::test]
async fn a_log_is_read_from_its_store_without_the_token() {
    let store = Stub::new(|request, _| match request.path.contains("expired") {
        true => StatusCode::GONE.into_response(),
        false => format!("{}end", "line\n".repeat(100_000)).into_response(),
    })
    .await;
    let address = store.url.clone();
    let stub = Stub::new(move |request, _| match request.path.as_str() {
        "/repos/o/r/actions/jobs/1/logs" => {
            (StatusCode::FOUND, [("location", format!("{address}/log?sig=s"))]).into_response()
        }
        "/repos/o/r/actions/jobs/2/logs" => {
            (StatusCode::FOUND, [("location", format!("{address}/expired"))]).into_response()
        }
        "/repos/o/r/actions/jobs/3/logs" => status(410, json!({ "message": "Gone" })),
        "/repos/o/r/actions/jobs/4/logs" => {
            status(403, json!({ "message": "Resource not accessible by integration" }))
        }
        _ => status(404, json!({ "message": "Not Found" })),
    })
    .await;
    let log = async |job| stub.repository.job_log(job, 8).await;
    assert_eq!(log(1).await.unwrap(), JobLog::Text(b"line\nend".to_vec()));
    assert_eq!(log(2).await.unwrap(), JobLog::Gone);
    assert_eq!(log(3).await.unwrap(), JobLog::Gone);
    assert!(matches!(log(4).await, Err(GitHubError::Forbidden(_))));
    assert_eq!(log(5).await.unwrap(), JobLog::NotYet);
    assert!(store.seen.lock().unwrap().iter().all(|s| s.bearer.is_none()));
}

#[tokio::test]
async fn f48_all_checks_of_a_commit_over_all_pages() {
    let stub = Stub::new(|request, own| {
        let runs = |ids: std::ops::Range<u64>| {
            json!({ "total_count": 101, "check_runs": ids.map(|id| json!({ "id": id, "name": "n", "conclusion": null })).collect::<Vec<_>>() })
        };
        match request.path.as_str() {
            path if path.contains("page=2") => json_of(runs(100..101)),
            path if path.contains("check-runs") => {
                let next = format!("<{own}/repos/o/r/commits/x/check-runs?page=2>; rel=\"next\"");
                ([("link", next)], axum::Json(runs(0..100))).into_response()
            }
            path if path.contains("check-suites") => json_of(json!({ "check_suites": [{ "id": 1, "app": null, "status": "a new word" }] })),
            path if path.contains("/status") => json_of(json!({ "state": "pending", "statuses": [{ "id": 1, "context": "c" }] })),
            _ => status(403, json!({ "message": "Resource not accessible by integration" })),
        }
    })
    .await;
    let commit = crate::domain::Sha::parse(&"a".repeat(40)).unwrap();
    let checks = stub.repository.checks(&commit).await.unwrap();
    let counts = (
        checks.check_suites.len(),
        checks.check_runs.len(),
        checks.statuses.len(),
        checks.workflow_runs.len(),
    );
    assert_eq!(counts, (1, 101, 1, 0));
}

#[tokio::test]
async fn required_names_come_from_the_branch_and_its_rules() {
    let stub = Stub::new(|request, _| match request.path.starts_with("/repos/o/r/rules/branches/release%2F1") {
        true => json_of(json!([
            { "type": "deletion" },
            { "type": "required_status_checks", "parameters": { "required_status_checks": [{ "context": "lint", "integration_id": null }] } }])),
        false => json_of(json!({ "name": "release/1", "commit": { "sha": "a".repeat(40) }, "protected": true, "protection": {
            "required_status_checks": { "enforcement_level": "everyone", "contexts": ["test"], "checks": [{ "context": "test", "app_id": null }] } } })),
    })
    .await;
    assert_eq!(stub.repository.required_checks("release/1").await.unwrap(), ["lint", "test"]);
}

/// The emulator's App in a repository of its own, as this module sees it.
async fn emulated() -> (crate::emulator::Emulator, Repository) {
    use crate::emulator::{Ci, Emulator, NewRepository, Options, Permission};
    let _ = rustls::crypto::ring::default_provider().install_default();
    let emulator = Emulator::start(Options::default()).await.unwrap();
    let files = [("README.md", "hello\n"), ("docs/a b.md", "deep\n")];
    let new = NewRepository::new("acme/calendar", &files).ci(Ci::command("test", "echo broken; exit 1"));
    let id = emulator.create_repository(new).unwrap();
    emulator.collaborator("acme/calendar", "alice", Permission::Write).unwrap();
    let app = emulator.app();
    let settings = Settings {
        api_url: emulator.api_url().parse().unwrap(),
        web_url: emulator.web_url().parse().unwrap(),
        identity: Identity::App { id: app.client_id, private_key: app.private_key_pem.into() },
    };
    let http =
        reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let repo = Repo { id: RepoId(id), owner: "acme".into(), name: "calendar".into() };
    let repository =
        GitHub::new(settings, http).unwrap().repository(InstallationId(app.installation_id), &repo);
    (emulator, repository)
}

#[tokio::test]
async fn c11_a_whole_conversation_while_tokens_die() {
    let (emulator, repository) = emulated().await;
    let info = repository.info().await.unwrap();
    assert_eq!((info.repo.to_string().as_str(), info.default_branch.as_str()), ("acme/calendar", "main"));
    let main = repository.branch("main").await.unwrap().unwrap();
    assert_eq!(repository.branch("no/such").await.unwrap(), None);
    assert_eq!(repository.file("docs/a b.md", main.as_str()).await.unwrap().as_deref(), Some(&b"deep\n"[..]));
    assert_eq!(repository.file("docs", "main").await.unwrap(), None);

    let number = Number(emulator.open_issue("acme/calendar", "alice", "Sum is wrong", "It is.").unwrap());
    let issue = repository.issue(number).await.unwrap();
    assert_eq!((issue.author.login.as_str(), issue.open, issue.is_pull), ("alice", true, false));
    assert_eq!(repository.permission(&issue.author).await.unwrap(), Permission::Write);
    repository.react(number, crate::domain::session::Subject::Body).await.unwrap();
    emulator.expire_tokens();

    emulator.set_list_lag(1);
    let marker = "<!-- fixpoint:1:status -->";
    let (comment, url) = repository.comment_once(number, marker, "Working").await.unwrap();
    assert!(url.contains("#issuecomment-"), "{url}");
    assert_eq!(repository.comment_once(number, marker, "Working").await.unwrap().0, comment);
    repository.edit_comment(comment, &format!("Done {marker}")).await.unwrap();
    emulator.expire_tokens();

    let head = emulator.push_as("acme/calendar", "alice", "fixpoint/1-sum", &[("sum", "1")]).unwrap();
    let head = crate::domain::Sha::parse(&head).unwrap();
    let opened = repository.pull_once("fixpoint/1-sum", "main", "Fix the sum", "Fixes it.").await.unwrap();
    let again = repository.pull_once("fixpoint/1-sum", "main", "Fix the sum", "Fixes it.").await.unwrap();
    assert_eq!((opened.draft, again.number, again.head_repo), (true, opened.number, Some(info.repo.clone())));
    repository.set_draft(&opened, false).await.unwrap();
    repository.request_review(opened.number, "alice").await.unwrap();
    repository.edit_pull(opened.number, Some("Fix the sum of nothing"), Some("Fixes it.")).await.unwrap();
    let pull = repository.pull(opened.number).await.unwrap();
    assert_eq!((pull.draft, pull.reviewers, &pull.head), (false, vec!["alice".to_owned()], &head));

    let show = CheckShow {
        head: head.clone(),
        name: "fixpoint".into(),
        external_id: "s1".into(),
        conclusion: None,
        title: "Round 1".into(),
        summary: "Reading".into(),
        actions: vec![crate::github::CheckAction {
            label: "Fix it".into(),
            description: "Starts a round".into(),
            identifier: "fix".into(),
        }],
        details_url: None,
    };
    let check = repository.check_once(&show).await.unwrap();
    assert_eq!(repository.check_once(&show).await.unwrap(), check);
    repository.update_check(check, &CheckShow { conclusion: Some("neutral"), ..show }).await.unwrap();
    emulator.settled().await;
    let checks = repository.checks(&head).await.unwrap();
    assert!(
        checks.check_runs.len() >= 2 && !checks.check_suites.is_empty() && !checks.workflow_runs.is_empty()
    );
    let failed = checks.check_runs.iter().find(|run| run.name == "test").unwrap().id;
    let JobLog::Text(log) = repository.job_log(failed, 1 << 20).await.unwrap() else { panic!("no log") };
    assert!(String::from_utf8(log).unwrap().contains("broken"));
    assert!(!repository.annotations(failed).await.unwrap().is_empty());
    repository.rerun_failed(checks.workflow_runs[0].id).await.unwrap();

    assert_eq!(emulator.leaked_authorizations(), Vec::<String>::new());
}

#[tokio::test]
async fn c14_an_answer_that_is_lost_opens_nothing_twice() {
    use crate::emulator::{Fault, Trouble};
    let (emulator, repository) = emulated().await;
    emulator.push_as("acme/calendar", "alice", "b", &[("sum", "1")]).unwrap();
    emulator.faults().add(Fault::next("/repos/*/*/pulls", Trouble::LoseAnswer).on("POST"));
    let lost = repository.pull_once("b", "main", "t", "x").await.unwrap_err();
    assert!(lost.retry_after().is_some(), "{lost}");
    repository.pull_once("b", "main", "t", "x").await.unwrap();
    assert_eq!(emulator.pulls("acme/calendar").unwrap().len(), 1);
}

#[tokio::test]
async fn the_present_names_of_a_renamed_repository_are_read_by_its_id() {
    let (emulator, repository) = emulated().await;
    emulator.rename_repository("acme/calendar", "alice", "almanac").unwrap();
    assert_eq!(repository.info().await.unwrap().repo.to_string(), "acme/almanac");
}

#[tokio::test]
async fn a_permission_that_is_missing_is_named() {
    let (emulator, repository) = emulated().await;
    emulator.grant("contents", Some("read"));
    let error = repository.credential(Scope::Push).await.unwrap_err();
    assert!(error.to_string().contains("\"contents: write\""), "{error}");
    emulator.grant("contents", Some("write"));
    repository.credential(Scope::Push).await.unwrap();
    emulator.suspend(true);
    repository.forget_token(Scope::Push).await;
    assert!(matches!(repository.credential(Scope::Push).await, Err(GitHubError::Forbidden(_))));
}

/// [`emulated`] with a pull request of alice's from a branch of the repository: `lib` has new lines 2 and 3.
async fn with_pull() -> (crate::emulator::Emulator, Repository, PullRequest) {
    let (emulator, repository) = emulated().await;
    emulator.push_as("acme/calendar", "alice", "main", &[("lib", "one\nfour\nfive\n")]).unwrap();
    emulator.push_as("acme/calendar", "alice", "more", &[("lib", "one\ntwo\nthree\nfour\nfive\n")]).unwrap();
    let number = emulator.open_pull("acme/calendar", "alice", "more", "More", "lines").unwrap();
    let pull = repository.pull(Number(number)).await.unwrap();
    (emulator, repository, pull)
}

/// A pull request of mallory's from a fork; `y` is its branch.
async fn with_fork() -> (crate::emulator::Emulator, Repository, PullRequest) {
    let (emulator, repository) = emulated().await;
    let fork = emulator.fork("acme/calendar", "mallory").unwrap();
    emulator.push_as(&fork, "mallory", "y", &[("a", "b\n")]).unwrap();
    let number = emulator.open_pull("acme/calendar", "mallory", "mallory:y", "From a fork", "").unwrap();
    let pull = repository.pull(Number(number)).await.unwrap();
    (emulator, repository, pull)
}

#[tokio::test]
async fn a_persons_pull_request_is_read_with_all_that_matters() {
    let (emulator, repository, pull) = with_pull().await;
    let here = repository.info().await.unwrap().repo;
    assert_eq!(
        (pull.author.login.as_str(), pull.title.as_str(), pull.body.as_str()),
        ("alice", "More", "lines")
    );
    assert_eq!((pull.head_repo.as_ref(), pull.newcomer, pull.by_bot), (Some(&here), false, false));
    repository.add_labels(pull.number, &["one", "two words"]).await.unwrap();
    assert_eq!(repository.pull(pull.number).await.unwrap().labels, ["one", "two words"]);
    repository.remove_label(pull.number, "two words").await.unwrap();
    repository.remove_label(pull.number, "two words").await.unwrap();
    assert_eq!(repository.pull(pull.number).await.unwrap().labels, ["one"]);
    let bot = repository.bot().await.unwrap();
    assert_eq!(bot.login, "fixpoint[bot]");
    assert_ne!(bot.id.0, emulator.app().app_id, "the bot is an account of its own");
}

#[tokio::test]
async fn whether_it_merges_is_found_out_by_asking() {
    let (emulator, repository, pull) = with_pull().await;
    emulator.set_merge_lag(1);
    emulator.push_as("acme/calendar", "alice", "main", &[("lib", "another\n")]).unwrap();
    assert_eq!(repository.pull(pull.number).await.unwrap().mergeable, None);
    assert_eq!(repository.pull(pull.number).await.unwrap().mergeable, Some(false));
    emulator.update_branch("acme/calendar", "alice", "more").unwrap_err();
    emulator.push_as("acme/calendar", "alice", "more", &[("lib", "one\nfour\nfive\n")]).unwrap();
    assert_eq!(repository.pull(pull.number).await.unwrap().mergeable, None);
    assert_eq!(repository.pull(pull.number).await.unwrap().mergeable, Some(true));
}

#[tokio::test]
async fn f36_a_pull_request_is_found_by_its_head_though_it_comes_from_a_fork() {
    let (emulator, repository, own) = with_pull().await;
    let numbers = async |head: &crate::domain::Sha, from| {
        let found = repository.pulls_at(head, from).await.unwrap();
        found.into_iter().map(|pull| pull.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&own.head, None).await, [own.number]);
    let fork = emulator.fork("acme/calendar", "mallory").unwrap();
    let head = emulator.push_as(&fork, "mallory", "y", &[("a", "b\n")]).unwrap();
    let head = crate::domain::Sha::parse(&head).unwrap();
    assert_eq!(numbers(&head, None).await, []);
    let number = emulator.open_pull("acme/calendar", "mallory", "mallory:y", "From a fork", "").unwrap();
    assert_eq!(numbers(&head, Some(("mallory", "y"))).await, [Number(number)]);
    assert_eq!(numbers(&head, None).await, [Number(number)]);
    emulator.close("acme/calendar", number, "alice").unwrap();
    assert_eq!(numbers(&head, Some(("mallory", "y"))).await, []);
}

#[tokio::test]
async fn f30_a_fork_says_who_may_push_and_is_reached_by_its_own_address() {
    let (emulator, repository, pull) = with_fork().await;
    let fork = pull.head_repo.clone().unwrap();
    assert_eq!(
        (fork.to_string().as_str(), pull.maintainer_can_modify, pull.newcomer),
        ("mallory/calendar", true, true)
    );
    assert_ne!(fork.id, repository.info().await.unwrap().repo.id);
    assert_eq!(repository.git_url_of(&fork).path(), "/mallory/calendar.git");
    let wish = crate::emulator::PullWish {
        head: "mallory:y2".into(),
        closed_to_maintainers: true,
        ..Default::default()
    };
    emulator.push_as("mallory/calendar", "mallory", "y2", &[("a", "c\n")]).unwrap();
    let closed = emulator.open_pull_with("acme/calendar", "mallory", wish).unwrap();
    assert!(!repository.pull(Number(closed)).await.unwrap().maintainer_can_modify);
    emulator.delete_repository("mallory/calendar", "mallory").unwrap();
    assert_eq!(repository.pull(pull.number).await.unwrap().head_repo, None);
}

#[tokio::test]
async fn a_review_is_read_with_its_lines() {
    use crate::emulator::LineComment as Line;
    let (emulator, repository, pull) = with_pull().await;
    let number = pull.number.0;
    let suggestion = "```suggestion\n2\n```";
    let lines = [Line::on("lib", 3, suggestion), Line { start_line: Some(2), ..Line::on("lib", 3, "both") }];
    let first =
        emulator.review("acme/calendar", number, "bob", "CHANGES_REQUESTED", "not yet", &lines).unwrap();
    let approved = emulator.review("acme/calendar", number, "carol", "APPROVED", "", &[]).unwrap();
    let answer = emulator.line_comments("acme/calendar", number).unwrap()[0].id;
    emulator.reply("acme/calendar", number, "alice", answer, "why?").unwrap();

    let reviews = repository.reviews(pull.number).await.unwrap();
    let told: Vec<_> =
        reviews.iter().map(|review| (review.author.login.as_str(), review.state.as_str())).collect();
    assert_eq!(told, [("bob", "CHANGES_REQUESTED"), ("carol", "APPROVED"), ("alice", "COMMENTED")]);
    let of_first = async || {
        let reviews = repository.reviews(pull.number).await.unwrap();
        reviews.into_iter().find(|review| review.id == first).unwrap()
    };
    let review = of_first().await;
    assert_eq!((review.body.as_str(), review.commit.as_ref()), ("not yet", Some(&pull.head)));
    let comments = repository.review_comments(pull.number, first).await.unwrap();
    let shown: Vec<_> =
        comments.iter().map(|c| (c.path.as_str(), c.start_line, c.line, c.side, c.body.as_str())).collect();
    assert_eq!(
        shown,
        [("lib", None, Some(3), Side::Right, suggestion), ("lib", Some(2), Some(3), Side::Right, "both"),]
    );
    assert_eq!(comments[0].hunk, "@@ -1,3 +1,5 @@\n one\n+two\n+three");
    assert_eq!(repository.review_comments(pull.number, approved).await.unwrap().len(), 0);
    let replies = repository.review_comments(pull.number, reviews[2].id).await.unwrap();
    assert_eq!((replies[0].in_reply_to, replies[0].body.as_str()), (Some(answer), "why?"));

    emulator.dismiss("acme/calendar", number, "alice", first).unwrap();
    assert_eq!(of_first().await.state, "DISMISSED");
    emulator.push_as("acme/calendar", "alice", "more", &[("lib", "one\ntwo\n3\nfour\nfive\n")]).unwrap();
    let outdated = repository.review_comments(pull.number, first).await.unwrap();
    assert_eq!((outdated[0].line, outdated[0].original_line), (None, Some(3)));
}

#[tokio::test]
async fn c16_an_answer_in_a_thread_stays_one() {
    use crate::emulator::{Fault, LineComment as Line, Trouble};
    let (emulator, repository, pull) = with_pull().await;
    let number = pull.number.0;
    let first =
        emulator.comment_on_line("acme/calendar", number, "bob", &Line::on("lib", 2, "why?")).unwrap();
    let second = emulator.reply("acme/calendar", number, "alice", first, "indeed <!-- m:1 -->").unwrap();
    emulator.set_list_lag(1);
    // A reply to a reply goes into its thread, and a marker in somebody else's comment is not ours.
    let ours = repository.reply_once(pull.number, second, "<!-- m:1 -->", "Done in abc").await.unwrap();
    assert!(ours != second && ours != first);
    assert_eq!(repository.reply_once(pull.number, first, "<!-- m:1 -->", "Done in abc").await.unwrap(), ours);
    emulator
        .faults()
        .add(Fault::next("/repos/*/*/pulls/*/comments/*/replies", Trouble::LoseAnswer).on("POST"));
    repository.reply_once(pull.number, first, "<!-- m:2 -->", "x").await.unwrap_err();
    emulator.set_list_lag(0);
    repository.line_comments(pull.number).await.unwrap();
    repository.reply_once(pull.number, first, "<!-- m:2 -->", "x").await.unwrap();
    let all = emulator.line_comments("acme/calendar", number).unwrap();
    let bodies: Vec<_> = all.iter().map(|comment| (comment.in_reply_to, comment.body.as_str())).collect();
    assert_eq!(
        bodies,
        [
            (None, "why?"),
            (Some(first), "indeed <!-- m:1 -->"),
            (Some(first), "Done in abc\n\n<!-- m:1 -->"),
            (Some(first), "x\n\n<!-- m:2 -->"),
        ]
    );
    let gone = repository.reply_once(pull.number, 1, "<!-- m:3 -->", "x").await;
    assert!(matches!(gone, Err(GitHubError::NotFound(_))));
}

#[tokio::test]
async fn a_review_of_ours_stands_once_and_only_on_lines_of_the_difference() {
    let (emulator, repository, pull) = with_pull().await;
    let line =
        |line, start_line, side| LineComment { path: "lib".into(), line, start_line, side, body: "b".into() };
    let files = repository.files(pull.number).await.unwrap();
    assert_eq!(
        (files[0].path.as_str(), files[0].additions, files[0].status.as_str()),
        ("lib", 2, "modified")
    );
    let wanted = vec![line(3, Some(2), Side::Right), line(2, None, Side::Left), line(90, None, Side::Right)];
    let review = async |comments: &[LineComment]| {
        repository.review_once(pull.number, &pull.head, "<!-- r:1 -->", "Two things", comments).await
    };
    assert!(matches!(review(&wanted).await, Err(GitHubError::NotInDiff(_))));
    assert_eq!(emulator.reviews("acme/calendar", pull.number.0).unwrap(), []);
    let (placed, rest) = placeable(&files, wanted);
    assert_eq!((placed.len(), rest), (2, vec![line(90, None, Side::Right)]));
    let id = review(&placed).await.unwrap();
    assert_eq!(review(&placed).await.unwrap(), id);
    let made = emulator.line_comments("acme/calendar", pull.number.0).unwrap();
    let made: Vec<_> = made.iter().map(|made| (made.review, made.start_line, made.line, made.left)).collect();
    assert_eq!(made, [(id, Some(2), 3, false), (id, None, 2, true)]);
    assert_eq!(emulator.reviews("acme/calendar", pull.number.0).unwrap().len(), 1);
}

#[tokio::test]
async fn a_button_stands_on_a_check_of_ours_that_is_completed() {
    let (emulator, repository, pull) = with_pull().await;
    let action = |identifier: &str| CheckAction {
        label: "A label that is longer than twenty characters".into(),
        description: "x".repeat(50),
        identifier: identifier.into(),
    };
    let show = CheckShow {
        head: pull.head.clone(),
        name: "fixpoint".into(),
        external_id: "s1".into(),
        conclusion: Some("neutral"),
        title: "t".into(),
        summary: "s".into(),
        actions: ["fix", "explain", "stop", "more"].map(action).into(),
        details_url: Some("https://example.com/s/1".into()),
    };
    let id = repository.check_once(&show).await.unwrap();
    let seen = || {
        emulator
            .check_runs("acme/calendar", pull.head.as_str())
            .unwrap()
            .into_iter()
            .find(|run| run.id == id)
            .unwrap()
    };
    assert_eq!((seen().actions.len(), seen().details_url), (3, show.details_url.clone()));
    emulator.press("acme/calendar", "alice", "fixpoint", "fix").unwrap();
    emulator.rerequest("acme/calendar", "alice", "fixpoint").unwrap();
    repository.update_check(id, &CheckShow { actions: Vec::new(), ..show }).await.unwrap();
    emulator.press("acme/calendar", "alice", "fixpoint", "fix").unwrap_err();
    emulator.settled().await;
    let hooks = emulator.deliveries();
    let pressed = hooks.iter().find(|hook| hook.action.as_deref() == Some("requested_action")).unwrap();
    assert_eq!(pressed.payload["requested_action"]["identifier"], "fix");
    assert_eq!(pressed.payload["check_run"]["external_id"], "s1");
    assert!(
        hooks.iter().any(|hook| hook.event == "check_run" && hook.action.as_deref() == Some("rerequested"))
    );
}

#[tokio::test]
async fn a_template_is_found_in_any_of_its_places_and_any_case() {
    let (emulator, repository) = emulated().await;
    let found = async || repository.pull_template("main").await.unwrap();
    assert_eq!(found().await, None);
    let push = |path, text| emulator.push_as("acme/calendar", "alice", "main", &[(path, text)]).unwrap();
    push("docs/pull_request_template.md", "docs");
    assert_eq!(found().await.as_deref(), Some("docs"));
    push("PULL_REQUEST_TEMPLATE.md", "root");
    assert_eq!(found().await.as_deref(), Some("root"));
    push(".github/Pull_Request_Template.md", "hidden");
    assert_eq!(found().await.as_deref(), Some("hidden"));
}
