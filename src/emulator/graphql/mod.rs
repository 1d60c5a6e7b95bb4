//! GraphQL: the few queries and mutations that have no REST counterpart, answered field by field as selected.

mod parse;
mod resolve;

use super::reply::{Answer, Call, Refusal, Reply};
use super::state::World;
use http::StatusCode;
use parse::{Document, Field, Selected};
use serde_json::{Map, Value, json};

/// Whether a call is for GraphQL: `/graphql`, or `/api/graphql` on GitHub Enterprise.
pub(crate) fn is_it(call: &Call) -> bool {
    let path: Vec<&str> = call.segments.iter().map(String::as_str).collect();
    call.method == http::Method::POST && matches!(path.as_slice(), ["graphql"] | ["api", "graphql"])
}

/// Why a field could not be resolved, in GraphQL's own form.
#[derive(Debug)]
pub(crate) struct Trouble {
    kind: &'static str,
    message: String,
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Trouble {
        let kind = match refusal.status {
            StatusCode::NOT_FOUND => "NOT_FOUND",
            StatusCode::FORBIDDEN => "FORBIDDEN",
            _ => "UNPROCESSABLE",
        };
        Trouble { kind, message: refusal.message }
    }
}

/// Answers 200 in any case that GraphQL itself can report, like GitHub.
pub(crate) fn answer(world: &mut World, call: &Call) -> Answer {
    call.actor()?;
    let body = call.json()?;
    let Some(query) = body["query"].as_str() else {
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "A query attribute must be specified and must be a string.",
        ));
    };
    let document = match parse::parse(query, &body["variables"]) {
        Ok(document) => document,
        Err(message) => {
            return Ok(Reply::ok(json!({ "errors": [{ "message": format!("Parse error: {message}") }] })));
        }
    };
    let (mut data, mut errors) = (Map::new(), Vec::new());
    for field in fields(&document, &document.selection, "") {
        let resolved = resolve::top(world, call, document.mutation, field);
        let shown = resolved.and_then(|value| project(&document, &value, field));
        match shown {
            Ok(value) => {
                data.insert(field.alias.clone(), value);
            }
            Err(trouble) => {
                data.insert(field.alias.clone(), Value::Null);
                errors
                    .push(json!({ "type": trouble.kind, "path": [field.alias], "message": trouble.message }));
            }
        }
    }
    let mut answer = json!({ "data": data });
    if !errors.is_empty() {
        answer["errors"] = Value::Array(errors);
    }
    Ok(Reply::ok(answer))
}

/// The fields of a selection, those of fitting fragments included.
fn fields<'d>(document: &'d Document, selection: &'d [Selected], of: &str) -> Vec<&'d Field> {
    let fits = |on: &str| of.is_empty() || on == of || matches!(on, "Node" | "Actor" | "Comment");
    let mut found = Vec::new();
    for selected in selection {
        match selected {
            Selected::Field(field) => found.push(field),
            Selected::Inline(on, inner) if on.as_deref().is_none_or(fits) => {
                found.extend(fields(document, inner, of));
            }
            Selected::Spread(name) => {
                if let Some((_, inner)) = document.fragments.get(name).filter(|(on, _)| fits(on)) {
                    found.extend(fields(document, inner, of));
                }
            }
            Selected::Inline(..) => {}
        }
    }
    found
}

/// Cuts what was selected out of a full object. A field that the object lacks is the asker's mistake.
fn project(document: &Document, value: &Value, field: &Field) -> Result<Value, Trouble> {
    match value {
        Value::Array(items) => items.iter().map(|item| project(document, item, field)).collect(),
        Value::Object(object) => {
            let of = object.get("__typename").and_then(Value::as_str).unwrap_or_default();
            let chosen = fields(document, &field.selection, of);
            if chosen.is_empty() {
                let message = format!("Field '{}' must have selections", field.name);
                return Err(Trouble { kind: "selectionMismatch", message });
            }
            let mut shown = Map::new();
            for inner in chosen {
                let Some(there) = object.get(&inner.name) else {
                    let message = format!("Field '{}' doesn't exist on type '{of}'", inner.name);
                    return Err(Trouble { kind: "undefinedField", message });
                };
                shown.insert(inner.alias.clone(), project(document, there, inner)?);
            }
            Ok(Value::Object(shown))
        }
        scalar => Ok(scalar.clone()),
    }
}

/// A field that a document selects, for holding the document against a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Picked {
    /// The type condition of the fragment it stands in.
    pub on: Option<String>,
    /// Its name.
    pub name: String,
    /// Its arguments, variables as `null`.
    pub arguments: Map<String, Value>,
    /// What is selected below it.
    pub inner: Vec<Picked>,
}

/// Reads a GraphQL document: whether it is a mutation, and what it selects.
pub fn picked(document: &str) -> Result<(bool, Vec<Picked>), String> {
    let document = parse::parse(document, &Value::Null)?;
    Ok((document.mutation, pick(&document, &document.selection, None)))
}

fn pick(document: &Document, selection: &[Selected], on: Option<&str>) -> Vec<Picked> {
    let mut found = Vec::new();
    for selected in selection {
        match selected {
            Selected::Field(field) => found.push(Picked {
                on: on.map(String::from),
                name: field.name.clone(),
                arguments: field.arguments.clone(),
                inner: pick(document, &field.selection, None),
            }),
            Selected::Inline(kind, inner) => found.extend(pick(document, inner, kind.as_deref().or(on))),
            Selected::Spread(name) => {
                let fragment = document.fragments.get(name);
                found
                    .extend(fragment.into_iter().flat_map(|(kind, inner)| pick(document, inner, Some(kind))));
            }
        }
    }
    found
}
