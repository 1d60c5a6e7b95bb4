//! What is never pushed.

use super::*;
use base64::{Engine, engine::general_purpose::STANDARD};
use std::io::Write;

fn new(path: &str, mode: u32, content: &[u8]) -> FileDiff {
    FileDiff {
        path: path.into(),
        old_path: None,
        old_mode: None,
        new_mode: Some(mode),
        old: None,
        new: Some(content.to_vec()),
    }
}

fn file(path: &str, content: &str) -> FileDiff {
    new(path, 0o100_644, content.as_bytes())
}

fn reasons(files: &[FileDiff], rules: &Rules, limits: &Limits, secrets: &[String]) -> Vec<String> {
    match rule(files, &Around::default(), rules, limits, secrets) {
        Ruling::Refuse { reasons } => reasons,
        Ruling::Pass { .. } => Vec::new(),
    }
}

fn refused(file: FileDiff) -> bool {
    !reasons(&[file], &Rules::default(), &Limits::default(), &[]).is_empty()
}

#[test]
fn f24_workflows_and_denied_paths_are_not_pushed() {
    assert!(refused(file(".github/workflows/ci.yml", "on: push\n")));
    assert!(refused(file(".GitHub/dependabot.yml", "")));
    let away = FileDiff { old_path: Some(".github/workflows/ci.yml".into()), ..file("ci.yml", "") };
    assert!(refused(away));
    assert!(!refused(file("src/github.rs", "")));
    let allowed = Rules { workflows: true, ..Rules::default() };
    let workflow = file(".github/workflows/ci.yml", "on: push\n");
    let ruling = rule(std::slice::from_ref(&workflow), &Around::default(), &allowed, &Limits::default(), &[]);
    assert_eq!(ruling, Ruling::Pass { flags: vec![Flag::RunByCi { path: workflow.path }] });

    let denies = |glob: &str, path: &str| {
        let rules = Rules { deny: vec![glob.into()], ..Rules::default() };
        !reasons(&[file(path, "")], &rules, &Limits::default(), &[]).is_empty()
    };
    assert!(denies("infra/**", "infra/prod/main.tf"));
    assert!(denies("**/*.pem", "a/b/c.pem"));
    assert!(!denies("*.pem", "a/b/c.pem"));
    assert!(denies("[", "anything"), "a glob that cannot be read denies all");
}

#[test]
fn t26_links_out_of_the_tree_are_not_pushed() {
    for (path, target) in [
        ("a", "/etc/passwd"),
        ("a", "../x"),
        ("a/b/c", "../../../x"),
        ("a", ".git/config"),
        ("a/b", "../.GIT/hooks"),
        ("a", "b/../../x"),
        ("a", "~/x"),
        ("a", ""),
        ("a", "C:\\x"),
    ] {
        assert!(refused(new(path, 0o120_000, target.as_bytes())), "{path} -> {target}");
    }
    assert!(refused(new("a", 0o120_000, &[0xFF, 0xFE])));
    assert!(!refused(new("a/b/c", 0o120_000, b"../../x")));
    assert!(!refused(new("a", 0o120_000, b"b/./c")));
    assert!(refused(FileDiff { new: None, ..new("module", 0o160_000, b"") }));
    assert!(refused(FileDiff { new: None, ..file("huge.bin", "") }));
}

#[test]
fn caps_are_named_with_their_number() {
    let limits = Limits { files: 1, file_bytes: 10, total_bytes: 15, ..Limits::default() };
    let files = [file("a", "0123456789ab"), file("b", "0123456789")];
    let reasons = reasons(&files, &Rules::default(), &limits, &[]);
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(
        reasons[0].contains("2 files; at most 1") && reasons[1].contains("12 bytes; at most 10"),
        "{reasons:?}"
    );
}

/// Letters and digits of no meaning, always the same, so that no line of this file is shaped like a secret.
fn noise(seed: u64, length: usize, alphabet: &str) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        letters[usize::try_from(state >> 33).unwrap() % letters.len()]
    };
    (0..length).map(|_| next()).collect()
}

const ALL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

#[test]
fn f19_shapes_of_secrets_are_refused_and_placeholders_are_not() {
    let any = |length| noise(7, length, ALL);
    let hex = |length| noise(9, length, "0123456789abcdef");
    let shapes = [
        format!("AKIA{}", noise(3, 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
        format!("aws_secret_access_key = \"{}\"", any(40)),
        format!("ghp_{}", any(36)),
        format!("ghs_{}", any(36)),
        format!("github_pat_{}", any(50)),
        format!("glpat-{}", any(20)),
        format!("xoxb-{}", any(30)),
        format!("https://hooks.slack.com/services/T{}", any(30)),
        format!("AIza{}", any(35)),
        format!("sk_live_{}", any(24)),
        format!("npm_{}", any(36)),
        format!("pypi-AgEIcHlwaS5vcmc{}", any(60)),
        format!("sk-ant-api03-{}", any(60)),
        format!("sk-proj-{}", any(48)),
        format!("hf_{}", noise(5, 34, &ALL[..52])),
        format!("SG.{}.{}", any(22), any(43)),
        format!("dop_v1_{}", hex(64)),
        format!("AccountKey={}==", any(86)),
        format!("hvs.{}", any(30)),
        format!("AGE-SECRET-KEY-1{}", noise(4, 58, "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ")),
        format!("-----BEGIN {} KEY-----\n{}\n{}\n", "RSA PRIVATE", any(64), any(64)),
        format!("key = \"-----BEGIN {} KEY-----\\n{}\\n\"", "OPENSSH PRIVATE", any(64)),
    ];
    for secret in &shapes {
        assert!(refused(file("src/config.py", &format!("x = 1\ntoken = '{secret}'\n"))), "{secret}");
        assert!(
            refused(file("data.txt", &STANDARD.encode(format!("some text, then {secret}")))),
            "base64 of {secret}"
        );
    }
    let honest = [
        format!("ghp_{}", "x".repeat(36)),
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----".to_owned(),
        format!("sha256:{}", hex(64)),
        "sk-learn-compatible-estimators-are-nice".to_owned(),
        format!("integrity sha512-{}==", any(86)),
    ];
    for text in &honest {
        assert!(!refused(file("src/config.py", &format!("x = '{text}'\n"))), "{text}");
    }
    let kept = format!("token = 'ghp_{}'\n", any(36));
    let was_there = FileDiff {
        old: Some(kept.clone().into_bytes()),
        old_mode: Some(0o100_644),
        ..file("a.py", &format!("{kept}x = 1\n"))
    };
    assert!(!refused(was_there), "what the repository holds already is not this change's doing");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn t13_own_secrets_are_found_in_any_usual_encoding() {
    let canary = noise(42, 40, ALL);
    let own = Secrets::new(std::slice::from_ref(&canary));
    let rot13 = |text: &str| -> String {
        let turn = |c: char, a: u8| char::from((u8::try_from(c).unwrap() - a + 13) % 26 + a);
        text.chars()
            .map(|c| match c {
                'a'..='z' => turn(c, b'a'),
                'A'..='Z' => turn(c, b'A'),
                c => c,
            })
            .collect()
    };
    let halves = canary.split_at(20);
    let ways: Vec<(&str, Vec<u8>)> = vec![
        ("raw", canary.clone().into_bytes()),
        ("base64, first offset", STANDARD.encode(&canary).into_bytes()),
        ("base64, second offset", STANDARD.encode(format!("k{canary}.")).into_bytes()),
        ("base64, third offset", STANDARD.encode(format!("ke{canary}..")).into_bytes()),
        (
            "base64 for addresses",
            base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(format!("k{canary}")).into_bytes(),
        ),
        ("base64 of base64", STANDARD.encode(STANDARD.encode(&canary)).into_bytes()),
        ("hexadecimal", hex::encode(&canary).into_bytes()),
        ("hexadecimal, upper case", hex::encode_upper(&canary).into_bytes()),
        (
            "escaped for addresses",
            canary.bytes().map(|b| format!("%{b:02X}")).collect::<String>().into_bytes(),
        ),
        (
            "escaped in a string",
            canary.bytes().map(|b| format!("\\x{b:02x}")).collect::<String>().into_bytes(),
        ),
        ("list of numbers", canary.bytes().map(|b| format!("0x{b:02x}, ")).collect::<String>().into_bytes()),
        ("rotated", rot13(&canary).into_bytes()),
        ("reversed", canary.bytes().rev().collect()),
        ("compressed", gzip(canary.as_bytes())),
        ("zlib", zlib(canary.as_bytes())),
        ("base64 of compressed", STANDARD.encode(gzip(canary.as_bytes())).into_bytes()),
        ("in two strings", format!("\"{}\" +\n  \"{}\"", halves.0, halves.1).into_bytes()),
        ("letter by letter", canary.chars().map(|c| format!("'{c}', ")).collect::<String>().into_bytes()),
        ("most of it", canary.as_bytes()[5..38].to_vec()),
        ("rotated in base64", STANDARD.encode(rot13(&canary)).into_bytes()),
    ];
    for (way, bytes) in &ways {
        let hidden = [b"line one\nvalue: ".as_slice(), bytes, b"\nline three\n"].concat();
        assert!(own.are_in(&hidden), "{way}");
        assert!(!Secrets::new(&[noise(43, 40, ALL)]).are_in(&hidden), "{way}: another secret is not in it");
    }
    assert!(
        !Secrets::new(&["short".into()]).are_in(b"short"),
        "what is too short to be told from text is not looked for"
    );
    let reasons =
        reasons(&[file(&format!("docs/{canary}.md"), "")], &Rules::default(), &Limits::default(), &[canary]);
    assert_eq!(reasons.len(), 1, "a path can carry it too");
}
