//! What a repository can get wrong, and that it never gets more than the operator allows.

use super::{
    Ask, Dependencies, EXAMPLE, Effective, Health, LARGEST, Mistake, Operator, PATH, People, Publish, Read,
    RepoConfig, Rerun, SecondPerson, Service, Update, read, schema,
};
use crate::domain::{
    Actor, Limits, Number, UserId,
    policy::{Around, FileDiff, Ruling, rule},
};
use proptest::prelude::*;
use std::time::Duration;

fn operator() -> Operator {
    Operator {
        limits: Limits { rounds: 5, request_micros: 4_000_000, ..Limits::default() },
        day_micros: 20_000_000,
        deny: vec!["vault/**".into()],
        models: vec!["sonnet".into(), "opus".into()],
        images: vec!["acme/sandbox:1".into()],
        services: vec!["postgres:16".into()],
        reachable: crate::domain::egress::AllowList::parse(&["a.example:443"]).unwrap(),
        ..Operator::default()
    }
}

fn effective(text: &str) -> Effective {
    Effective::of(read(text.as_bytes()), &operator(), false)
}

/// Every mistake as it is printed.
fn mistakes(text: &str) -> Vec<String> {
    let mistakes = effective(text).mistakes;
    mistakes.iter().map(|m| m.in_file("f").to_string()).collect()
}

#[test]
fn every_mistake_is_named_with_its_place() {
    let cases = [
        ("rounds: 2\nroundss: 2", "f:2:1: \"roundss\" is not a setting (did you mean \"rounds\"?)"),
        (
            "checks:\n  frob: 1",
            "f:2:3: \"frob\" is not a setting: here can stand \"ignore\", \"require\" and \"rerun\"",
        ),
        (
            "checks: { rerun: frist }",
            "f:1:18: \"frist\" is none of \"evidence\" and \"first\" (did you mean \"first\"?)",
        ),
        (
            "egress: [\"a.example:443\", \"b.example:443\"]",
            "f:1:27: the operator does not allow a sandbox to reach \"b.example:443\"",
        ),
        ("autofix: always", "f:1:10: \"always\" is none of \"off\", \"label\" and \"writers\""),
        (
            "autofix: true",
            "f:1:10: \"off\", \"label\", \"writers\" or a group of settings is expected, not true",
        ),
        ("autofix:\n  poeple: off", "f:2:3: \"poeple\" is not a setting (did you mean \"people\"?)"),
        (
            "autofix:\n  bots: [renovate, 'no such']",
            "f:2:20: \"no such\" is not a login like \"renovate[bot]\"",
        ),
        ("enabled: no", "f:1:10: true or false is expected, not \"no\""),
        ("rounds: 0", "f:1:9: a whole number from 1 to 20 is expected, not 0"),
        ("rounds: many", "f:1:9: a whole number from 1 to 20 is expected, not \"many\""),
        ("rounds: [3]", "f:1:9: a whole number from 1 to 20 is expected, not a list"),
        ("budget:\n  day: €3", "f:2:8: money like \"$2.50\" is expected, not \"€3\""),
        ("budget: $3", "f:1:9: a group of settings is expected, not \"$3\""),
        ("title: 12", "f:1:8: a text is expected, not 12: put it in quotes"),
        (
            "title: '{what}: {summary}'",
            "f:1:8: a title knows \"{summary}\" and \"{issue}\", and no other braces",
        ),
        ("title: fix", "f:1:8: a title without \"{summary}\" would be the same for every change"),
        ("paths:\n  deny: ok", "f:2:9: a list is expected, not \"ok\""),
        (
            "paths:\n  deny: [ok, 'a[']",
            "f:2:14: \"a[\" is not a pattern of paths: unclosed character class; missing ']'",
        ),
        ("paths:\n  deny: ['!src']", "f:2:10: \"!src\": patterns cannot be turned round with \"!\""),
        ("publish: asks", "f:1:10: \"asks\" is none of \"auto\" and \"ask\" (did you mean \"ask\"?)"),
        ("- a\n- b", "f:1:1: a group of settings is expected, not a list"),
        ("rounds: 1\nrounds: 2", "f:2:1: \"rounds\" stands here a second time"),
        ("a: &a {x: 1}\n<<: *a", "f:1:1: \"a\" is not a setting"),
        ("rounds: 1\n---\nrounds: 2", "f:3:1: a second document begins here; only one is read"),
        ("model: sonet", "f:1:8: the operator does not allow the model \"sonet\" (did you mean \"sonnet\"?)"),
        (
            "models:\n  - sonnet\n  - llama",
            "f:3:5: the operator does not allow the model \"llama\": it allows \"sonnet\", \"opus\"",
        ),
        (
            "image: evil:1",
            "f:1:8: the operator does not allow the image \"evil:1\": it allows \"acme/sandbox:1\"",
        ),
        (
            "services:\n  db: { image: 'evil:1' }",
            "f:2:16: the operator does not allow the service \"evil:1\": it allows \"postgres:16\"",
        ),
        ("services:\n  db: {}", "f:2:7: \"image\" is missing here"),
        (
            "services: { Data_Base: { image: 'postgres:16' } }",
            "f:1:13: \"Data_Base\" is not a name of lower-case letters, digits and dashes, at most 32",
        ),
        (
            "services: { db: { image: 'postgres:16', user: 0 } }",
            "f:1:47: the number of a user, from 1 to 65533 and not the sandbox's 10001, is expected, not 0",
        ),
        (
            "services: { db: { image: 'postgres:16', user: 10001 } }",
            "f:1:47: the number of a user, from 1 to 65533 and not the sandbox's 10001, is expected, not 10001",
        ),
        (
            "services: { db: { image: 'postgres:16', environment: { PORT: 1 } } }",
            "f:1:62: a text is expected, not 1: put it in quotes",
        ),
        (
            "services: { db: { image: 'postgres:16', writable: [/a/../b] } }",
            "f:1:52: \"/a/../b\" is not a folder like \"/var/lib/data\"",
        ),
        (
            "services: { db: { image: 'postgres:16', writable: [/proc/x] } }",
            "f:1:52: \"/proc/x\" is not a folder like \"/var/lib/data\"",
        ),
        (
            "services: { db: { image: 'postgres:16', ports: [0] } }",
            "f:1:49: a port from 1 to 65535 is expected, not 0",
        ),
        ("setup: make", "f:1:8: a list is expected, not \"make\""),
    ];
    for (text, expected) in cases {
        assert_eq!(mistakes(text).first().map(String::as_str), Some(expected), "{text}");
    }
    assert!(
        mistakes("rounds: [1\npaths: {").first().unwrap().starts_with("f:2:"),
        "{:?}",
        mistakes("rounds: [1\npaths: {")
    );
}

#[test]
fn all_mistakes_are_told_at_once_from_top_to_bottom() {
    let text = "roundss: 1\nchecks:\n  ignore: [a, {b: 1}, c]\n  rerun: 3\npublish: never\n";
    let expected = [
        "f:1:1: \"roundss\" is not a setting (did you mean \"rounds\"?)",
        "f:3:15: a text is expected, not settings of its own",
        "f:4:10: \"evidence\" or \"first\" is expected",
        "f:5:10: \"never\" is none of \"auto\" and \"ask\"",
    ];
    assert_eq!(mistakes(text), expected);
    assert_eq!(RepoConfig::parse(text.as_bytes()).unwrap_err().len(), 4);
    let remark = effective(text).remark().unwrap();
    assert_eq!(
        remark,
        "`.github/fixpoint.yml:1:1`: \"roundss\" is not a setting (did you mean \"rounds\"?); the defaults hold. \
         3 more mistakes are in it."
    );
}

#[test]
fn beside_a_mistake_the_defaults_hold_but_what_is_closed_stays_closed() {
    let open =
        effective("rounds: 1\nautofix: writers\nsign_off: true\nworkflows: true\nenabled: true\nroundss: 2");
    let defaults = Effective { mistakes: open.mistakes.clone(), ..effective("") };
    assert_eq!(open, defaults);
    let closed = effective(
        "enabled: false\npublish: ask\nsecond_person: two\npaths: { deny: [a], allow: [b, '['] }\nx: 1",
    );
    assert_eq!((closed.enabled, closed.ask, closed.second_person), (false, Ask::Always, SecondPerson::Two));
    assert_eq!(closed.rules.allow.as_deref(), Some(&["b".to_owned(), "b/**".to_owned()][..]));
    assert!(closed.rules.deny.contains(&"a".to_owned()));
}

#[test]
fn an_empty_file_says_nothing() {
    let defaults = effective("");
    for text in ["\n", "# only a comment\n", "---\n", "~", "checks:\nrounds:\npaths:\n  deny:\n"] {
        let found = effective(text);
        assert_eq!(found.mistakes, [], "{text:?}");
        assert_eq!(found.limits, defaults.limits);
        assert_eq!(found.rules, defaults.rules);
    }
    assert_eq!(defaults.limits.rounds, 5);
    assert_eq!(defaults.rules.deny, ["vault/**", PATH]);
}

#[test]
fn everything_is_read() {
    let text = "
enabled: false
model: opus
models: [opus]
image: acme/sandbox:1
services:
  db:
    image: postgres:16
    command: [postgres, -c, fsync=off]
    environment: { POSTGRES_PASSWORD: test }
    user: 999
    writable: [/var/log/db/]
    ports: [5432]
    health: { command: pg_isready, interval: 2, retries: 5 }
dependencies: { files: [Cargo.lock], install: [cargo fetch] }
setup: [make deps]
rounds: 2
budget: { request: $1.50, day: 3 }
checks: { ignore: ['lint*'], require: [test], rerun: first }
autofix: { people: label, bots: ['Renovate[bot]', dependabot] }
labels: { start: go, needs_human: look, opt_out: leave }
paths: { allow: [src/], deny: ['*.lock'] }
workflows: true
publish: ask
second_person: other-than-asker
update: rebase
sign_off: true
title: 'fix: {summary} (#{issue})'
instructions: |
  Be brief.
";
    let operator = Operator { workflows: true, ..operator() };
    let found = Effective::of(read(text.as_bytes()), &operator, true);
    assert_eq!(found.mistakes, []);
    assert!(!found.enabled && found.sign_off && found.rules.workflows);
    assert_eq!((found.model.as_deref(), found.image.as_deref()), (Some("opus"), Some("acme/sandbox:1")));
    assert_eq!(found.models, ["opus"]);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let health = Health { command: "pg_isready".into(), interval: Duration::from_secs(2), retries: 5 };
    let db = Service {
        name: "db".into(),
        image: "postgres:16".into(),
        command: words(&["postgres", "-c", "fsync=off"]),
        environment: [("POSTGRES_PASSWORD".to_owned(), "test".to_owned())].into(),
        user: 999,
        writable: words(&["/var/log/db"]),
        ports: vec![5432],
        health: Some(health),
    };
    assert_eq!((found.services.clone(), found.setup.clone()), (vec![db], words(&["make deps"])));
    let dependencies = Dependencies { install: words(&["cargo fetch"]), files: words(&["Cargo.lock"]) };
    assert_eq!(found.dependencies, Some(dependencies));
    assert_eq!(
        (found.limits.rounds, found.limits.request_micros, found.day_micros),
        (2, 1_500_000, 3_000_000)
    );
    assert_eq!(
        (found.checks.ignore.concat(), found.checks.require.concat()),
        ("lint*".into(), "test".into())
    );
    assert_eq!((found.checks.rerun, found.update), (Rerun::First, Update::Rebase));
    assert_eq!(found.autofix.people, People::Label);
    assert!(found.autofix.takes_bot("renovate[bot]") && found.autofix.takes_bot("dependabot[bot]"));
    assert!(!found.autofix.takes_bot("other[bot]"));
    assert_eq!(
        [&found.labels.start, &found.labels.needs_human, &found.labels.opt_out].map(String::as_str).join(" "),
        "go look leave"
    );
    assert_eq!(found.titled("Add {issue}".into(), Number(7)), "fix: Add {issue} (#7)");
    let alice = Actor { id: UserId(5), login: "alice".into() };
    let signed = found.signed("Add\n\nRequested-by: alice\n".into(), &alice);
    assert_eq!(
        signed,
        "Add\n\nRequested-by: alice\nSigned-off-by: alice <5+alice@users.noreply.github.com>\n"
    );
    assert_eq!(found.instructions.as_deref(), Some("Be brief."));
    assert_eq!(found.rules.allow.as_deref().unwrap(), ["src", "src/**"]);
    assert_eq!(found.rules.deny, ["vault/**", "*.lock", "*.lock/**", PATH]);
}

#[test]
fn services_and_commands_are_few() {
    let empty = mistakes("dependencies: { install: [make], files: [] }");
    assert!(empty.contains(&"f:1:41: at least one entry is expected".to_owned()), "{empty:?}");
    for path in ["'*.lock'", "../x", "/etc/passwd"] {
        let wrong = mistakes(&format!("dependencies: {{ install: [make], files: [{path}] }}"));
        assert!(wrong.iter().any(|mistake| mistake.contains("is not the path of a file")), "{wrong:?}");
    }
    let many = |n: usize| (0..n).map(|n| format!("  s{n}: {{ image: 'postgres:16' }}\n")).collect::<String>();
    assert_eq!(effective(&format!("services:\n{}", many(4))).services.len(), 4);
    assert_eq!(mistakes(&format!("services:\n{}", many(5))), ["f:2:3: 5 entries are too many: at most 4"]);
    let commands = |n: usize| format!("setup: [{}]", vec!["a"; n].join(", "));
    assert_eq!(effective(&commands(20)).setup.len(), 20);
    assert_eq!(mistakes(&commands(21)), ["f:1:8: 21 entries are too many: at most 20"]);
}

#[test]
fn the_paths_of_a_file_rule_over_a_change() {
    let rules = effective("workflows: true\npaths: { allow: [src, docs/*.md], deny: [src/gen] }").rules;
    let pushed = |path: &str| {
        let new = Some(b"x".to_vec());
        let file = FileDiff {
            path: path.into(),
            old_path: None,
            old_mode: None,
            new_mode: Some(0o100_644),
            old: None,
            new,
        };
        matches!(rule(&[file], &Around::default(), &rules, &Limits::default(), &[]), Ruling::Pass { .. })
    };
    for path in ["src/a.rs", "src/deep/b.rs", "docs/a.md"] {
        assert!(pushed(path), "{path}");
    }
    for path in [
        "README.md",
        "docs/deep/a.md",
        "src/gen/a.rs",
        "src/GEN/a.rs",
        "SRC/a.rs",
        "vault/x",
        PATH,
        ".github/x",
    ] {
        assert!(!pushed(path), "{path}");
    }
}

#[test]
fn the_file_itself_stays_closed_where_workflows_are_open() {
    let operator = Operator { workflows: true, ..operator() };
    let rules = Effective::of(read(b"workflows: true"), &operator, false).rules;
    assert!(rules.workflows && rules.deny.contains(&PATH.to_owned()));
}

#[test]
fn bombs_and_oddities_are_refused_quickly() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let inner = vec![format!("*a{}", n - 1); 9].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{inner}]\n"));
    }
    let deep = "[".repeat(30_000);
    let wide = format!("models: [{}]", "a, ".repeat(20_000));
    let unknown: String = (0..4000).map(|n| format!("k{n}: 1\n")).collect();
    let odd: [&[u8]; 8] = [
        bomb.as_bytes(),
        deep.as_bytes(),
        wide.as_bytes(),
        unknown.as_bytes(),
        b"\xff",
        b"\0",
        b"a: !!binary x",
        b"*a",
    ];
    for file in odd {
        let begun = std::time::Instant::now();
        let found = read(file);
        assert!(!found.mistakes.is_empty() && found.mistakes.len() <= 20);
        assert_eq!(found.config.rounds, None);
        assert!(begun.elapsed().as_secs() < 5, "{:?} for {:?}", begun.elapsed(), &file[..file.len().min(20)]);
    }
    let long = vec![b'#'; LARGEST + 1];
    let told = "the file has 65537 bytes; at most 65536 are read".to_owned();
    assert_eq!(read(&long).mistakes, [Mistake { line: 1, column: 1, message: told }]);
    assert_eq!(read(&long[..LARGEST]), Read::default());
}

#[test]
fn what_a_mistake_shows_of_the_file_is_harmless() {
    let text = format!("\"`@alice\\e[31m\\n{}\": 1", "long ".repeat(100));
    let message = &read(text.as_bytes()).mistakes[0].message;
    assert!(!message.contains(['`', '\n', '\u{1b}']) && message.chars().count() < 120, "{message:?}");
}

#[test]
fn a_public_repository_asks_where_strangers_text_met_secrets() {
    let none = (None, true, false);
    let cases = [
        (none, Ask::WhenExposed),
        ((Some(Publish::Auto), true, false), Ask::WhenExposed),
        ((Some(Publish::Ask), true, false), Ask::Always),
        ((None, false, false), Ask::Never),
        ((Some(Publish::Auto), false, true), Ask::Always),
    ];
    for ((wish, public, ask_first), expected) in cases {
        assert_eq!(Publish::effective(wish, public, ask_first), expected);
    }
    assert!(Ask::WhenExposed.asks(true, true) && !Ask::WhenExposed.asks(true, false));
}

/// The schema in `docs/` is this one. Once the settings are changed on purpose: run this test with `UPDATE=1`.
#[test]
fn the_schema_is_the_one_that_is_published() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/fixpoint.schema.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, schema()).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(published == schema(), "docs/fixpoint.schema.json is not of these settings; UPDATE=1 writes it");
}

/// Files that must be read without a mistake: the example, with and without its comments taken away, and all of the page.
fn documented() -> Vec<String> {
    let page = include_str!("../../../docs/repository-configuration.md");
    let fences = page.split("```yaml\n").skip(1).map(|part| part.split("```").next().unwrap().to_owned());
    let open: String = EXAMPLE
        .lines()
        .map(|line| match line.trim_start().strip_prefix("# ") {
            Some(setting)
                if setting.contains(": ")
                    && setting.split(':').next().unwrap().chars().all(char::is_lowercase) =>
            {
                format!("{}{setting}\n", &line[..line.len() - line.trim_start().len()])
            }
            _ => format!("{line}\n"),
        })
        .collect();
    assert!(open.contains("\nmodels: [") && open.contains("\n  allow: ["), "{open}");
    fences.chain([EXAMPLE.to_owned(), open]).collect()
}

/// As an editor sees it: YAML 1.2, where `off` is a text.
fn json(text: &str) -> serde_json::Value {
    serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true }).unwrap()
}

#[test]
fn what_is_documented_is_read_and_fits_the_schema() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let documented = documented();
    assert!(documented.len() >= 3);
    for text in documented {
        assert_eq!(read(text.as_bytes()).mistakes, [], "{text}");
        let json = json(&text);
        let complaints: Vec<_> = validator.iter_errors(&json).map(|e| e.to_string()).collect();
        assert_eq!(complaints, Vec::<String>::new(), "{text}");
    }
    for wrong in
        ["roundss: 3", "rounds: 0", "publish: never", "autofix: { bot: [] }", "title: x", "model: ''"]
    {
        assert!(!validator.is_valid(&json(wrong)), "the schema takes {wrong}");
    }
}

/// The example is the defaults, but for what it shows.
#[test]
fn the_example_changes_nothing_that_matters() {
    let defaults = Operator { models: vec!["m".into()], day_micros: 25_000_000, ..Operator::default() };
    let (shown, none) =
        (Effective::of(read(EXAMPLE.as_bytes()), &defaults, true), Effective::of(read(b""), &defaults, true));
    assert_eq!(shown.limits, none.limits);
    assert_eq!(
        (shown.day_micros, shown.ask, shown.second_person),
        (none.day_micros, none.ask, none.second_person)
    );
    assert_eq!((shown.labels, shown.autofix, shown.update), (none.labels, none.autofix, none.update));
}

/// Any file that could be a configuration: some settings, each as wide or wrong as it may be.
fn file() -> impl Strategy<Value = String> {
    let setting = prop_oneof![
        (0u32..30).prop_map(|n| format!("rounds: {n}")),
        (0u32..100, 0u32..100).prop_map(|(a, b)| format!("budget: {{ request: {a}, day: '${b}.5' }}")),
        prop::sample::select(vec!["publish: auto", "publish: ask", "publish: never"]).prop_map(str::to_owned),
        prop::sample::select(vec!["workflows: true", "workflows: false"]).prop_map(str::to_owned),
        prop::sample::select(vec!["model: opus", "model: gpt", "models: [opus, gpt]", "models: []"])
            .prop_map(str::to_owned),
        prop::sample::select(vec!["image: acme/sandbox:1", "image: root:latest"]).prop_map(str::to_owned),
        prop::sample::select(vec!["postgres:16", "root:latest"])
            .prop_map(|image| format!("services: {{ db: {{ image: '{image}' }} }}")),
        "[a-z*?/]{1,8}".prop_map(|glob| format!("paths: {{ allow: ['{glob}', '**'] }}")),
        "[a-z*?/]{1,8}".prop_map(|glob| format!("paths: {{ deny: ['{glob}'] }}")),
        "[a-z_]{1,8}: [a-z0-9]{1,4}".prop_map(|s| s),
    ];
    prop::collection::vec(setting, 0..6).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn a_repository_never_gets_more_than_the_operator_allows(
        text in file(),
        (public, ask_first, workflows) in (any::<bool>(), any::<bool>(), any::<bool>()),
        path in "(vault/|\\.github/|src/)?[a-z]{1,4}(\\.rs)?",
    ) {
        let operator = Operator { ask_first, workflows, ..operator() };
        let bound = Effective::of(Read::default(), &operator, public);
        let found = Effective::of(read(text.as_bytes()), &operator, public);
        prop_assert!(found.limits.rounds >= 1 && found.limits.rounds <= operator.limits.rounds);
        prop_assert!(found.limits.request_micros <= operator.limits.request_micros);
        prop_assert_eq!(
            Limits { rounds: 0, request_micros: 0, ..found.limits.clone() },
            Limits { rounds: 0, request_micros: 0, ..operator.limits.clone() }
        );
        prop_assert!(found.day_micros <= operator.day_micros);
        prop_assert!(found.ask >= bound.ask);
        prop_assert!(!found.rules.workflows || operator.workflows);
        prop_assert!(found.models.iter().chain(&found.model).all(|m| operator.models.contains(m)));
        prop_assert!(found.image.iter().all(|i| operator.images.contains(i)));
        prop_assert!(found.services.iter().all(|s| operator.services.contains(&s.image)));
        // What may be pushed by the file may be pushed by the operator's rules.
        let new = Some(b"x".to_vec());
        let file = FileDiff { path, old_path: None, old_mode: None, new_mode: Some(0o100_644), old: None, new };
        let passes = |rules| matches!(rule(std::slice::from_ref(&file), &Around::default(), rules, &operator.limits, &[]), Ruling::Pass { .. });
        let widest = crate::domain::policy::Rules { workflows, ..bound.rules };
        prop_assert!(!passes(&found.rules) || passes(&widest), "{:?}", file.path);
    }

    #[test]
    fn no_bytes_are_too_strange(file in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&file);
    }

    #[test]
    fn no_yaml_is_too_strange(text in "[a-z:\\-\\[\\]{}&*!|>'\"#%@\n ]{0,80}") {
        for mistake in read(text.as_bytes()).mistakes {
            prop_assert!(mistake.line >= 1 && mistake.column >= 1 && !mistake.message.contains('\n'));
        }
    }
}
