//! A workflow file as a tree, within bounds: a bomb of aliases ends here.

use crate::domain::yaml::bounded;
use serde_json::Value;
use serde_saphyr::Error;

/// Values in one file, whatever aliases make of it: the largest that are written by hand fit many times.
const MOST_NODES: usize = 50_000;

/// Levels of one file: a step's inputs are the sixth, an expression of a matrix the tenth.
const DEEPEST: usize = 40;

/// Reads a file; `None`: there is nothing in it. Else why it cannot be read, in words.
pub(super) fn parse(text: Option<&str>) -> Result<Option<Value>, String> {
    let text = text.ok_or_else(|| "it is too long to be read".to_owned())?;
    match serde_saphyr::from_str_with_options::<Value>(text, bounded(MOST_NODES, DEEPEST)) {
        Ok(Value::Null) | Err(Error::Eof { .. }) => Ok(None),
        Ok(tree @ Value::Object(_)) => Ok(Some(tree)),
        Ok(_) => Err("it holds no settings".to_owned()),
        Err(error) => Err(format!("it is no YAML that can be read: {}", first_line(&error.to_string()))),
    }
}

/// What stands below `on`. Readers of YAML 1.1 take that key for `true`, and writers of theirs write it so.
pub(super) fn on(workflow: &Value) -> &Value {
    workflow.get("on").or_else(|| workflow.get("true")).unwrap_or(&Value::Null)
}

/// Every text below a value, with the key it stands under.
pub(super) fn texts<'a>(value: &'a Value, key: &'a str, each: &mut impl FnMut(&'a str, &'a str)) {
    match value {
        Value::String(text) => each(key, text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, key, each)),
        Value::Object(map) => map.iter().for_each(|(key, value)| texts(value, key, each)),
        _ => {}
    }
}

/// One value or a list of them, as words.
pub(super) fn words(value: &Value) -> Option<Vec<String>> {
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    };
    match value {
        Value::Array(items) => items.iter().map(word).collect(),
        one => word(one).map(|one| vec![one]),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
