//! GraphQL documents held against GitHub's schema.

use super::schemas::folder;
use fixpoint::emulator::{Picked, picked};
use serde_json::Value;

/// GitHub's GraphQL schema as introspection tells it.
pub struct Schema(Value);

impl Schema {
    /// `None` where the document is not there.
    pub fn load() -> Option<Self> {
        let text = std::fs::read_to_string(folder().join("graphql.json")).ok()?;
        let whole: Value = serde_json::from_str(&text).expect("the published schema is JSON");
        let schema =
            [&whole["__schema"], &whole["data"]["__schema"]].into_iter().find(|schema| schema.is_object());
        Some(Self(schema.expect("an introspection answer").clone()))
    }

    /// What in a document is not in the schema.
    pub fn complaints(&self, document: &str) -> Vec<String> {
        let (mutation, fields) = match picked(document) {
            Ok(read) => read,
            Err(error) => return vec![format!("{error}: {document}")],
        };
        let mut complaints = Vec::new();
        let root = if mutation { "Mutation" } else { "Query" };
        fields.iter().for_each(|field| self.field(root, field, &mut complaints));
        complaints
    }

    fn kind(&self, name: &str) -> &Value {
        let kinds = self.0["types"].as_array().expect("types");
        kinds.iter().find(|kind| kind["name"] == name).unwrap_or(&Value::Null)
    }

    fn field(&self, of: &str, field: &Picked, complaints: &mut Vec<String>) {
        let of = field.on.as_deref().unwrap_or(of);
        if field.name == "__typename" {
            return;
        }
        let Some(known) = named(&self.kind(of)["fields"], &field.name) else {
            complaints.push(format!("{of} has no field {}", field.name));
            return;
        };
        for (name, value) in &field.arguments {
            let Some(argument) = named(&known["args"], name) else {
                complaints.push(format!("{of}.{} has no argument {name}", field.name));
                continue;
            };
            self.input(&base(&argument["type"]), value, complaints);
        }
        let needed = known["args"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|argument| argument["type"]["kind"] == "NON_NULL");
        for argument in needed {
            let name = argument["name"].as_str().unwrap_or_default();
            if !field.arguments.contains_key(name) {
                complaints.push(format!("{of}.{} needs the argument {name}", field.name));
            }
        }
        let below = base(&known["type"]);
        field.inner.iter().for_each(|inner| self.field(&below, inner, complaints));
    }

    fn input(&self, kind: &str, value: &Value, complaints: &mut Vec<String>) {
        let Some(fields) = value.as_object() else { return };
        for name in fields.keys() {
            if named(&self.kind(kind)["inputFields"], name).is_none() {
                complaints.push(format!("{kind} has no field {name}"));
            }
        }
    }
}

fn named<'v>(list: &'v Value, name: &str) -> Option<&'v Value> {
    list.as_array()?.iter().find(|item| item["name"] == name)
}

/// The name of a type without lists and non-nulls around it.
fn base(kind: &Value) -> String {
    match kind["name"].as_str() {
        Some(name) => name.to_owned(),
        None => base(&kind["ofType"]),
    }
}

#[test]
fn a_document_that_githubs_schema_does_not_know_is_found() {
    let Some(schema) = Schema::load() else { return };
    let good = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";
    assert_eq!(schema.complaints(good), Vec::<String>::new());
    let bad = good.replace("pullRequestId", "pullId").replace("isDraft", "draft");
    assert_eq!(schema.complaints(&bad).len(), 2);
}
