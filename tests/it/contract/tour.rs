//! A walk through all that the emulator can be asked.

use fixpoint::emulator::{Ci, CiPlay, Emulator, JobPlay, LineComment, NewRepository, Options, Permission};
use reqwest::Method;
use serde_json::{Value, json};

const REPO: &str = "acme/calendar";

pub struct Tour {
    pub emulator: Emulator,
    http: reqwest::Client,
    token: String,
}

impl Tour {
    /// Asks everything once.
    pub async fn through_everything() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let emulator = Emulator::start(Options::default()).await.expect("it starts");
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("a client");
        let files = [("README.md", "# calendar\n"), ("lib.sh", "echo one\n")];
        let new = NewRepository {
            protected: vec!["main".into()],
            required_checks: vec!["test".into()],
            ..NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"]))
        };
        emulator.create_repository(new).expect("a repository");
        for (login, role) in
            [("alice", Permission::Write), ("bob", Permission::Admin), ("carol", Permission::Read)]
        {
            emulator.collaborator(REPO, login, role).expect("a member");
        }
        let mut tour = Self { emulator, http, token: String::new() };
        let jwt = tour.jwt();
        tour.the_app(&jwt).await;
        tour.the_repository().await;
        tour.issues().await;
        let pull = tour.pulls().await;
        tour.reviews(pull).await;
        tour.checks(pull).await;
        tour.actions(pull).await;
        tour.a_fork().await;
        tour.the_end(pull, &jwt).await;
        tour
    }

    fn jwt(&self) -> String {
        let app = self.emulator.app();
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
        let claims = json!({ "iss": app.app_id.to_string(), "iat": now - 30, "exp": now + 500 });
        let key = jsonwebtoken::EncodingKey::from_rsa_pem(app.private_key_pem.as_bytes()).expect("a key");
        let header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS256);
        jsonwebtoken::encode(&header, &claims, &key).expect("a token")
    }

    async fn send(&self, method: Method, path: &str, secret: &str, body: Value) -> Value {
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.emulator.api_url()));
        if !secret.is_empty() {
            request = request.bearer_auth(secret);
        }
        if !body.is_null() {
            request = request.json(&body);
        }
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        let text = answer.text().await.expect("a body");
        assert!(status.as_u16() < 400, "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// In the repository, as the App.
    async fn get(&self, path: &str) -> Value {
        self.send(Method::GET, &format!("/repos/{REPO}{path}"), &self.token, Value::Null).await
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.send(Method::POST, &format!("/repos/{REPO}{path}"), &self.token, body).await
    }

    async fn patch(&self, path: &str, body: Value) -> Value {
        self.send(Method::PATCH, &format!("/repos/{REPO}{path}"), &self.token, body).await
    }

    async fn delete(&self, path: &str, body: Value) -> Value {
        self.send(Method::DELETE, &format!("/repos/{REPO}{path}"), &self.token, body).await
    }

    async fn the_app(&mut self, jwt: &str) {
        let id = self.emulator.app().installation_id;
        self.emulator.grant("statuses", Some("write"));
        for path in [
            "/app".into(),
            "/app/installations".into(),
            format!("/app/installations/{id}"),
            format!("/repos/{REPO}/installation"),
        ] {
            self.send(Method::GET, &path, jwt, Value::Null).await;
        }
        self.send(Method::GET, "/app/hook/config", jwt, Value::Null).await;
        let path = format!("/app/installations/{id}/access_tokens");
        let all = self.send(Method::POST, &path, jwt, Value::Null).await;
        assert_eq!(all["token"].as_str().map(|token| &token[..4]), Some("ghs_"));
        let repo = self
            .send(
                Method::GET,
                &format!("/repos/{REPO}"),
                all["token"].as_str().expect("a token"),
                Value::Null,
            )
            .await;
        let wish = json!({ "repository_ids": [repo["id"]] });
        let some = self.send(Method::POST, &path, jwt, wish).await;
        some["token"].as_str().expect("a token").clone_into(&mut self.token);
        let code = self.emulator.manifest_code(json!({ "name": "fixpoint-acme" }));
        self.send(Method::POST, &format!("/app-manifests/{code}/conversions"), "", Value::Null).await;
        for path in ["/installation/repositories", "/rate_limit", "/users/alice"] {
            self.send(Method::GET, path, &self.token, Value::Null).await;
        }
        self.send(Method::GET, "/user", &self.emulator.user_token("alice"), Value::Null).await;
        self.send(Method::GET, &format!("/repositories/{}", repo["id"]), &self.token, Value::Null).await;
    }

    async fn the_repository(&self) {
        for path in [
            "/branches",
            "/branches/main",
            "/rules/branches/main",
            "/git/ref/heads/main",
            "/git/matching-refs/heads",
            "/commits/main",
            "/contents/lib.sh",
            "/contents/",
            "/collaborators/alice/permission",
            "/collaborators/carol/permission",
            "/labels",
        ] {
            self.get(path).await;
        }
        self.post("/labels", json!({ "name": "code", "color": "00ff00", "description": "asks for code" }))
            .await;
    }

    async fn issues(&self) {
        self.emulator.open_issue_with(REPO, "alice", "Sum is wrong", "1 + 2", &["bug"]).expect("an issue");
        self.emulator.comment(REPO, 1, "alice", "/code fix it").expect("a comment");
        let made =
            self.post("/issues", json!({ "title": "From the App", "body": "b", "labels": ["code"] })).await;
        let number = &made["number"];
        self.get("/issues").await;
        self.get("/issues/1").await;
        self.patch("/issues/1", json!({ "body": "1 + 2 = 3" })).await;
        let comment = self.post("/issues/1/comments", json!({ "body": "working" })).await;
        let id = &comment["id"];
        self.get("/issues/1/comments?per_page=1").await;
        self.get("/issues/comments").await;
        self.get(&format!("/issues/comments/{id}")).await;
        self.patch(&format!("/issues/comments/{id}"), json!({ "body": "done" })).await;
        for thing in ["/issues/1".to_owned(), format!("/issues/comments/{id}")] {
            let reaction = self.post(&format!("{thing}/reactions"), json!({ "content": "eyes" })).await;
            self.get(&format!("{thing}/reactions")).await;
            self.delete(&format!("{thing}/reactions/{}", reaction["id"]), Value::Null).await;
        }
        self.post("/issues/1/labels", json!({ "labels": ["code"] })).await;
        self.get("/issues/1/labels").await;
        self.delete("/issues/1/labels/code", Value::Null).await;
        self.post("/issues/1/assignees", json!({ "assignees": ["alice"] })).await;
        self.delete("/issues/1/assignees", json!({ "assignees": ["alice"] })).await;
        self.delete(&format!("/issues/comments/{id}"), Value::Null).await;
        self.patch(&format!("/issues/{number}"), json!({ "state": "closed" })).await;
        self.patch(&format!("/issues/{number}"), json!({ "state": "open" })).await;
    }

    async fn pulls(&self) -> u64 {
        self.emulator
            .push_as(REPO, "fixpoint[bot]", "fixpoint/1-sum", &[("lib.sh", "echo two\n")])
            .expect("a push");
        let wish = json!({ "title": "Sum", "body": "Fixes #1", "head": "fixpoint/1-sum", "base": "main", "draft": true });
        let pull = self.post("/pulls", wish).await;
        let number = pull["number"].as_u64().expect("a number");
        let at = format!("/pulls/{number}");
        for path in [
            "/pulls?head=acme:fixpoint/1-sum",
            &at,
            &format!("{at}/files"),
            &format!("{at}/commits"),
            "/compare/main...fixpoint/1-sum",
        ] {
            self.get(path).await;
        }
        self.patch(&at, json!({ "title": "The sum" })).await;
        self.post(&format!("{at}/requested_reviewers"), json!({ "reviewers": ["alice", "bob"] })).await;
        self.get(&format!("{at}/requested_reviewers")).await;
        self.delete(&format!("{at}/requested_reviewers"), json!({ "reviewers": ["bob"] })).await;
        self.post(&format!("/issues/{number}/labels"), json!({ "labels": ["code"] })).await;
        let sha = pull["head"]["sha"].as_str().expect("a head");
        self.get(&format!("/commits/{sha}/pulls")).await;
        for mutation in
            ["markPullRequestReadyForReview", "convertPullRequestToDraft", "markPullRequestReadyForReview"]
        {
            let query = format!(
                "mutation($id: ID!) {{ {mutation}(input: {{pullRequestId: $id}}) {{ pullRequest {{ isDraft }} }} }}"
            );
            let body = json!({ "query": query, "variables": { "id": pull["node_id"] } });
            self.send(Method::POST, "/graphql", &self.token, body).await;
        }
        number
    }

    async fn reviews(&self, number: u64) {
        let at = format!("/pulls/{number}");
        let line = LineComment::on("lib.sh", 1, "why two?");
        let lines = [line];
        let review = self
            .emulator
            .review(REPO, number, "alice", "CHANGES_REQUESTED", "not yet", &lines)
            .expect("a review");
        let comments = self.get(&format!("{at}/comments")).await;
        let id = &comments[0]["id"];
        self.post(&format!("{at}/comments/{id}/replies"), json!({ "body": "because" })).await;
        let wish = json!({ "body": "and here", "path": "lib.sh", "line": 1, "side": "RIGHT", "commit_id": comments[0]["commit_id"] });
        self.post(&format!("{at}/comments"), wish).await;
        let lines = json!([{ "path": "lib.sh", "line": 1, "side": "LEFT", "body": "gone?" }]);
        self.post(&format!("{at}/reviews"), json!({ "event": "COMMENT", "body": "so", "comments": lines }))
            .await;
        self.post(&format!("{at}/reviews"), json!({ "body": "not sent yet" })).await;
        self.patch(&format!("/pulls/comments/{id}"), json!({ "body": "why not one?" })).await;
        for path in [
            format!("{at}/reviews"),
            format!("{at}/reviews/{review}"),
            format!("{at}/reviews/{review}/comments"),
            format!("/pulls/comments/{id}"),
        ] {
            self.get(&path).await;
        }
        self.post(&format!("/pulls/comments/{id}/reactions"), json!({ "content": "eyes" })).await;
        self.get(&format!("/pulls/comments/{id}/reactions")).await;
        let path = format!("/repos/{REPO}{at}/reviews/{review}/dismissals");
        self.send(Method::PUT, &path, &self.token, json!({ "message": "settled" })).await;
        let push = |text| self.emulator.push_as(REPO, "fixpoint[bot]", "fixpoint/1-sum", &[("lib.sh", text)]);
        push("echo three\n").expect("a push");
        let outdated = self.get(&format!("{at}/comments")).await;
        assert_eq!(outdated[0]["line"], Value::Null);
        push("echo two\n").expect("a push");
        self.delete(&format!("/pulls/comments/{id}"), Value::Null).await;
    }

    async fn a_fork(&self) {
        let fork = self.emulator.fork(REPO, "mallory").expect("a fork");
        let sha = self.emulator.push_as(&fork, "mallory", "y", &[("lib.sh", "echo four\n")]).expect("a push");
        let number =
            self.emulator.open_pull(REPO, "mallory", "mallory:y", "From a fork", "").expect("a pull request");
        self.emulator.push_as(REPO, "bob", "next", &[("a", "b")]).expect("a push");
        self.emulator.retarget(REPO, number, "mallory", "next").expect("retargeted");
        self.emulator.set_merge_lag(1);
        for path in [
            format!("/pulls/{number}"),
            format!("/pulls/{number}/files"),
            format!("/pulls/{number}/commits"),
            format!("/commits/{sha}/pulls"),
            "/pulls?head=mallory:y".into(),
            "/pulls?sort=updated&direction=desc".into(),
            format!("/actions/runs?head_sha={sha}"),
        ] {
            self.get(&path).await;
        }
        self.emulator.set_merge_lag(0);
        self.emulator.label(REPO, number, "alice", "fork").expect("labelled");
        self.emulator.unlabel(REPO, number, "alice", "fork").expect("unlabelled");
        self.emulator.delete_repository(&fork, "mallory").expect("deleted");
        self.get(&format!("/pulls/{number}")).await;
    }

    async fn checks(&self, number: u64) {
        let sha = self.emulator.pull(REPO, number).expect("a pull request").head_sha;
        let annotation = json!({ "path": "lib.sh", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "hm" });
        let output = json!({ "title": "t", "summary": "s", "annotations": [annotation] });
        let run = self
            .post(
                "/check-runs",
                json!({ "name": "fixpoint", "head_sha": sha, "status": "in_progress", "output": output }),
            )
            .await;
        let at = format!("/check-runs/{}", run["id"]);
        let action = json!({ "label": "Fix it", "description": "Starts a round", "identifier": "fix" });
        self.patch(&at, json!({ "status": "completed", "conclusion": "success", "actions": [action] })).await;
        self.emulator.press(REPO, "alice", "fixpoint", "fix").expect("pressed");
        self.emulator.rerequest(REPO, "alice", "fixpoint").expect("asked for");
        self.get(&at).await;
        self.get(&format!("{at}/annotations")).await;
        self.post(&format!("{at}/rerequest"), Value::Null).await;
        let suite = format!("/check-suites/{}", run["check_suite"]["id"]);
        self.get(&suite).await;
        self.get(&format!("{suite}/check-runs")).await;
        self.post(&format!("{suite}/rerequest"), Value::Null).await;
        self.post(&format!("/statuses/{sha}"), json!({ "state": "success", "context": "docs" })).await;
        self.emulator.status(REPO, &sha, "legacy", "pending").expect("a status");
        for what in ["check-runs?filter=latest", "check-suites", "status", "statuses"] {
            self.get(&format!("/commits/{sha}/{what}")).await;
        }
    }

    async fn actions(&self, number: u64) {
        let sha = self.emulator.pull(REPO, number).expect("a pull request").head_sha;
        self.emulator.ci_ends(REPO, "test", &JobPlay::fails("1 is not 2")).expect("it ran");
        self.get("/actions/workflows").await;
        let runs = self.get(&format!("/actions/runs?head_sha={sha}")).await;
        let at = format!("/actions/runs/{}", runs["workflow_runs"][0]["id"]);
        self.get(&at).await;
        let jobs = self.get(&format!("{at}/jobs")).await;
        let job = format!("/actions/jobs/{}", jobs["jobs"][0]["id"]);
        for path in [
            job.clone(),
            format!("{job}/logs"),
            format!("{at}/attempts/1/jobs"),
            format!("{at}/logs"),
            format!("{at}/attempts/1/logs"),
        ] {
            self.get(&path).await;
        }
        self.post(&format!("{at}/rerun-failed-jobs"), Value::Null).await;
        self.emulator.ci_ends(REPO, "test", &JobPlay::passes()).expect("it ran again");
        self.post(&format!("{job}/rerun"), Value::Null).await;
        self.post(&format!("{at}/cancel"), Value::Null).await;
        self.post(&format!("{at}/rerun"), Value::Null).await;
        self.emulator.ci_ends(REPO, "test", &JobPlay::passes()).expect("it ran a third time");
        self.emulator.ci_plays(REPO, CiPlay::ActionRequired).expect("scripted");
        self.emulator.ci_plays(REPO, CiPlay::StartupFailure).expect("scripted");
        self.emulator.push_as(REPO, "alice", "waits", &[("a", "b")]).expect("a push");
        self.emulator.push_as(REPO, "alice", "breaks", &[("a", "c")]).expect("a push");
        let runs = self.get("/actions/runs?status=action_required").await;
        self.post(&format!("/actions/runs/{}/approve", runs["workflow_runs"][0]["id"]), Value::Null).await;
        self.emulator.settled().await;
    }

    async fn the_end(&self, number: u64, jwt: &str) {
        let github = &self.emulator;
        github.queue_for_merge(REPO, number, "bob").expect("queued");
        github.take_from_queue(REPO, number, "bob").expect("out of it");
        github.queue_for_merge(REPO, number, "bob").expect("queued again");
        github.close(REPO, number, "alice").expect("closed");
        github.reopen(REPO, number, "alice").expect("reopened");
        let path = format!("/repos/{REPO}/pulls/{number}/merge");
        self.send(Method::PUT, &path, &self.token, json!({})).await;
        self.delete("/git/refs/heads/fixpoint/1-sum", Value::Null).await;
        github.install(REPO, false).expect("taken away");
        github.install(REPO, true).expect("given back");
        github.suspend(true);
        github.suspend(false);
        github.rename_repository(REPO, "bob", "almanac").expect("renamed");
        self.get("/issues/1").await;
        github.settled().await;
        let deliveries = self.send(Method::GET, "/app/hook/deliveries?per_page=2", jwt, Value::Null).await;
        let at = format!("/app/hook/deliveries/{}", deliveries[0]["id"]);
        self.send(Method::GET, &at, jwt, Value::Null).await;
        self.send(Method::POST, &format!("{at}/attempts"), jwt, Value::Null).await;
        github.settled().await;
    }
}
