//! The last look at what is written to GitHub: whatever it was made of, it holds no secret of ours.
//!
//! Where words come from is looked at before (a change, what an agent says of it). Here is what was not thought of: a path
//! in a reason, a name in a table, a line of a log.

use crate::domain::{Fault, policy::Secrets, say, seeded};
use serde_json::Value;

/// What stands in place of a text that holds one.
const INSTEAD: &str = "(left out: it would have told a secret of fixpoint's own)";

/// What our own comments are known again by stands behind their text, and stays: else the next look would write another.
const MARK: &str = "\n\n<!-- fixpoint:";

/// A body as it may be sent: a text in it that holds a secret, in any usual encoding, is replaced as a whole.
pub(super) fn without(secrets: &Secrets, body: &Value) -> Value {
    match body {
        Value::String(text) => instead(secrets, text).map_or_else(|| body.clone(), Value::from),
        Value::Array(items) => items.iter().map(|item| without(secrets, item)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), without(secrets, member))).collect()
        }
        other => other.clone(),
    }
}

/// What is sent in place of a text that holds a secret; `None`: it holds none.
pub(super) fn instead(secrets: &Secrets, text: &str) -> Option<String> {
    if seeded(Fault::WordsLetOut) || !secrets.are_in(text.as_bytes()) {
        return None;
    }
    tracing::error!(
        "a text that was to be written to GitHub held a secret of fixpoint's own; it was left out"
    );
    if say::is_sealed(text) {
        // Sealed anew, so that it is known again as ours.
        return Some(say::sealed(INSTEAD));
    }
    let mark = text.rfind(MARK).map_or("", |at| &text[at..]);
    let mark = if secrets.are_in(mark.as_bytes()) { "" } else { mark };
    Some(format!("{INSTEAD}{mark}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn evil_t13_a_secret_that_is_still_in_a_text_takes_the_text_with_it() {
        use crate::domain::fault::seed;
        let secrets = Secrets::new(&["quiet-river-under-the-old-bridge".to_owned()]);
        let body = json!({ "title": "Add", "number": 7, "comments": [{ "body": "it is cXVpZXQtcml2ZXItdW5kZXItdGhlLW9sZC1icmlkZ2U=" }, null] });
        let sent = json!({ "title": "Add", "number": 7, "comments": [{ "body": INSTEAD }, null] });
        assert_eq!(without(&secrets, &body), sent);
        assert_eq!(without(&Secrets::default(), &body), body);
        let marked = Value::from("quiet-river-under-the-old-bridge\n\n<!-- fixpoint:1:status -->");
        assert_eq!(without(&secrets, &marked), format!("{INSTEAD}\n\n<!-- fixpoint:1:status -->"));
        seed(Some(Fault::WordsLetOut));
        assert_eq!(without(&secrets, &body), body, "the control");
        seed(None);
    }
}
