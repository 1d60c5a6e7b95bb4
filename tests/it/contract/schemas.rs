//! GitHub's published schemas, and what of a conversation does not fit them.
//!
//! `scripts/github-schemas.sh` brings the documents; without them the contract tests say so and pass.

use fixpoint::emulator::{DeliveryView, Request};
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// The OpenAPI document of the REST API and that of the webhooks.
pub struct Contract {
    rest: Value,
    hooks: Value,
    validators: BTreeMap<String, Validator>,
    /// `METHOD /template` of every request that was held against the contract.
    pub covered: BTreeSet<String>,
}

/// Where the published schemas contradict GitHub itself: what a complaint must hold to be passed over, and why.
const CONTRADICTIONS: [(&str, &str); 6] = [
    // A comment whose line is gone has neither; a pull request whose fork was deleted has no repository at its head.
    ("/line:", "null is not of type"),
    ("/position:", "null is not of type"),
    ("/head/repo:", "null is not of type"),
    // The list wants every account to be a user and an enterprise at once.
    ("GET /app/installations, 200", "/account"),
    // The events an App may subscribe to, as they were before these two came.
    ("/events/", "\"merge_group\" is not one of"),
    ("/events/", "\"workflow_job\" is not one of"),
];

fn is_contradiction(complaint: &str) -> bool {
    CONTRADICTIONS.iter().any(|(place, words)| complaint.contains(place) && complaint.contains(words))
}

/// The folder into which the script brings the documents.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".cache/github")
}

fn document(name: &str) -> Option<Value> {
    let text = std::fs::read_to_string(folder().join(name)).ok()?;
    Some(serde_json::from_str(&text).expect("a published document is JSON"))
}

impl Contract {
    /// `None`, with a word about it, where the documents are not there.
    pub fn load() -> Option<Self> {
        let found = document("openapi.json").zip(document("webhooks.json"));
        if found.is_none() {
            println!(
                "skipped: GitHub's schemas are not in .cache/github; scripts/github-schemas.sh brings them"
            );
        }
        let (rest, hooks) = found?;
        Some(Self { rest, hooks, validators: BTreeMap::new(), covered: BTreeSet::new() })
    }

    /// What of one request and its answer does not fit: at most three complaints a side.
    pub fn request(&mut self, request: &Request) -> Vec<String> {
        let path = request.bare_path().trim_start_matches("/api/v3");
        // By id: not in the document, but where GitHub redirects to when a repository was renamed.
        if path.starts_with("/repositories/") {
            return Vec::new();
        }
        let Some((template, operation)) = self.operation(&request.method, path) else {
            return vec![format!("{} {path}: GitHub has no such operation", request.method)];
        };
        let name = format!("{} {template}", request.method);
        let mut complaints = Vec::new();
        let asked = operation["requestBody"]["content"]["application/json"]["schema"].clone();
        if !request.body.is_null() && !asked.is_null() && request.status < 400 {
            complaints.extend(self.validate(true, &format!("{name}, request"), &asked, &request.body));
        }
        let status = request.status.to_string();
        let answered = self.resolve(&operation["responses"][&status]);
        match &answered["content"]["application/json"]["schema"] {
            Value::Null if answered.is_null() && request.status < 400 && request.status != 0 => {
                complaints.push(format!("{name}: GitHub does not answer {status}"));
            }
            Value::Null => {}
            schema => {
                let schema = schema.clone();
                complaints.extend(self.validate(
                    true,
                    &format!("{name}, {status}"),
                    &schema,
                    &request.answer,
                ));
            }
        }
        self.covered.insert(name);
        complaints
    }

    /// What of a webhook does not fit.
    pub fn delivery(&mut self, delivery: &DeliveryView) -> Vec<String> {
        let event = delivery.event.replace('_', "-");
        let name = match &delivery.action {
            Some(action) => format!("{event}-{}", action.replace('_', "-")),
            None => event,
        };
        let schema =
            &self.hooks["webhooks"][&name]["post"]["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            return vec![format!("{name}: GitHub has no such webhook")];
        }
        let schema = schema.clone();
        self.validate(false, &format!("webhook {name}"), &schema, &delivery.payload)
    }

    fn operation(&self, method: &str, path: &str) -> Option<(String, Value)> {
        let segments: Vec<&str> = path.split('/').collect();
        let paths = self.rest["paths"].as_object()?;
        // A literal segment wins over a parameter, and a parameter at the end may hold slashes.
        let fits = paths.iter().filter_map(|(template, item)| {
            let operation = item.get(method.to_lowercase())?;
            Some((fit(template, &segments)?, template, operation))
        });
        let (_, template, operation) = fits.max_by_key(|(literal, ..)| *literal)?;
        Some((template.clone(), operation.clone()))
    }

    fn resolve(&self, value: &Value) -> Value {
        match value["$ref"].as_str() {
            Some(reference) => {
                self.rest.pointer(reference.trim_start_matches('#')).cloned().unwrap_or(Value::Null)
            }
            None => value.clone(),
        }
    }

    fn validate(&mut self, rest: bool, name: &str, schema: &Value, instance: &Value) -> Vec<String> {
        let document = if rest { &self.rest } else { &self.hooks };
        let validator = self.validators.entry(name.to_owned()).or_insert_with(|| {
            let whole = with_components(document, schema);
            jsonschema::validator_for(&whole).unwrap_or_else(|error| panic!("{name}: {error}"))
        });
        let complaint = |error: jsonschema::ValidationError<'_>| {
            let words: String =
                error.to_string().chars().rev().take(160).collect::<String>().chars().rev().collect();
            format!("{name}: at {}: …{words}", error.instance_path())
        };
        let complaints = validator.iter_errors(instance).map(complaint);
        complaints.filter(|complaint| !is_contradiction(complaint)).take(6).collect()
    }
}

/// How many literal segments of the template fit; `None` when it does not.
fn fit(template: &str, segments: &[&str]) -> Option<usize> {
    let wanted: Vec<&str> = template.split('/').collect();
    let open_end =
        wanted.last().is_some_and(|last| ["{path}", "{ref}", "{branch}", "{basehead}"].contains(last));
    if wanted.len() != segments.len() && !(open_end && segments.len() > wanted.len()) {
        return None;
    }
    let mut literal = 0;
    for (wanted, there) in wanted.iter().zip(segments) {
        if wanted == there {
            literal += 1;
        } else if !wanted.starts_with('{') {
            return None;
        }
    }
    Some(literal)
}

/// The schema with just those components that it reaches, in today's dialect.
fn with_components(document: &Value, schema: &Value) -> Value {
    let mut reached: Map<String, Value> = Map::new();
    let mut open = vec![schema.clone()];
    while let Some(next) = open.pop() {
        let mut names = Vec::new();
        references(&next, &mut names);
        for name in names {
            if !reached.contains_key(&name) {
                let component = document["components"]["schemas"][&name].clone();
                reached.insert(name, modern(&component));
                open.push(component);
            }
        }
    }
    let mut whole = modern(schema);
    whole["components"] = json!({ "schemas": reached });
    whole
}

fn references(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
                names.extend(name.strip_prefix("#/components/schemas/").map(String::from));
            }
            fields.values().for_each(|field| references(field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        _ => {}
    }
}

/// OpenAPI 3.0 says `nullable` where JSON Schema says `"type": [… "null"]`.
fn modern(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut fields: Map<String, Value> =
                fields.iter().map(|(name, field)| (name.clone(), modern(field))).collect();
            match fields.remove("nullable") {
                Some(Value::Bool(true)) => json!({ "anyOf": [{ "type": "null" }, fields] }),
                // A property may be called "nullable".
                Some(other) if other.is_object() => {
                    fields.insert("nullable".into(), other);
                    Value::Object(fields)
                }
                _ => Value::Object(fields),
            }
        }
        Value::Array(items) => items.iter().map(modern).collect(),
        other => other.clone(),
    }
}
