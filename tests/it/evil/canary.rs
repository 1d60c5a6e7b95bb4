//! A secret that can be found again however it was wrapped up, and the places where it could turn up.

use crate::support::{Fixpoint, REPO};
use base64::{Engine as _, engine::general_purpose::STANDARD, engine::general_purpose::STANDARD_NO_PAD};
use std::{
    fmt::Write as _,
    io::Write as _,
    process::Command,
    sync::{Arc, Mutex},
};
use tokio::{io::AsyncReadExt, net::TcpListener};

/// What must not come out of CI.
pub const CANARY: &str = "kanarienvogel-4711-im-bergwerk";

/// One way to write a secret so that nobody who looks for it as it is sees it.
pub struct Form {
    pub name: &'static str,
    /// What is written; in words alone where words are all that there is room for.
    pub bytes: Vec<u8>,
    pub words: String,
    /// What of it can be looked for among anything else.
    stable: Vec<u8>,
}

/// The nine usual ones.
pub fn forms(secret: &str) -> Vec<Form> {
    let rotated = |c: char| match c {
        'a'..='z' => char::from((c as u8 - b'a' + 13) % 26 + b'a'),
        'A'..='Z' => char::from((c as u8 - b'A' + 13) % 26 + b'A'),
        _ => c,
    };
    let every = |head: &str| {
        secret.bytes().fold(String::new(), |mut all, byte| {
            let _ = write!(all, "{head}{byte:02x}");
            all
        })
    };
    let text = |name, text: String| Form {
        name,
        bytes: text.clone().into(),
        stable: text.clone().into(),
        words: text,
    };
    let mut all = vec![
        text("as it is", secret.to_owned()),
        text("reversed", secret.chars().rev().collect()),
        text("rot13", secret.chars().map(rotated).collect()),
        text("hex", every("")),
        text("url", every("%")),
    ];
    for (skip, name) in [(0, "base64"), (1, "base64 from the second byte"), (2, "base64 from the third byte")]
    {
        let whole = STANDARD_NO_PAD.encode([vec![b' '; skip], secret.into()].concat());
        // Of the first and the last digits a neighbour's bits are part.
        let stable = whole.as_bytes()[if skip == 0 { 0 } else { 4 }..whole.len() - 2].to_vec();
        all.push(Form { name, bytes: whole.clone().into(), stable, words: whole });
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(secret.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let words = STANDARD.encode(&packed);
    all.push(Form { name: "gzip", stable: packed.clone(), bytes: packed, words });
    all
}

/// The forms of a secret that these bytes hold.
pub fn held<'f>(forms: &'f [Form], bytes: &[u8]) -> Vec<&'f str> {
    // Line ends are where programs that encode put them.
    let whole: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let holds = |needle: &[u8]| [bytes, &whole].iter().any(|all| memchr::memmem::find(all, needle).is_some());
    let found = forms.iter().filter(|form| holds(&form.stable) || holds(form.words.as_bytes()));
    found.map(|form| form.name).collect()
}

/// Is CI's canary in this text, in any form?
pub fn is_in(text: &str) -> bool {
    !held(&forms(CANARY), text.as_bytes()).is_empty()
}

/// Somewhere on the network that an attacker owns: keeps what is sent to it.
pub struct Collector {
    pub port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Collector {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = heard.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = Vec::new();
                let _ = (&mut stream).take(1 << 16).read_to_end(&mut bytes).await;
                into.lock().unwrap().extend(bytes);
            }
        });
        Self { port, heard }
    }

    pub fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap()).into_owned()
    }
}

/// Everything that GitHub has of us, each with where: what it was asked and answered, every git object, the names of
/// branches, the logs of CI. What a model was shown is not GitHub's.
pub fn received(t: &Fixpoint) -> Vec<(String, Vec<u8>)> {
    let requests = t.github.requests().into_iter().filter(|request| !request.path.starts_with("/v1/"));
    let requests =
        requests.map(|r| (format!("{} {}", r.method, r.path), format!("{} {}{}", r.path, r.body, r.answer)));
    let logs = t.github.job_logs(&t.repo).unwrap();
    let logs = logs.into_iter().map(|(job, log)| (format!("the log of {job}"), log));
    let branches =
        t.github.branches(&t.repo).unwrap().into_iter().map(|name| ("a branch's name".to_owned(), name));
    let texts = requests.chain(logs).chain(branches).map(|(place, text)| (place, text.into_bytes()));
    let git = Command::new("git")
        .arg("--git-dir")
        .arg(t.github.git_directory(&t.repo).unwrap())
        .args(["cat-file", "--batch", "--batch-all-objects"])
        .output()
        .unwrap();
    assert!(git.status.success() && !git.stdout.is_empty(), "the objects can be read");
    texts.chain([("a git object".to_owned(), git.stdout)]).collect()
}

/// Where the forms of a secret turned up.
pub fn came_out(t: &Fixpoint, secret: &str) -> Vec<String> {
    let forms = forms(secret);
    let found = received(t).into_iter().flat_map(|(place, bytes)| {
        held(&forms, &bytes).into_iter().map(|form| format!("{form} in {place}")).collect::<Vec<_>>()
    });
    found.collect()
}

/// The places where CI's canary came out.
pub fn found(t: &Fixpoint, collector: &Collector, artefacts: &std::path::Path) -> Vec<String> {
    let files = std::fs::read_dir(artefacts).unwrap().flatten();
    let files = files.map(|file| ("an artefact".to_owned(), std::fs::read(file.path()).unwrap()));
    let network = [("the network".to_owned(), collector.heard().into_bytes())];
    let shown = t.github.model().shown().into_iter();
    let shown = shown.map(|shown| ("the model".to_owned(), shown.body.to_string().into_bytes()));
    let forms = forms(CANARY);
    let all = received(t).into_iter().chain(files).chain(network).chain(shown);
    let mut places: Vec<String> =
        all.filter(|(_, bytes)| !held(&forms, bytes).is_empty()).map(|(place, _)| place).collect();
    places.dedup();
    places
}

#[test]
fn the_canary_is_found_in_every_form() {
    let forms = forms(CANARY);
    assert_eq!(forms.len(), 9);
    for form in &forms {
        let text = [b"before ", &form.bytes[..], b" after"].concat();
        assert_eq!(held(&forms, &text), [form.name]);
        let wrapped = form.words.replacen(&form.words[7..8], &format!("{}\n", &form.words[7..8]), 1);
        assert!(held(&forms, wrapped.as_bytes()).contains(&form.name), "{wrapped}");
    }
    assert!(!is_in("kanarienvogel"));
}

/// What the emulator keeps is looked through to the last object.
#[tokio::test]
async fn whatever_github_has_is_searched() {
    let t = crate::support::fixpoint().await;
    assert_eq!(came_out(&t, CANARY), Vec::<String>::new());
    t.github.push_as(REPO, "alice", "main", &[("a/b", &forms(CANARY)[5].words)]).unwrap();
    assert_eq!(came_out(&t, CANARY), ["base64 in a git object"]);
}
