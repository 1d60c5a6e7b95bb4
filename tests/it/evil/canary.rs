//! A secret that can be found again however it was wrapped up, and the places where it could turn up.

use crate::support::Fixpoint;
use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
};
use tokio::{io::AsyncReadExt, net::TcpListener};

/// What must not come out.
pub const CANARY: &str = "kanarienvogel-4711-im-bergwerk";

/// The forms of it that the attackers' scripts make, besides those that a search of ours makes.
fn forms() -> Vec<String> {
    let bytes = CANARY.as_bytes();
    let hex = bytes.iter().fold(String::new(), |mut all, byte| {
        let _ = write!(all, "{byte:02x}");
        all
    });
    let base64 = |skip: usize| {
        use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
        let padded = [vec![b' '; skip], bytes.to_vec()].concat();
        let all = STANDARD_NO_PAD.encode(padded);
        // Of the first and the last digits a neighbour's bits are part.
        all[if skip == 0 { 0 } else { 4 }..all.len() - 2].to_owned()
    };
    let reversed = CANARY.chars().rev().collect();
    vec![CANARY.to_owned(), reversed, hex, base64(0), base64(1), base64(2)]
}

/// Is the canary in this text, in any form?
pub fn is_in(text: &str) -> bool {
    // Line ends are where programs that encode put them.
    let whole = text.replace(['\n', '\r'], "");
    forms().iter().any(|form| text.contains(form.as_str()) || whole.contains(form.as_str()))
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

/// The places where the canary came out.
pub fn found(t: &Fixpoint, collector: &Collector, artefacts: &std::path::Path) -> Vec<String> {
    let logs = t.github.job_logs(&t.repo).unwrap();
    let logs = logs.into_iter().map(|(job, log)| (format!("the log of {job}"), log));
    let requests = t.github.requests().into_iter().filter(|request| request.caller == "app");
    let requests = requests.map(|r| (format!("{} {}", r.method, r.path), format!("{}{}", r.body, r.answer)));
    let files = std::fs::read_dir(artefacts).unwrap().flatten();
    let files = files.map(|file| {
        ("an artefact".to_owned(), String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned())
    });
    let network = [("the network".to_owned(), collector.heard())];
    let shown =
        t.github.model().shown().into_iter().map(|shown| ("the model".to_owned(), shown.body.to_string()));
    let all = logs.chain(requests).chain(files).chain(network).chain(shown);
    let mut places: Vec<String> = all.filter(|(_, text)| is_in(text)).map(|(place, _)| place).collect();
    places.dedup();
    places
}

#[test]
fn the_canary_is_found_in_every_form() {
    for form in forms() {
        assert!(is_in(&format!("before {form} after")), "{form}");
    }
    assert!(!is_in("kanarienvogel"));
}
