//! Whether a job's `if` lets it run: told only where what it asks for is certain (branch, base, event).
//!
//! Source: "Evaluate expressions in workflows and actions". Three answers: a deployment that is only for `main` is the most
//! frequent condition there is, and a list that names it each time would soon be read by nobody.

use super::Place;

/// Longest condition that is read, in bytes.
const LONGEST: usize = 2_000;

/// Brackets within brackets; people stop at three.
const DEEPEST: usize = 20;

/// What an expression comes to.
#[derive(Clone, Debug, PartialEq)]
enum Known {
    Text(String),
    Bool(bool),
    Nothing,
}

/// Does GitHub skip a job with this condition for certain?
pub(super) fn is_never(condition: &str, event: &str, place: &Place<'_>) -> bool {
    let bare = condition.trim();
    let bare = match bare.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")) {
        Some(inner) => inner,
        // Text around an expression makes it a text, which is true.
        None if bare.contains("${{") => return false,
        None => bare,
    };
    if bare.len() > LONGEST {
        return false;
    }
    let Some(tokens) = tokens(bare) else { return false };
    let mut reader = Reader { tokens: &tokens, at: 0, depth: 0, event, place };
    let told = reader.or();
    reader.at == tokens.len() && matches!(told, Read::Known(Some(value)) if !is_true(&value))
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(String),
    /// A name with dots, or a number.
    Word(String),
    Sign(&'static str),
}

const SIGNS: [&str; 12] = ["==", "!=", "&&", "||", "<=", ">=", "<", ">", "!", "(", ")", ","];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let length = if c == '\'' {
            let (text, length) = quoted(rest)?;
            tokens.push(Token::Text(text));
            length
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            tokens.push(Token::Sign(sign));
            sign.len()
        } else {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '*' | '[' | ']');
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            if length == 0 {
                return None;
            }
            tokens.push(Token::Word(rest[..length].to_ascii_lowercase()));
            length
        };
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

/// A text in quotes, where two of them stand for one; and how long it is with them.
fn quoted(rest: &str) -> Option<(String, usize)> {
    let mut end = 1;
    loop {
        end += rest[end..].find('\'')? + 1;
        if !rest[end..].starts_with('\'') {
            return Some((rest[1..end - 1].replace("''", "'"), end));
        }
        end += 1;
    }
}

/// A part of an expression: a value, one that is not known, or nothing that can be read.
enum Read {
    Known(Option<Known>),
    Broken,
}

const UNKNOWN: Read = Read::Known(None);

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    event: &'a str,
    place: &'a Place<'a>,
}

impl Reader<'_> {
    fn next_is(&mut self, sign: &str) -> bool {
        let is = matches!(self.tokens.get(self.at), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(is);
        is
    }

    fn or(&mut self) -> Read {
        let mut left = self.and();
        while self.next_is("||") {
            let right = self.and();
            left = joined(left, right, true);
        }
        left
    }

    fn and(&mut self) -> Read {
        let mut left = self.comparison();
        while self.next_is("&&") {
            let right = self.comparison();
            left = joined(left, right, false);
        }
        left
    }

    fn comparison(&mut self) -> Read {
        let left = self.negation();
        for sign in ["==", "!="] {
            if self.next_is(sign) {
                let right = self.negation();
                return compared(left, right, sign == "==");
            }
        }
        if ["<=", ">=", "<", ">"].into_iter().any(|sign| self.next_is(sign)) {
            let right = self.negation();
            return if matches!((left, right), (Read::Known(_), Read::Known(_))) {
                UNKNOWN
            } else {
                Read::Broken
            };
        }
        left
    }

    fn negation(&mut self) -> Read {
        if !self.next_is("!") {
            return self.value();
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Read::Broken;
        }
        match self.negation() {
            Read::Known(Some(value)) => Read::Known(Some(Known::Bool(!is_true(&value)))),
            other => other,
        }
    }

    fn value(&mut self) -> Read {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        match token {
            Some(Token::Text(text)) => Read::Known(Some(Known::Text(text))),
            Some(Token::Word(word)) if self.next_is("(") => self.call(&word),
            Some(Token::Word(word)) => Read::Known(self.named(&word)),
            Some(Token::Sign("(")) => self.bracket(),
            _ => Read::Broken,
        }
    }

    fn bracket(&mut self) -> Read {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Read::Broken;
        }
        let inner = self.or();
        if self.next_is(")") { inner } else { Read::Broken }
    }

    fn call(&mut self, name: &str) -> Read {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Read::Broken;
        }
        let mut given = Vec::new();
        while !self.next_is(")") {
            match self.or() {
                Read::Known(value) => given.push(value),
                Read::Broken => return Read::Broken,
            }
            if !self.next_is(",") && !matches!(self.tokens.get(self.at), Some(Token::Sign(")"))) {
                return Read::Broken;
            }
        }
        let told = match (name, given.as_slice()) {
            ("always", []) => Some(true),
            ("startswith", [Some(Known::Text(all)), Some(Known::Text(part))]) => {
                Some(all.to_lowercase().starts_with(&part.to_lowercase()))
            }
            ("endswith", [Some(Known::Text(all)), Some(Known::Text(part))]) => {
                Some(all.to_lowercase().ends_with(&part.to_lowercase()))
            }
            ("contains", [Some(Known::Text(all)), Some(Known::Text(part))]) => {
                Some(all.to_lowercase().contains(&part.to_lowercase()))
            }
            _ => None,
        };
        Read::Known(told.map(Known::Bool))
    }

    /// What is certain of a push to our branch, and of its pull request.
    fn named(&self, word: &str) -> Option<Known> {
        let text = |text: &str| Some(Known::Text(text.to_owned()));
        let of_pull = self.event.starts_with("pull_request");
        match (word, self.event) {
            ("true", _) => Some(Known::Bool(true)),
            ("false", _) => Some(Known::Bool(false)),
            ("null", _) => Some(Known::Nothing),
            ("github.event_name", event) if event != "unknown" => text(event),
            ("github.ref", "push" | "create") => text(&format!("refs/heads/{}", self.place.branch)),
            ("github.ref_name", "push" | "create") => text(self.place.branch),
            ("github.ref_type", "push" | "create") => text("branch"),
            ("github.base_ref" | "github.head_ref", "push" | "create") => text(""),
            // Its number is not known; which one it is nobody asks.
            ("github.ref", "pull_request") => text("refs/pull/0/merge"),
            ("github.base_ref" | "github.event.pull_request.base.ref", _) if of_pull => text(self.place.base),
            ("github.head_ref" | "github.event.pull_request.head.ref", _) if of_pull => {
                text(self.place.branch)
            }
            ("github.event.pull_request.head.repo.fork", _) if of_pull => Some(Known::Bool(false)),
            ("github.event.workflow_run.head_branch", "workflow_run") => text(self.place.branch),
            _ => None,
        }
    }
}

/// Both, or either, the unknown included: what decides alone does so beside something unknown.
fn joined(left: Read, right: Read, either: bool) -> Read {
    let (Read::Known(left), Read::Known(right)) = (left, right) else { return Read::Broken };
    let decides = |value: &Option<Known>| value.as_ref().is_some_and(|value| is_true(value) == either);
    Read::Known(match (left, right) {
        (left, _) if decides(&left) => left,
        (_, right) if decides(&right) => right.filter(|_| !either).map(|_| Known::Bool(false)),
        (Some(_), Some(right)) => Some(right),
        _ => None,
    })
}

fn compared(left: Read, right: Read, equal: bool) -> Read {
    let (Read::Known(left), Read::Known(right)) = (left, right) else { return Read::Broken };
    let same = match (left, right) {
        (Some(Known::Text(left)), Some(Known::Text(right))) => {
            let of_pull = |text: &str| text.starts_with("refs/pull/");
            if of_pull(&left) && of_pull(&right) {
                None
            } else {
                Some(left.to_lowercase() == right.to_lowercase())
            }
        }
        (Some(Known::Bool(left)), Some(Known::Bool(right))) => Some(left == right),
        // Of different kinds they are made numbers first: left to GitHub.
        _ => None,
    };
    Read::Known(same.map(|same| Known::Bool(same == equal)))
}

fn is_true(value: &Known) -> bool {
    match value {
        Known::Text(text) => !text.is_empty(),
        Known::Bool(is) => *is,
        Known::Nothing => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLACE: Place<'_> = Place { branch: "fixpoint/7-sum", base: "main", paths: None };

    #[test]
    fn only_what_is_certain_is_never() {
        let never = [
            ("github.ref == 'refs/heads/main'", "push"),
            ("${{ github.ref == 'refs/heads/main' && secrets.X != '' }}", "push"),
            ("success() && github.ref_name == 'main'", "push"),
            ("github.event_name == 'push'", "pull_request"),
            ("github.event_name != 'pull_request'", "pull_request"),
            ("startsWith(github.ref, 'refs/tags/')", "push"),
            ("!startsWith(github.head_ref, 'fixpoint/')", "pull_request"),
            ("github.event.pull_request.head.repo.fork", "pull_request"),
            ("github.event.pull_request.head.repo.fork == true", "pull_request"),
            ("github.ref == 'refs/heads/main' || startsWith(github.ref, 'refs/tags/v')", "pull_request"),
            ("false", "push"),
            ("(github.ref == 'refs/heads/main') || (github.event_name == 'schedule')", "push"),
        ];
        for (condition, event) in never {
            assert!(is_never(condition, event, &PLACE), "{condition}");
        }
        let perhaps = [
            ("github.ref != 'refs/heads/main'", "push"),
            ("github.actor != 'dependabot[bot]'", "push"),
            ("always()", "push"),
            ("failure()", "push"),
            ("vars.DEPLOY == 'yes'", "push"),
            ("github.ref == 'refs/heads/main' || vars.X", "push"),
            ("github.ref == 'refs/pull/7/merge'", "pull_request"),
            ("github.event_name == 'push' || github.event_name == 'pull_request'", "pull_request"),
            ("contains(github.event.pull_request.labels.*.name, 'safe')", "pull_request"),
            ("${{ github.ref == 'refs/heads/main' }} and more", "push"),
            ("github.ref == 'refs/heads/main", "push"),
            ("github.base_ref == 'main'", "pull_request"),
            ("github.ref_name == 'main' ||", "push"),
            ("(github.ref_name == 'main'", "push"),
            ("'0' == 0", "push"),
            ("", "push"),
        ];
        for (condition, event) in perhaps {
            assert!(!is_never(condition, event, &PLACE), "{condition}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_condition_is_read(condition in "[a-z.'()!=&|, <>é$\\{\\}]{0,60}") {
            is_never(&condition, "push", &PLACE);
        }
    }
}
