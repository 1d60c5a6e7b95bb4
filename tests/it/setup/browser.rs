//! A real browser without a window, driven over the WebDriver protocol that its own driver speaks.

use serde_json::{Value, json};
use std::{
    process::Stdio,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

/// A page of this machine is there far sooner; a browser's first start on a busy machine is not.
const LONGEST: Duration = Duration::from_secs(180);

const ARGUMENTS: [&str; 8] = [
    "--headless=new",
    "--hide-scrollbars",
    // The tests run as root in CI, where its own sandbox cannot be set up.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
    "--no-first-run",
    "--disable-background-networking",
];

pub(super) struct Browser {
    client: reqwest::Client,
    session: String,
    _driver: Child,
}

impl Browser {
    /// `None` with a plain message where there is no browser; where all must run that is a failure.
    pub(super) async fn start() -> Option<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = match command.kill_on_drop(true).spawn() {
            Ok(driver) => driver,
            Err(error) => {
                let ci = std::env::var("CI").as_deref() == Ok("true");
                assert!(!ci, "CI needs Chromium and its driver (scripts/ci-packages.sh): {error}");
                println!("skipped: chromedriver cannot be started ({error})");
                return None;
            }
        };
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = loop {
            let line = lines.next_line().await.unwrap().expect("the driver names its port");
            if let Some((_, port)) = line.split_once("successfully on port ") {
                break port.trim_end_matches('.').to_owned();
            }
        };
        let client = reqwest::Client::builder().no_proxy().timeout(LONGEST).build().unwrap();
        let mut browser =
            Self { client, session: format!("http://127.0.0.1:{port}/session"), _driver: driver };
        let options = json!({ "alwaysMatch": { "goog:chromeOptions": { "args": ARGUMENTS } } });
        let made = browser.ask("", json!({ "capabilities": options })).await.unwrap();
        browser.session = format!("{}/{}", browser.session, made["sessionId"].as_str().unwrap());
        Some(browser)
    }

    async fn ask(&self, command: &str, body: Value) -> Result<Value, String> {
        let answer = self.client.post(format!("{}{command}", self.session)).json(&body).send();
        let mut answer: Value = answer.await.unwrap().json().await.unwrap();
        let value = answer["value"].take();
        if value["error"].is_string() { Err(value.to_string()) } else { Ok(value) }
    }

    pub(super) async fn go(&self, address: &str) {
        self.ask("/url", json!({ "url": address })).await.unwrap();
    }

    async fn element(&self, selector: &str) -> Result<String, String> {
        let found = self.ask("/element", json!({ "using": "css selector", "value": selector })).await?;
        Ok(found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned())
    }

    /// Presses what is there; gives back what is wrong with the page that it leads to, if something is.
    pub(super) async fn click(&self, selector: &str) -> Result<(), String> {
        let element = self.comes(selector).await;
        self.ask(&format!("/element/{element}/click"), json!({})).await.map(drop)
    }

    /// Types over what a field holds.
    pub(super) async fn fill(&self, selector: &str, text: &str) {
        let element = self.comes(selector).await;
        self.ask(&format!("/element/{element}/clear"), json!({})).await.unwrap();
        self.ask(&format!("/element/{element}/value"), json!({ "text": text })).await.unwrap();
    }

    /// What comes to be there.
    async fn comes(&self, selector: &str) -> String {
        let begun = Instant::now();
        loop {
            match self.element(selector).await {
                Ok(element) => return element,
                Err(error) => assert!(begun.elapsed() < LONGEST, "{selector} never came: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The text of what comes to be there. The page may be left between two looks: each is one.
    pub(super) async fn text(&self, selector: &str) -> String {
        let begun = Instant::now();
        let text = format!("document.querySelector({selector:?})?.innerText");
        loop {
            if let Ok(Value::String(text)) = self.evaluate(&text).await {
                return text;
            }
            if begun.elapsed() > LONGEST {
                panic!("{selector} never came; the page is {}", self.script("document.body.innerText").await);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until an element says this: the page before may have one by the same name.
    pub(super) async fn sees(&self, selector: &str, words: &str) {
        let begun = Instant::now();
        loop {
            let said = self.text(selector).await;
            if said == words {
                return;
            }
            assert!(begun.elapsed() < LONGEST, "{selector} says {said:?}, never {words:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(super) async fn script(&self, expression: &str) -> Value {
        self.evaluate(expression).await.unwrap()
    }

    async fn evaluate(&self, expression: &str) -> Result<Value, String> {
        let body = json!({ "script": format!("return {expression}"), "args": [] });
        self.ask("/execute/sync", body).await
    }

    async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.ask("/goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await.unwrap()
    }

    /// Shows the page so wide, in light or dark.
    pub(super) async fn look(&self, width: u32, scheme: &str) {
        let sized = json!({ "width": width, "height": 480, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", sized).await;
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", media).await;
    }

    /// The whole page as a PNG.
    pub(super) async fn picture(&self) -> Vec<u8> {
        use base64::Engine as _;
        let whole = json!({ "format": "png", "captureBeyondViewport": true, "optimizeForSpeed": false });
        let taken = self.devtools("Page.captureScreenshot", whole).await;
        base64::engine::general_purpose::STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()
    }

    /// Where it is, once that begins like this; or where it still is after long.
    pub(super) async fn comes_to(&self, beginning: &str) -> String {
        let begun = Instant::now();
        loop {
            let answer = self.client.get(format!("{}/url", self.session)).send().await.unwrap();
            let answer: Value = answer.json().await.unwrap();
            let address = answer["value"].as_str().unwrap();
            if address.starts_with(beginning) || begun.elapsed() > LONGEST {
                return address.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Ends it; the driver would leave it behind when it is killed.
    pub(super) async fn quit(self) {
        self.client.delete(&self.session).send().await.unwrap();
    }
}
