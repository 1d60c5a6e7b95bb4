//! Which secrets an expression takes. Source: "Evaluate expressions in workflows and actions".

use super::{EVERY_SECRET, NAME};
use crate::domain::text::{self, pattern::pattern};
use std::collections::BTreeSet;

/// The job's own token: what it may do is told by its permissions.
const TOKEN: &str = "GITHUB_TOKEN";

/// Adds the secrets that a text takes. Under `if` the whole text is an expression, else what stands in `${{ }}`.
pub(super) fn taken(key: &str, text: &str, into: &mut BTreeSet<String>) {
    if key == "if" {
        in_expression(text, into);
        return;
    }
    let mut rest = text;
    while let Some(start) = rest.find("${{") {
        rest = &rest[start + 3..];
        let end = end(rest);
        in_expression(&rest[..end], into);
        rest = &rest[end..];
    }
}

/// Where an expression ends: at `}}` outside of quotes, or with the text.
fn end(text: &str) -> usize {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '}' if !quoted && text[at..].starts_with("}}") => return at,
            _ => {}
        }
    }
    text.len()
}

fn in_expression(expression: &str, into: &mut BTreeSet<String>) {
    let mention = pattern!(
        r"(?i)(?P<before>[.\w-])?\bsecrets\b\s*(?:\.\s*(?P<name>[A-Za-z_][\w-]*)|\[\s*'(?P<key>(?:[^']|'')*)'\s*\])?"
    );
    let quotes = pattern!(r"\[\s*'(?:[^']|'')*'\s*\]|'(?:[^']|'')*'");
    // A text in quotes takes nothing, but for a name in brackets.
    let bare =
        quotes.replace_all(expression, |found: &regex::Captures<'_>| match found[0].starts_with('[') {
            true => found[0].to_owned(),
            false => "''".to_owned(),
        });
    for found in mention.captures_iter(&bare).filter(|found| found.name("before").is_none()) {
        match found.name("name").or(found.name("key")) {
            Some(name) if name.as_str().eq_ignore_ascii_case(TOKEN) => {}
            Some(name) => drop(into.insert(text::shorten(&name.as_str().to_uppercase(), NAME))),
            None => drop(into.insert(EVERY_SECRET.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_take_a_secret_is_seen() {
        let cases: [(&str, &str, &[&str]); 16] = [
            ("env", "${{ secrets.DEPLOY }}", &["DEPLOY"]),
            ("run", "echo ${{secrets.A}} ${{ secrets.B }}", &["A", "B"]),
            ("env", "${{ secrets['X_1'] }}", &["X_1"]),
            ("env", "${{ secrets[ 'x' ] }}", &["X"]),
            ("env", "${{ SECRETS.deploy }}", &["DEPLOY"]),
            ("env", "${{ toJSON(secrets) }}", &["*"]),
            ("env", "${{ secrets[matrix.key] }}", &["*"]),
            ("env", "${{ secrets[format('A_{0}', inputs.x)] }}", &["*"]),
            ("env", "${{ secrets.* }}", &["*"]),
            ("env", "${{ github.token || secrets.PAT }}", &["PAT"]),
            ("env", "${{ format('}} {0}', secrets.IN) }}", &["IN"]),
            ("if", "secrets.A != ''", &["A"]),
            ("env", "${{ secrets.GITHUB_TOKEN }}", &[]),
            ("run", "echo secrets.NO $secrets", &[]),
            ("env", "${{ 'secrets.NO' }} ${{ env.secrets }} ${{ inputs.secrets.x }}", &[]),
            ("env", "${{ secrets.OPEN", &["OPEN"]),
        ];
        for (key, text, expected) in cases {
            let mut found = BTreeSet::new();
            taken(key, text, &mut found);
            assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
