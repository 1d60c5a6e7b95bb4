//! What an operator can get wrong, and what the layers make of each other.

use super::{AgentEngine, Config, Engine, Flags, Provider, example};
use crate::domain;
use secrecy::ExposeSecret;
use std::{path::Path, process::Command, time::Duration};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, "fixpoint.toml").map_err(|e| e.to_string())
}

#[test]
fn the_defaults_are_the_domains() {
    let config = Config::default();
    assert_eq!(config.limits.session(), domain::Limits::default());
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:3000");
    assert_eq!(config.database.expose_secret(), "sqlite:data/fixpoint.db");
    assert_eq!((config.sandbox.kind, config.model.provider), (Engine::Docker, Provider::Anthropic));
}

#[test]
fn the_example_is_the_defaults_whether_commented_or_not() {
    let text = example();
    let config = parse(&text).unwrap();
    assert_eq!(config.limits, Config::default().limits);
    let set: String = text
        .lines()
        .map(|line| {
            line.strip_prefix('#').filter(|l| l.contains(" = ") && !l.starts_with(' ')).unwrap_or(line)
        })
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(set.contains("\nrounds = 3\n"), "{set}");
    assert_eq!(parse(&set).unwrap().limits, config.limits);
}

#[test]
fn a_mistake_is_named_with_its_place() {
    let cases = [
        ("[limits]\nroundss = 3", "2:1: \"roundss\" is not a setting (did you mean \"rounds\"?)"),
        ("[limits]\n  rounds = 3\n  frobnicate = 1", "3:3: \"frobnicate\" is not a setting"),
        (
            "[limits]\nrounds = 3\nprofile = \"observe\"",
            "3:1: \"profile\" is not a setting here: it belongs at the top",
        ),
        ("databse = \"sqlite:x\"", "1:1: \"databse\" is not a setting (did you mean \"database\"?)"),
        ("[sandbox]\nkind = \"dockr\"", "2:8: \"dockr\" is none of \"docker\", \"local\""),
        ("[limits]\nround = \"a while\"", "2:9: \"a while\" is not a span of time like \"45m\" or \"3h\""),
        ("[limits]\nrounds = \"three\"", "2:10: a whole number is expected, not \"three\""),
        ("[limits]\nrounds = -1", "2:10: a whole number from 0 to 4294967295 is expected, not -1"),
        ("[limits]\nsteps = 1.5", "2:9: a whole number is expected, not 1.5"),
        ("limits = 5", "1:10: a [section] is expected, not 5"),
        ("[server]\nlisten = 5", "2:10: an address like \"127.0.0.1:3000\" is expected, not 5"),
        ("[server]\npull = \"yes\"", "2:8: true or false is expected, not \"yes\""),
        ("[sandbox]\nallow = 5", "2:9: a list like [\"one\", \"two\"] is expected, not 5"),
        ("[limits]\nfile_size = \"5 apples\"", "2:13: \"5 apples\" is not a size like \"5 MiB\""),
        ("[limits]\nrequest_money = \"€5\"", "2:17: \"€5\" is not dollars like \"$5\" or \"$0.25\""),
        (
            "[model.prices.m]\ninput = 1\noutput = 1\ncache_read = 1\ncache_rite = 1",
            "5:1: \"cache_rite\" is not a",
        ),
    ];
    for (text, place) in cases {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(&format!("fixpoint.toml:{place}")), "{error}");
    }
    assert!(parse("[limits\nrounds = 3").unwrap_err().starts_with("fixpoint.toml:1:"));
}

#[test]
fn an_engine_goes_with_its_model_and_its_sandbox() {
    let engine = "[agent]\nengine = \"claude-code\"\n";
    assert_eq!(parse(engine).unwrap().agent.engine, AgentEngine::ClaudeCode);
    assert_eq!(Config::default().agent.engine, AgentEngine::Native);
    for (more, why) in [
        ("[model]\nprovider = \"openai\"", "works with model.provider = \"anthropic\" alone"),
        ("[sandbox]\nkind = \"local\"", "runs in a container alone"),
    ] {
        let error = parse(&format!("{engine}{more}")).unwrap_err();
        assert!(error.starts_with("agent.engine: ") && error.contains(why), "{error}");
        parse(more).unwrap();
    }
    let error = parse("[agent]\nengine = \"codex\"").unwrap_err();
    assert!(error.contains("\"native\", \"claude-code\""), "{error}");
}

#[test]
fn units_are_as_people_write_them() {
    let text = "min_free_disk = \"1.5 GiB\"\n[limits]\nround = \"1h30m\"\nsettle = 20\nci_start = \"90 s\"\n\
        request_money = \"$0.25\"\nfile_size = \"5 MB\"\ntotal_size = 1024\n\
        [github]\napp_id = 12345\n\
        [model.prices.mine]\ninput = \"$3\"\noutput = 15\ncache_read = 0.3\ncache_write = \"$3.75\"";
    let config = parse(text).unwrap();
    assert_eq!(config.min_free_disk, 3 << 29);
    assert_eq!(config.limits.round, Duration::from_secs(5400));
    assert_eq!(
        (config.limits.settle, config.limits.ci_start),
        (Duration::from_secs(20), Duration::from_secs(90))
    );
    assert_eq!(config.limits.request_money, 250_000);
    assert_eq!((config.limits.file_size, config.limits.total_size), (5_000_000, 1024));
    assert_eq!(config.github.app_id.as_deref(), Some("12345"));
    let price = config.model.prices["mine"];
    assert_eq!(
        (price.input, price.output, price.cache_read, price.cache_write),
        (3_000_000, 15_000_000, 300_000, 3_750_000)
    );
    for wrong in ["-5m", "5m 3", "1..5h", "h", "", "99999999999999999999d", "1.0000001s"] {
        let text = format!("[limits]\nround = \"{wrong}\"");
        assert!(parse(&text).is_err(), "{wrong:?}");
    }
}

#[test]
fn t42_a_short_webhook_secret_is_refused_and_never_printed() {
    let error = parse("[github]\nwebhook_secret = \"hunter2\"").unwrap_err();
    assert!(error.contains("github.webhook_secret has 7 characters and needs at least 32"), "{error}");
    assert!(!error.contains("hunter2"));
    let config =
        parse(&format!("[github]\nwebhook_secret = \"{SECRET}\"\n[model]\nkey = \"sk-very-secret\""))
            .unwrap();
    let printed = format!("{config:?}");
    assert!(!printed.contains(SECRET) && !printed.contains("sk-very-secret"), "{printed}");
}

#[test]
fn a_secret_comes_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, format!("{SECRET}\n")).unwrap();
    let text = format!("[github]\nwebhook_secret_file = {file:?}");
    let config = parse(&text).unwrap();
    assert_eq!(config.github.webhook_secret.unwrap().expose_secret(), SECRET);
    let both = format!("{text}\nwebhook_secret = \"{SECRET}\"");
    assert!(parse(&both).unwrap_err().contains("both set"));
    let error = parse("[model]\nkey_file = \"/nowhere/key\"").unwrap_err();
    assert!(error.contains("model.key_file: /nowhere/key cannot be read"), "{error}");
    let error = parse("[github]\nprivate_key = \"MIIE\"").unwrap_err();
    assert!(error.contains("is no PEM"), "{error}");
}

#[test]
fn a_key_that_is_none_is_refused_before_it_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    let load = |setting: &str, content: &str| {
        std::fs::write(&file, content).unwrap();
        let (section, key) = setting.split_once('.').unwrap();
        parse(&format!("[{section}]\n{key} = {file:?}"))
    };
    for setting in ["model.key_file", "github.private_key_file"] {
        let error = load(setting, "\n").unwrap_err();
        assert!(error.starts_with(setting) && error.ends_with("/key is empty"), "{error}");
    }
    assert!(parse("[model]\nkey = \" \"").unwrap_err().starts_with("model.key is empty"));
    let pem =
        |body: &str| format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n");
    for garbage in ["not base64 at all", "AAAA", "MIIEowIBAAKCAQEA"] {
        let error = load("github.private_key_file", &pem(garbage)).unwrap_err();
        assert!(error.starts_with("github.private_key holds no RSA private key"), "{error}");
    }
    let sound = include_str!("../github/test-app.pem");
    assert!(load("github.private_key_file", sound).is_ok());
    assert!(load("github.private_key_file", &sound.replace("MII", "MIJ")).is_err());
}

#[test]
fn what_serve_misses_is_named() {
    let missing = Config::default().missing();
    assert_eq!(missing.len(), 4, "{missing:?}");
    assert!(missing[0].starts_with("github.app_id is not set"));
    let own = parse("[model]\nprovider = \"openai-compatible\"\nurl = \"http://127.0.0.1:1/v1/\"").unwrap();
    assert_eq!(own.missing().len(), 3, "a server of one's own may want no key");
    assert!(parse("[model]\nprovider = \"openai-compatible\"").unwrap_err().starts_with("model.url: "));
}

/// Starts this test program once more, with an environment and in a folder of its own, and gives what it prints.
fn with_environment(file: &str, variables: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fixpoint.toml"), file).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "config::tests::child", "--ignored", "--nocapture"]).current_dir(folder.path());
    for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "FIXPOINT_CONFIG"] {
        child.env_remove(name);
    }
    let out = child.envs(variables.iter().copied()).output().unwrap();
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Loads with one flag set and prints what came out.
#[test]
#[ignore = "started by the tests below"]
fn child() {
    let flags = Flags { listen: Some("127.0.0.1:9".parse().unwrap()), ..Flags::default() };
    match Config::load(&flags) {
        Ok(config) => {
            let secret = |s: &Option<secrecy::SecretString>| s.as_ref().map(|s| s.expose_secret().to_owned());
            println!("listen {}", config.server.listen);
            println!("rounds {}", config.limits.rounds);
            println!("steps {}", config.limits.steps);
            println!("deny {:?}", config.publish.deny);
            println!("webhook {:?}", secret(&config.github.webhook_secret));
            println!("key {:?}", secret(&config.model.key));
        }
        Err(error) => println!("{error}"),
    }
    println!("unknown {:?}", super::unknown_variables());
}

#[test]
fn flags_go_over_the_environment_over_the_file_over_the_defaults() {
    let file = "[server]\nlisten = \"127.0.0.1:7\"\n[limits]\nrounds = 7\nsteps = 7";
    let environment = [
        ("FIXPOINT_SERVER_LISTEN", "127.0.0.1:8"),
        ("FIXPOINT_LIMITS_ROUNDS", "8"),
        ("FIXPOINT_PUBLISH_DENY", "a/**,b"),
    ];
    let printed = with_environment(file, &environment);
    for line in ["listen 127.0.0.1:9", "rounds 8", "steps 7", "deny [\"a/**\", \"b\"]"] {
        assert!(printed.contains(line), "{line} in {printed}");
    }
}

#[test]
fn a_secret_of_a_higher_layer_replaces_the_file_of_a_lower() {
    // Were the lower layer's file read, it would be missed.
    let file = "[github]\nwebhook_secret_file = \"/nowhere/secret\"\n[model]\nkey_env = \"NOWHERE\"";
    let environment = [("FIXPOINT_GITHUB_WEBHOOK_SECRET", SECRET), ("FIXPOINT_MODEL_KEY", "mine")];
    let printed = with_environment(file, &environment);
    assert!(printed.contains(&format!("webhook Some({SECRET:?})")), "{printed}");
    assert!(printed.contains("key Some(\"mine\")"), "{printed}");
}

#[test]
fn the_models_key_comes_from_the_variable_that_is_named_or_usual() {
    let usual = with_environment("", &[("ANTHROPIC_API_KEY", "usual")]);
    assert!(usual.contains("key Some(\"usual\")"), "{usual}");
    let named = "[model]\nkey_env = \"MY_KEY\"";
    let named_and_set = with_environment(named, &[("ANTHROPIC_API_KEY", "usual"), ("MY_KEY", "named")]);
    assert!(named_and_set.contains("key Some(\"named\")"), "{named_and_set}");
    let named_only = with_environment(named, &[("ANTHROPIC_API_KEY", "usual")]);
    assert!(named_only.contains("model.key_env: the variable MY_KEY is not set"), "{named_only}");
}

#[test]
fn a_variable_that_cannot_be_read_or_is_none_is_named() {
    let wrong = with_environment("", &[("FIXPOINT_LIMITS_ROUNDS", "many")]);
    assert!(wrong.contains("FIXPOINT_LIMITS_ROUNDS: a whole number is expected, not \"many\""), "{wrong}");
    let near = with_environment("", &[("FIXPOINT_LIMIT_ROUNDS", "3")]);
    assert!(near.contains("did you mean \\\"FIXPOINT_LIMITS_ROUNDS\\\""), "{near}");
    let strange = with_environment("", &[("FIXPOINT_LIMITS_ROUND_S", "3")]);
    assert!(strange.contains("FIXPOINT_LIMITS_ROUND_S is not a setting (did you mean"), "{strange}");
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let flags = Flags { config: Some(Path::new("/nowhere/fixpoint.toml").into()), ..Flags::default() };
    assert!(
        Config::load(&flags).unwrap_err().to_string().starts_with("/nowhere/fixpoint.toml cannot be read")
    );
}

/// Settings that were ever released, by section. A file that an earlier version took must be taken by this one: nothing is
/// taken off this list, and what is renamed keeps its old name beside the new one.
const RELEASED: &[(&str, &str)] = &[
    ("", "command database database_file data_dir min_free_disk"),
    ("server", "listen public_url"),
    (
        "github",
        "api_url web_url app_id private_key private_key_file webhook_secret webhook_secret_file webhook_secret_old \
         webhook_secret_old_file",
    ),
    ("sandbox", "kind image allow host runtime cpus memory pids disk"),
    ("model", "provider name allow url key key_file key_env patience prices"),
    (
        "limits",
        "rounds requests_a_day reviews automatic_a_pull automatic_a_repository steps round request_money request_tokens \
         repository_money_a_day installation_money_a_day at_once at_once_a_repository at_once_an_installation files \
         file_size total_size ci_start settle ci_wait person reruns_a_check reruns_a_head",
    ),
    ("publish", "mode deny"),
    ("log", "format level"),
];

#[test]
fn no_setting_that_was_released_is_gone() {
    let (mut section, mut there) = (String::new(), Vec::new());
    for line in example().lines() {
        let line = line.trim_start_matches('#');
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            name.clone_into(&mut section);
        } else if let Some((name, _)) = line.split_once(" =") {
            there.push((section.clone(), name.to_owned()));
        }
    }
    for (section, names) in RELEASED {
        for name in names.split_whitespace() {
            assert!(there.contains(&((*section).to_owned(), name.to_owned())), "{section}.{name} is gone");
        }
    }
}

#[test]
fn deliveries_are_kept_for_longer_than_github_sends_them_again() {
    let error = parse("[retention]\ndeliveries = \"3d\"").unwrap_err();
    assert!(error.contains("retention.deliveries: more than \"3d\" is expected"), "{error}");
    let config = parse("[retention]\ndeliveries = \"4d\"").unwrap();
    assert_eq!(config.retention.all().deliveries, Duration::from_secs(4 * 24 * 3600));
    assert_eq!(Config::default().retention.all(), domain::Retention::default());
}

#[test]
fn a_credential_is_for_what_is_allowed_and_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        format!("{:?}", folder.path().join(name))
    };
    let (token, basic, short) =
        (file("token", "t0ken-t0ken\n"), file("basic", "user:passw0rd"), file("short", "short"));
    let allow = "[egress]\nallow = [\"a.test:443/npm\", \"b.test:443 opaque\"]\n[[egress.credentials]]\n";
    let good = parse(&format!(
        "{allow}host = \"a.test:443\"\nbearer_file = {token}\nrepositories = [\"acme/*\", \"other/one\"]\n\
         [[egress.credentials]]\nhost = \"A.test:443\"\nheader = \"X-Job\"\nvalue_file = {token}\n"
    ))
    .unwrap();
    assert_eq!(good.egress.credentials.len(), 2);
    assert_eq!(good.egress.credentials[0].value().expose_secret(), "t0ken-t0ken");
    assert!(!format!("{good:?}").contains("t0ken-"), "never printed");
    for (entry, told) in [
        (
            format!("host = \"c.test:443\"\nbearer_file = {token}"),
            "c.test:443: egress.allow does not name it",
        ),
        (format!("host = \"a.test:80\"\nbearer_file = {token}"), "does not name it"),
        (format!("host = \"b.test:443\"\nbearer_file = {token}"), "it is opaque"),
        ("host = \"a.test:443\"".to_owned(), "one of bearer_file, basic_file and value_file is expected"),
        (format!("host = \"a.test:443\"\nbearer_file = {token}\nbasic_file = {basic}"), "one of bearer_file"),
        (format!("host = \"a.test:443\"\nvalue_file = {token}"), "belong together"),
        (format!("host = \"a.test:443\"\nheader = \"x\"\nbearer_file = {token}"), "belong together"),
        (
            format!("host = \"a.test:443\"\nheader = \"Host\"\nvalue_file = {token}"),
            "not the name of a header",
        ),
        (format!("host = \"a.test:443\"\nbearer_file = {short}"), "at least 8 characters"),
        (format!("host = \"a.test:443\"\nbasic_file = {token}"), "`user:password` is expected"),
        (
            "host = \"a.test:443\"\nbearer_file = \"/nowhere\"".to_owned(),
            "bearer_file: /nowhere cannot be read",
        ),
        (format!("host = \"a.test:443\"\nbearer_file = {token}\nrepositories = [\"*\"]"), "`owner/name`"),
        (format!("host = \"a.test:443\"\ntoken = {token}"), "\"token\" is not a setting"),
    ] {
        let error = parse(&format!("{allow}{entry}\n")).unwrap_err();
        assert!(error.contains(told), "{entry}: {error}");
    }
    assert!(parse(&format!("{allow}host = \"a.test:443\"\nbasic_file = {basic}\n")).is_ok());
}
