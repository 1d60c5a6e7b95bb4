use super::*;
use std::collections::HashMap;

/// What an engine says of itself where all is well.
fn good() -> SystemInfo {
    SystemInfo {
        memory_limit: Some(true),
        pids_limit: Some(true),
        cpu_cfs_quota: Some(true),
        cpu_cfs_period: Some(true),
        security_options: Some(vec!["name=seccomp,profile=default".into()]),
        runtimes: Some(HashMap::from([
            ("runc".into(), Default::default()),
            ("runsc".into(), Default::default()),
        ])),
        ..Default::default()
    }
}

/// By the daemon's own answer, before anything is started there.
#[test]
fn an_engine_that_cannot_keep_a_limit_is_refused() {
    for runtime in [None, Some("runc"), Some("runsc")] {
        assert!(able(&good(), runtime).is_ok(), "{runtime:?}");
    }
    type Weaken = fn(&mut SystemInfo);
    let weaker: [(&str, Weaken); 7] = [
        ("memory", |i| i.memory_limit = Some(false)),
        ("processes", |i| i.pids_limit = Some(false)),
        ("processor", |i| i.cpu_cfs_quota = Some(false)),
        ("processor", |i| i.cpu_cfs_period = Some(false)),
        ("seccomp", |i| i.security_options = Some(vec!["name=seccomp,profile=unconfined".into()])),
        ("seccomp", |i| i.security_options = Some(vec!["name=apparmor".into()])),
        ("seccomp", |i| i.security_options = None),
    ];
    for (rule, weaken) in weaker {
        let mut engine = good();
        weaken(&mut engine);
        let told = able(&engine, None).unwrap_err().to_string();
        assert!(told.contains(rule), "{rule}: {told}");
    }
    let told = able(&good(), Some("kata")).unwrap_err().to_string();
    assert!(told.contains("\"kata\" (it has runc, runsc)"), "{told}");
    // It filters nothing and needs to filter nothing.
    let bare = SystemInfo { security_options: None, ..good() };
    assert!(able(&bare, Some("runsc")).is_ok());
}
