//! Rounds of a repository whose tests need a database.

use super::*;
use crate::support::{Fixpoint, ISSUE, REPO, World, plays};
use fixpoint::{
    domain::repo_config::PATH,
    emulator::{Ci, NewRepository},
};

/// A suite as repositories have them: it makes its table, fills it and looks at it.
const SUITE: &str = "set -e\npsql -h 127.0.0.1 -U postgres -v ON_ERROR_STOP=1 -qAt <<'SQL'\n\
    create table sums(a int, b int);\ninsert into sums values (1, 2);\nselect 'sum ' || a + b from sums;\nSQL\n\
    grep -c : /proc/net/dev\n";

fn with(config: &str) -> NewRepository {
    let files = [("README.md", "# sums\n"), ("suite.sh", SUITE), (PATH, config)];
    NewRepository::new(REPO, &files).ci(Ci::scripted(&["test"]))
}

async fn world(provider: Provider, config: &str, allowed: &[&str]) -> Fixpoint {
    let mut world = World::new().repository(with(config));
    world.sandboxes = Some(provider);
    world.services = allowed.iter().map(|image| (*image).to_owned()).collect();
    world.start().await
}

fn database(health: &str) -> String {
    let postgres = format!("echo fills its folder; {POSTGRES}");
    format!(
        "services:\n  db:\n    image: {IMAGE}\n    user: 999\n    command: [sh, -c, '{postgres}']\n    \
         ports: [5432]\n    environment: {{ PGTZ: UTC }}\n    health: {{ command: '{health}', retries: 40 }}\n"
    )
}

async fn asked(t: &mut Fixpoint) -> String {
    t.comment("/code").by("alice").on(ISSUE);
    t.settle().await;
    t.said().concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suite_that_needs_postgresql_passes_in_the_sandbox() {
    let Some(provider) = provider("suite").await else { return };
    let config = database("psql -h 127.0.0.1 -U postgres -c \"select 1\"");
    let mut t = world(provider, &config, &[IMAGE]).await;
    t.model_plays([
        plays::shell("sh suite.sh >result.txt 2>&1; echo status $? >>result.txt"),
        plays::finish("Ran the suite"),
    ]);
    let said = asked(&mut t).await;
    let head = t.pull().head_sha;
    let result = t.github.file(REPO, &head, "result.txt").unwrap().expect(&said);
    // Only `lo`, and nothing else.
    assert_eq!(String::from_utf8_lossy(&result), "sum 3\n1\nstatus 0\n", "{said}");
    // The agent was told where it is.
    let told = t.github.model().shown();
    assert!(told[0].holds("db (fixpoint-services-test:latest, port 5432, PGTZ=UTC)"), "{told:?}");
    none_left("suite").await;
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unhealthy_service_ends_the_round_with_a_sentence() {
    let Some(provider) = provider("ill").await else { return };
    let config = database("exit 4").replace("retries: 40", "retries: 3");
    let mut t = world(provider, &config, &[IMAGE]).await;
    let said = asked(&mut t).await;
    // How long the tries took is the machine's to say.
    let told =
        said.split_once("The service `db` did not get ready in ").unwrap_or_else(|| panic!("{said}")).1;
    let (seconds, why) = told.split_once(" s: ").unwrap_or_else(|| panic!("{said}"));
    assert!(seconds.parse::<u32>().unwrap() >= 3 && why.starts_with("`exit 4` ended with 4."), "{said}");
    assert!(said.contains("Its log ends: `"), "{said}");
    assert_eq!(t.github.model().shown().len(), 0, "no model was asked");
    none_left("ill").await;
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_the_operator_does_not_allow_is_not_started() {
    let Some(provider) = provider("refused").await else { return };
    let mut t = world(provider, &database("true"), &["postgres:16"]).await;
    t.model_plays([
        plays::shell("ps -eo args | grep -c '[p]ostgres -D' >result.txt; true"),
        plays::finish("Looked around"),
    ]);
    let said = asked(&mut t).await;
    assert!(said.contains("`.github/fixpoint.yml:3:12`"), "{said}");
    assert!(
        said.contains("the operator does not allow the service \"fixpoint-services-test:latest\""),
        "{said}"
    );
    let head = t.pull().head_sha;
    assert_eq!(t.github.file(REPO, &head, "result.txt").unwrap().unwrap(), b"0\n");
    none_left("refused").await;
    t.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_engine_services_are_refused() {
    let mut world = World::new().repository(with("services: { db: { image: 'postgres:16' } }\n"));
    world.services = vec!["postgres:16".to_owned()];
    let mut t = world.start().await;
    let said = asked(&mut t).await;
    assert!(said.contains("asks for services (db), and they need a container engine"), "{said}");
    assert_eq!(t.github.model().shown().len(), 0);
    t.end().await;
}
