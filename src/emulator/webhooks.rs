//! Webhooks: signed, sent, kept for the deliveries API; and lost, doubled, late or out of order when asked.

use super::events::{Happened, What};
use super::faults::Astray;
use super::journal::Line;
use super::state::{Delivery, Id, World};
use super::{Guard, Hub};
use chrono::Utc;
use hmac::Hmac;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// GitHub gives a receiver ten seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// GitHub keeps deliveries for days; a test never needs more than this many.
const KEPT: usize = 10_000;
/// Of a receiver's answer this much is kept.
const ANSWER_KEPT: usize = 4_096;

/// One webhook on its way.
#[derive(Debug)]
pub(crate) struct Hook {
    pub(crate) guid: String,
    pub(crate) event: String,
    pub(crate) action: Option<String>,
    pub(crate) repository: Option<Id>,
    pub(crate) payload: Value,
    pub(crate) redelivery: bool,
    pub(crate) guard: Guard,
}

impl World {
    /// Sends `event` to the App if it is installed there and subscribed.
    ///
    /// `parts` are the fields of this event; action, repository, sender and installation are added here.
    pub(crate) fn hook(&self, event: &str, action: Option<&str>, repo: Option<Id>, sender: Id, parts: Value) {
        let about_installation = event.starts_with("installation");
        let installed = repo.is_none_or(|id| self.repositories[&id].installed);
        let wanted = self.app.events.contains(event) && self.app.suspended.is_none();
        let heard = about_installation || (installed && wanted);
        if !heard {
            return;
        }
        let payload = self.payload(action, repo, sender, parts);
        self.send_hook(Hook {
            guid: uuid::Uuid::new_v4().to_string(),
            event: event.into(),
            action: action.map(String::from),
            repository: repo,
            payload,
            redelivery: false,
            guard: self.wires.busy.begin(),
        });
    }

    fn payload(&self, action: Option<&str>, repo: Option<Id>, sender: Id, parts: Value) -> Value {
        let mut payload = Map::new();
        if let Some(action) = action {
            payload.insert("action".into(), action.into());
        }
        if let Value::Object(parts) = parts {
            payload.extend(parts);
        }
        if let Some(id) = repo {
            payload.insert("repository".into(), self.show_repository(id));
            let owner = self.repositories[&id].owner;
            if let Some(organization) = self.show_organization(owner) {
                payload.insert("organization".into(), organization);
            }
        }
        payload.insert("sender".into(), self.show_user(sender));
        let installation = self.app.installation;
        let short = json!({ "id": installation, "node_id": format!("MDIz_{installation}") });
        payload.entry("installation").or_insert(short);
        Value::Object(payload)
    }

    /// Puts a webhook on the wire. Nobody listens any more only when the emulator is being stopped.
    pub(crate) fn send_hook(&self, hook: Hook) {
        let Hook { guid, event, payload, .. } = &hook;
        self.wires.journal.line(&Line::Hook { at: Utc::now(), guid, event, payload });
        let _ = self.wires.hooks.send(hook);
    }

    /// The same webhook once more, under its id.
    pub(crate) fn send_again(&self, delivery: &Delivery) {
        self.send_hook(Hook {
            guid: delivery.guid.clone(),
            event: delivery.event.clone(),
            action: delivery.action.clone(),
            repository: delivery.repository,
            payload: delivery.payload.clone(),
            redelivery: true,
            guard: self.wires.busy.begin(),
        });
    }

    pub(crate) fn happened(&self, repo: Id, what: What) {
        let repository = self.full_name(&self.repositories[&repo]);
        let _ = self.wires.happened.send(Happened { at: Utc::now(), repository, what });
    }
}

/// Sends webhooks one after the other, for as long as the emulator lives.
pub(crate) async fn deliver(hub: Arc<Hub>, mut hooks: mpsc::UnboundedReceiver<Hook>) {
    let mut held_back: Option<Hook> = None;
    while let Some(hook) = hooks.recv().await {
        match hub.faults.strike_hook(&hook.event, hook.redelivery) {
            None => send(&hub, hook).await,
            Some(Astray::Drop) => record(&hub, &hook, 0, Duration::ZERO, String::new()),
            Some(Astray::Duplicate) => {
                let twin = Hook { guard: hook.guard.clone(), ..hook.copy() };
                send(&hub, hook).await;
                send(&hub, twin).await;
            }
            Some(Astray::Delay(milliseconds)) => {
                let hub = hub.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
                    send(&hub, hook).await;
                });
                continue;
            }
            Some(Astray::Reorder) => {
                if let Some(waiting) = held_back.replace(hook) {
                    send(&hub, waiting).await;
                }
                continue;
            }
        }
        if let Some(waiting) = held_back.take() {
            send(&hub, waiting).await;
        }
    }
}

impl Hook {
    fn copy(&self) -> Hook {
        Hook {
            guid: self.guid.clone(),
            event: self.event.clone(),
            action: self.action.clone(),
            repository: self.repository,
            payload: self.payload.clone(),
            redelivery: self.redelivery,
            guard: self.guard.clone(),
        }
    }
}

async fn send(hub: &Hub, hook: Hook) {
    let Some(url) = hub.with(|world| world.wires.receiver()) else {
        record(hub, &hook, 0, Duration::ZERO, "no webhook address is set".into());
        return;
    };
    let body = hook.payload.to_string();
    let (app, secret) = hub.with(|world| (world.app.id, world.app.webhook_secret.clone()));
    let started = Instant::now();
    let sent = hub
        .client
        .post(url)
        .timeout(PATIENCE)
        .header("content-type", "application/json")
        .header("user-agent", "GitHub-Hookshot/emulator")
        .header("x-github-delivery", &hook.guid)
        .header("x-github-event", &hook.event)
        .header("x-github-hook-id", "1")
        .header("x-github-hook-installation-target-id", app)
        .header("x-github-hook-installation-target-type", "integration")
        .header("x-hub-signature", format!("sha1={}", sign::<Hmac<sha1::Sha1>>(&secret, &body)))
        .header("x-hub-signature-256", format!("sha256={}", sign::<Hmac<sha2::Sha256>>(&secret, &body)))
        .body(body)
        .send()
        .await;
    match sent {
        Ok(answer) => {
            let status = answer.status().as_u16();
            let text = answer.text().await.unwrap_or_default();
            record(hub, &hook, status, started.elapsed(), text);
        }
        Err(error) => record(hub, &hook, 0, started.elapsed(), error.to_string()),
    }
}

fn sign<M: hmac::Mac + hmac::KeyInit>(secret: &str, body: &str) -> String {
    let Ok(mut mac) = <M as hmac::KeyInit>::new_from_slice(secret.as_bytes()) else {
        return String::new();
    };
    mac.update(body.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

fn record(hub: &Hub, hook: &Hook, status_code: u16, took: Duration, mut answer: String) {
    answer.truncate(answer.floor_char_boundary(ANSWER_KEPT));
    hub.journal.line(&Line::Delivered { at: Utc::now(), guid: &hook.guid, status: status_code });
    hub.with(|world| {
        let id = world.id();
        world.deliveries.push_back(Delivery {
            id,
            guid: hook.guid.clone(),
            event: hook.event.clone(),
            action: hook.action.clone(),
            repository: hook.repository,
            payload: hook.payload.clone(),
            redelivery: hook.redelivery,
            at: Utc::now(),
            seconds: took.as_secs_f64(),
            status_code,
            answer,
        });
        while world.deliveries.len() > KEPT {
            world.deliveries.pop_front();
        }
    });
}
