//! Making an App from a manifest: the two pages that a browser sees, and the exchange of the code.
//!
//! GitHub first shows what is asked for and lets the person change the name; only their click makes the App. Source:
//! GitHub, "Registering a GitHub App from a manifest".

use crate::emulator::auth::PRIVATE_KEY;
use crate::emulator::reply::{Answer, Call, Refusal, Reply, strings};
use crate::emulator::state::{Kind, World};
use http::StatusCode;
use serde_json::Value;
use std::collections::BTreeMap;

/// GitHub's longest name of an App.
const LONGEST_NAME: usize = 34;

/// `POST /settings/apps/new?state=…`, or an organisation's: shows what the manifest asks for.
pub(super) fn ask(world: &World, call: &Call, organization: Option<&str>) -> Answer {
    owned(world, organization)?;
    let form = form(call);
    let manifest = read(form.get("manifest").map_or("", String::as_str))?;
    let state = call.asks("state").unwrap_or_default();
    let asked = manifest["default_permissions"].as_object().into_iter().flatten();
    let rows: String = asked
        .map(|(name, level)| {
            format!("<li>{}: {}</li>", escape(name), escape(level.as_str().unwrap_or_default()))
        })
        .collect();
    let target = organization.map_or_else(
        || "/settings/apps".to_owned(),
        |organization| format!("/organizations/{}/settings/apps", escape(organization)),
    );
    Ok(page(&format!(
        "<h1>Create GitHub App</h1><ul>{rows}</ul>\
         <form method=\"post\" action=\"{target}\">\
         <label>GitHub App name <input name=\"name\" value=\"{}\"></label>\
         <input type=\"hidden\" name=\"manifest\" value=\"{}\">\
         <input type=\"hidden\" name=\"state\" value=\"{}\">\
         <button id=\"create\">Create GitHub App</button></form>",
        escape(manifest["name"].as_str().unwrap_or_default()),
        escape(&manifest.to_string()),
        escape(state),
    )))
}

/// The person's click: the App is there, and the browser is sent back with a code.
pub(super) fn create(world: &mut World, call: &Call, organization: Option<&str>) -> Answer {
    owned(world, organization)?;
    let form = form(call);
    let field = |name: &str| form.get(name).map_or("", String::as_str);
    let mut manifest = read(field("manifest"))?;
    let name = field("name").trim();
    if name.is_empty() || name.chars().count() > LONGEST_NAME {
        return Err(Refusal::unprocessable("Name is too long (maximum is 34 characters)"));
    }
    manifest["name"] = name.into();
    let back = manifest["redirect_url"].as_str().unwrap_or_default();
    let mut back = url::Url::parse(back).map_err(|_| Refusal::unprocessable("Redirect url is invalid"))?;
    let code = world.keep_manifest(manifest);
    back.query_pairs_mut().append_pair("code", &code).append_pair("state", field("state"));
    Ok(Reply::text(StatusCode::FOUND, "You are being redirected.").with("location", back.as_str()))
}

/// `POST /app-manifests/{code}/conversions`: whatever code was handed out by the emulator names its one App.
pub(super) fn convert(world: &mut World, code: &str) -> Answer {
    let manifest = world.manifests.remove(code).ok_or_else(Refusal::not_found)?;
    world.become_app(&manifest);
    let silent = manifest["hook_attributes"]["active"] == false;
    let mut shown = world.show_app(world.app.id);
    shown["client_secret"] = hex::encode(rand::random::<[u8; 20]>()).into();
    // An App whose webhook is off may have none: the field may be null.
    shown["webhook_secret"] = if silent { Value::Null } else { world.app.webhook_secret.clone().into() };
    shown["pem"] = PRIVATE_KEY.into();
    Ok(Reply::created(shown))
}

impl World {
    /// Hands out a code for a manifest.
    pub(crate) fn keep_manifest(&mut self, manifest: Value) -> String {
        let code = hex::encode(rand::random::<[u8; 10]>());
        self.manifests.insert(code.clone(), manifest);
        code
    }

    /// The one App takes on what a manifest says; what it does not say stays.
    fn become_app(&mut self, manifest: &Value) {
        if let Some(name) = manifest["name"].as_str() {
            self.app.name = name.into();
            self.app.slug = slug(name);
            let login = format!("{}[bot]", self.app.slug);
            if let Some(bot) = self.users.get_mut(&self.app.bot) {
                bot.login = login;
            }
        }
        if let Some(asked) = manifest["default_permissions"].as_object() {
            let level = |level: &Value| level.as_str().unwrap_or_default().to_owned();
            self.app.permissions = asked.iter().map(|(name, l)| (name.clone(), level(l))).collect();
        }
        if manifest["default_events"].is_array() {
            self.app.events = strings(&manifest["default_events"]).into_iter().collect();
        }
        let hook = &manifest["hook_attributes"];
        if let Some(url) = hook["url"].as_str().filter(|_| hook["active"] != false) {
            self.wires.deliver_to(url);
        }
    }
}

/// The emulator's App belongs to one account.
fn owned(world: &World, organization: Option<&str>) -> Result<(), Refusal> {
    let owner = world.users.get(&world.app.owner).ok_or_else(Refusal::not_found)?;
    match organization {
        Some(named) if owner.kind != Kind::Organization || owner.login != named => Err(Refusal::not_found()),
        _ => Ok(()),
    }
}

/// The manifest, if GitHub would take it.
fn read(text: &str) -> Result<Value, Refusal> {
    let refuse = |why: &str| Refusal::unprocessable(&format!("Error: manifest is invalid: {why}"));
    let manifest: Value = serde_json::from_str(text).map_err(|_| refuse("it is no JSON"))?;
    if manifest["url"].as_str().is_none_or(|url| url::Url::parse(url).is_err()) {
        return Err(refuse("\"url\" wasn't supplied"));
    }
    let hook = &manifest["hook_attributes"];
    if hook.is_object() && hook["url"].as_str().is_none_or(|url| url::Url::parse(url).is_err()) {
        return Err(refuse("\"hook_attributes.url\" wasn't supplied"));
    }
    for event in strings(&manifest["default_events"]) {
        let needs = needs(&event).ok_or_else(|| refuse(&format!("Default events unsupported: {event}")))?;
        if manifest["default_permissions"][needs].is_null() {
            return Err(refuse(&format!("Default events are not supported by permissions: {event}")));
        }
    }
    Ok(manifest)
}

/// The permission that an event needs. Source: GitHub, "Webhook events and payloads".
fn needs(event: &str) -> Option<&'static str> {
    Some(match event {
        "check_run" | "check_suite" => "checks",
        "issue_comment" | "issues" => "issues",
        "pull_request"
        | "pull_request_review"
        | "pull_request_review_comment"
        | "pull_request_review_thread" => "pull_requests",
        "push" | "create" | "delete" | "release" => "contents",
        "repository" | "label" | "public" => "metadata",
        "status" => "statuses",
        "workflow_run" | "workflow_job" => "actions",
        _ => return None,
    })
}

fn slug(name: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.trim().chars().map(word).collect()
}

fn form(call: &Call) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(&call.body).into_owned().collect()
}

fn page(body: &str) -> Reply {
    let whole = format!("<!doctype html><meta charset=\"utf-8\"><title>GitHub</title>{body}");
    Reply::bytes(StatusCode::OK, "text/html; charset=utf-8", whole.into())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
