//! Services as they really are: reached on loopback, closed like the sandbox, and never without it.

use super::*;
use fixpoint::sandbox::SandboxError;

#[tokio::test(flavor = "multi_thread")]
async fn a_database_and_a_cache_are_met_on_loopback_and_end_with_the_sandbox() {
    let Some(provider) = provider("met").await else { return };
    let sandbox = provider.start(&spec(vec![postgres(), redis()])).await.unwrap();
    let sandbox = sandbox.as_ref();
    let rows = sh(sandbox, "psql -h 127.0.0.1 -U postgres -Atc 'create table t(n int); insert into t values (7); select n from t'").await;
    assert!(rows.ends_with("7\n"), "{rows}");
    assert_eq!(sh(sandbox, "redis-cli set a b; redis-cli get a").await, "OK\nb\n");
    let interfaces = sh(sandbox, "grep -c : /proc/net/dev; grep -o 'lo:' /proc/net/dev").await;
    assert_eq!(interfaces, "1\nlo:\n");
    assert_eq!(containers("met").await.len(), 3);
    sandbox.stop().await.unwrap();
    assert_eq!(containers("met").await, [""; 0]);
}

/// An agent can make a database run any command: what that command could do.
#[tokio::test(flavor = "multi_thread")]
async fn t33_inside_a_service_there_is_no_more_to_gain_than_in_the_sandbox() {
    let Some(provider) = provider("inside").await else { return };
    let sandbox = provider.start(&spec(vec![postgres()])).await.unwrap();
    let sandbox = sandbox.as_ref();
    let inside = |command: &str| {
        let command = command.replace('\'', "''");
        format!(
            "psql -h 127.0.0.1 -U postgres -Atqc 'create temp table o(l text)' -c \"copy o from program '{command}'\" -c 'select l from o'"
        )
    };
    assert_eq!(sh(sandbox, &inside("id -u")).await, "999\n");
    let status =
        sh(sandbox, &inside("grep -E '^(Cap...|NoNewPrivs|Seccomp):' /proc/self/status | tr '\\t' ' '"))
            .await;
    let none =
        status.lines().filter(|line| line.starts_with("Cap")).all(|line| line.ends_with("0000000000000000"));
    assert!(none && status.contains("NoNewPrivs: 1") && status.contains("Seccomp: 2"), "{status}");
    let written = sh(sandbox, &inside("touch /usr/x /x /etc/x 2>&1 | grep -c Read-only; true")).await;
    assert_eq!(written, "3\n");
    assert_eq!(sh(sandbox, &inside("grep -c : /proc/net/dev")).await, "1\n");
    // Its data lies in memory, also where the image wants a volume.
    let data = sh(sandbox, &inside("grep ' /var/lib/postgresql/data ' /proc/mounts | cut -d' ' -f1")).await;
    assert_eq!(data, "tmpfs\n");
    // The two see each other's processes and can do nothing to them.
    let touched = sh(sandbox, "for p in /proc/[0-9]*; do [ \"$(stat -c %u $p 2>/dev/null)\" = 999 ] && { kill -9 ${p#/proc/} 2>/dev/null && echo killed; cat $p/environ 2>/dev/null && echo read; ls $p/root/ >/dev/null 2>&1 && echo entered; }; done; true").await;
    assert_eq!(touched, "");
    let back =
        sh(sandbox, &inside("kill -9 1 2>/dev/null && echo killed; ls /proc/1/root/ 2>/dev/null; echo end"))
            .await;
    assert_eq!(back, "end\n");
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn t37_whatever_ends_the_sandbox_ends_its_services() {
    let Some(provider) = provider("ends").await else { return };
    // By its wall clock, though nobody stops it.
    // Long enough for the service to be ready before, also on a machine that takes its time.
    let short = Spec { wall_clock: Duration::from_secs(20), ..spec(vec![redis()]) };
    let kept = provider.start(&short).await.unwrap();
    none_left("ends").await;
    drop(kept);
    // Dropped.
    drop(provider.start(&spec(vec![redis()])).await.unwrap());
    none_left("ends").await;
    // Of a session that nobody holds any more: one sandbox, whatever ran beside it.
    let orphan = spec(vec![redis()]);
    let kept = provider.start(&orphan).await.unwrap();
    assert_eq!(provider.sweep(&[(orphan.session, Epoch(2))]).await.unwrap(), 1);
    none_left("ends").await;
    drop(kept);
    // An interrupted start of the same epoch is replaced with all that was beside it.
    let again = spec(vec![redis()]);
    let first = provider.start(&again).await.unwrap();
    let second = provider.start(&again).await.unwrap();
    drop(first);
    assert_eq!(sh(second.as_ref(), "redis-cli ping").await, "PONG\n");
    second.stop().await.unwrap();
    none_left("ends").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_does_not_get_ready_is_named_with_its_last_words() {
    let Some(provider) = provider("unready").await else { return };
    let sick = Service {
        health: Some(Health { command: "exit 3".into(), interval: Duration::from_secs(1), retries: 2 }),
        ..service("sick", 10_002, "echo no disk for me; exec sleep 60", "")
    };
    let dying = service("dying", 10_002, "echo cannot go on; exit 1", "true; sleep 9");
    let silent = Service { health: None, ..service("silent", 10_002, "sleep 0.1; exit 1", "") };
    for (service, why, log) in [
        (sick, "`exit 3` ended with 3", "no disk for me"),
        (dying, "ended before it was ready", "cannot go on"),
        (silent, "ended before it was ready", ""),
    ] {
        let name = service.name.clone();
        // The other one starts after it: meanwhile it has said its word, or ended.
        let error = provider.start(&spec(vec![service, redis()])).await.err().unwrap();
        let SandboxError::Service { name: named, why: told, log: said } = &error else { panic!("{error}") };
        assert!(*named == name && told.contains(why) && said == log, "{error}: {said}");
        none_left("unready").await;
    }
    let missing = Service { image: "no-such-service:1".into(), ..redis() };
    let error = provider.start(&spec(vec![missing])).await.err().unwrap();
    assert!(matches!(&error, SandboxError::NoImage(name) if name == "no-such-service:1"), "{error}");
    none_left("unready").await;
}

/// Each has its own limits: what fills one leaves the other and the sandbox alone.
#[tokio::test(flavor = "multi_thread")]
async fn t36_a_service_that_takes_all_it_can_get_is_held() {
    let Some(provider) = provider("held").await else { return };
    let hungry = "i=0; while [ $i -lt 400 ]; do sleep 100 & i=$((i+1)); done 2>/dev/null; \
         head -c 900m /dev/zero >/tmp/full 2>/dev/null; touch /tmp/done; exec sleep 100";
    let hungry = Service {
        health: Some(Health {
            command: "test -e /tmp/done || test $(ls -d /proc/[0-9]* | wc -l) -gt 100".into(),
            interval: Duration::from_secs(1),
            retries: 30,
        }),
        ..service("hungry", 10_002, hungry, "")
    };
    let started = provider.start(&spec(vec![redis(), hungry])).await;
    // Either it is killed at its limit or it stands there full: the machine and the others are as they were.
    if let Ok(sandbox) = started {
        assert_eq!(sh(sandbox.as_ref(), "redis-cli ping").await, "PONG\n");
        let own =
            sh(sandbox.as_ref(), "for p in /proc/[0-9]*; do stat -c %u $p 2>/dev/null; done | grep -c 10002")
                .await;
        assert!(own.trim().parse::<u32>().unwrap() <= 2 * 128, "{own}");
        sandbox.stop().await.unwrap();
    }
    none_left("held").await;
}
