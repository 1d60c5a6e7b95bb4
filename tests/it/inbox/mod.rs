//! Never lost, never twice: from GitHub's hand into the inbox, and from there to a place to run in.

mod disk;
mod missed;
mod places;
mod pull;
mod quarantine;
mod storm;
mod taking;

use crate::support::Fixpoint;
use fixpoint::{
    emulator::{DeliveryView, Fault, Trouble},
    store::Store,
};
use hmac::{Hmac, KeyInit, Mac};
use std::time::Duration;
use tokio::time::Instant;

/// Sends something as GitHub would.
struct Sender {
    client: reqwest::Client,
    secret: String,
}

impl Sender {
    fn of(t: &Fixpoint) -> Self {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { client, secret: t.github.app().webhook_secret }
    }

    /// Posts a body under an id; gives the status, 0 where no answer came.
    async fn post(&self, url: &str, guid: &str, event: &str, body: String) -> u16 {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(self.secret.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        let request = self.client.post(url).header("x-github-delivery", guid).header("x-github-event", event);
        let request = request.header("content-type", "application/json");
        let sent = request.header("x-hub-signature-256", signature).body(body).send().await;
        sent.map_or(0, |answer| answer.status().as_u16())
    }

    /// The same as was sent, perhaps under another id.
    async fn again(&self, url: &str, guid: &str, sent: &DeliveryView) -> u16 {
        self.post(url, guid, &sent.event, sent.payload.to_string()).await
    }
}

/// Waits until this holds; what is seen last is told where it never does.
async fn until<T: std::fmt::Debug>(longest: Duration, look: impl AsyncFn() -> Result<(), T>) {
    let begun = Instant::now();
    while let Err(seen) = look().await {
        assert!(begun.elapsed() < longest, "it never comes to it; last seen: {seen:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whoever asks the model is told to come again, and nothing of its script is played, until the faults are cleared.
fn model_is_away(t: &Fixpoint) {
    let busy = Trouble::Status { status: 503, retry_after: None };
    t.github.faults().add(Fault::next("/v1/messages", busy).on("POST").times(u32::MAX));
}

/// Every delivery that was answered with a success is there.
async fn holds_all(store: &Store, sent: &[(String, u16)]) {
    for (guid, status) in sent {
        if (200..300).contains(status) {
            assert!(store.knows_delivery(guid).await.unwrap(), "{guid} was acknowledged and is lost");
        }
    }
}
