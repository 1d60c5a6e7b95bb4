//! A small reader of GraphQL documents: operations, selections, arguments, variables, fragments.
//!
//! Directives are not read, and a document has one operation.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One selected field with its arguments, variables put in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) alias: String,
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) selection: Vec<Selected>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Selected {
    Field(Field),
    /// `... on Type { … }`; without a type: `None`.
    Inline(Option<String>, Vec<Selected>),
    Spread(String),
}

#[derive(Debug)]
pub(super) struct Document {
    pub(super) mutation: bool,
    pub(super) selection: Vec<Selected>,
    pub(super) fragments: BTreeMap<String, (String, Vec<Selected>)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(String),
    Sign(char),
    Dots,
}

/// Reads a document.
pub(super) fn parse(text: &str, variables: &Value) -> Result<Document, String> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, variables, defaults: Map::new() };
    let mut document = Document { mutation: false, selection: Vec::new(), fragments: BTreeMap::new() };
    while parser.at < parser.tokens.len() {
        if parser.peek_name("fragment") {
            parser.at += 1;
            let name = parser.name()?;
            parser.keyword("on")?;
            let on = parser.name()?;
            document.fragments.insert(name, (on, parser.selection()?));
            continue;
        }
        if let Some(Token::Name(kind)) = parser.tokens.get(parser.at) {
            document.mutation = kind == "mutation";
            parser.at += 1;
            if matches!(parser.tokens.get(parser.at), Some(Token::Name(_))) {
                parser.at += 1;
            }
            parser.declarations()?;
        }
        document.selection = parser.selection()?;
    }
    Ok(document)
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        if sign.is_whitespace() || sign == ',' || sign == '\u{feff}' {
            rest = &rest[sign.len_utf8()..];
        } else if sign == '#' {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(after) = rest.strip_prefix("...") {
            found.push(Token::Dots);
            rest = after;
        } else if sign == '"' {
            let (text, after) = string(rest)?;
            found.push(Token::Text(text));
            rest = after;
        } else if sign.is_alphanumeric() || sign == '_' || sign == '-' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).unwrap_or(rest.len());
            let word = rest[..end].to_owned();
            found.push(if sign.is_ascii_digit() || sign == '-' {
                Token::Number(word)
            } else {
                Token::Name(word)
            });
            rest = &rest[end..];
        } else {
            found.push(Token::Sign(sign));
            rest = &rest[sign.len_utf8()..];
        }
    }
    Ok(found)
}

/// A quoted string: its escapes are JSON's.
fn string(text: &str) -> Result<(String, &str), String> {
    if let Some(block) = text.strip_prefix("\"\"\"") {
        let (inside, after) = block.split_once("\"\"\"").ok_or("a block string does not end")?;
        return Ok((inside.trim().into(), after));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let value = values.next().and_then(Result::ok).ok_or("a string does not end")?;
    let end = values.byte_offset();
    Ok((value, &text[end..]))
}

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    variables: &'a Value,
    defaults: Map<String, Value>,
}

impl Parser<'_> {
    fn peek_name(&self, name: &str) -> bool {
        matches!(self.tokens.get(self.at), Some(Token::Name(there)) if there == name)
    }

    fn take(&mut self, sign: char) -> bool {
        let there = self.tokens.get(self.at) == Some(&Token::Sign(sign));
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        if self.take(sign) {
            Ok(())
        } else {
            Err(format!("expected `{sign}`, found {:?}", self.tokens.get(self.at)))
        }
    }

    fn keyword(&mut self, word: &str) -> Result<(), String> {
        if self.name()? == word { Ok(()) } else { Err(format!("expected `{word}`")) }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.tokens.get(self.at) {
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(name.clone())
            }
            other => Err(format!("expected a name, found {other:?}")),
        }
    }

    /// `($id: ID!, $n: Int = 3)`: only the defaults matter here.
    fn declarations(&mut self) -> Result<(), String> {
        if !self.take('(') {
            return Ok(());
        }
        while !self.take(')') {
            self.expect('$')?;
            let name = self.name()?;
            self.expect(':')?;
            while matches!(self.tokens.get(self.at), Some(Token::Name(_) | Token::Sign('[' | ']' | '!'))) {
                self.at += 1;
            }
            if self.take('=') {
                let value = self.value()?;
                self.defaults.insert(name, value);
            }
        }
        Ok(())
    }

    fn selection(&mut self) -> Result<Vec<Selected>, String> {
        let mut selected = Vec::new();
        self.expect('{')?;
        while !self.take('}') {
            selected.push(self.selected()?);
        }
        Ok(selected)
    }

    fn selected(&mut self) -> Result<Selected, String> {
        if self.tokens.get(self.at) == Some(&Token::Dots) {
            self.at += 1;
            if self.peek_name("on") {
                self.at += 1;
                return Ok(Selected::Inline(Some(self.name()?), self.selection()?));
            }
            return match self.tokens.get(self.at) {
                Some(Token::Name(_)) => Ok(Selected::Spread(self.name()?)),
                _ => Ok(Selected::Inline(None, self.selection()?)),
            };
        }
        let alias = self.name()?;
        let name = if self.take(':') { self.name()? } else { alias.clone() };
        let mut arguments = Map::new();
        if self.take('(') {
            while !self.take(')') {
                let name = self.name()?;
                self.expect(':')?;
                arguments.insert(name, self.value()?);
            }
        }
        let nested = self.tokens.get(self.at) == Some(&Token::Sign('{'));
        let selection = if nested { self.selection()? } else { Vec::new() };
        Ok(Selected::Field(Field { alias, name, arguments, selection }))
    }

    fn value(&mut self) -> Result<Value, String> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        match token {
            Some(Token::Text(text)) => Ok(text.into()),
            Some(Token::Number(number)) => {
                serde_json::from_str(&number).map_err(|_| format!("{number} is no number"))
            }
            Some(Token::Name(word)) => Ok(match word.as_str() {
                "true" => true.into(),
                "false" => false.into(),
                "null" => Value::Null,
                _ => word.into(),
            }),
            Some(Token::Sign('$')) => {
                let name = self.name()?;
                Ok(self.variables.get(&name).or(self.defaults.get(&name)).cloned().unwrap_or(Value::Null))
            }
            Some(Token::Sign('[')) => {
                let mut items = Vec::new();
                while !self.take(']') {
                    items.push(self.value()?);
                }
                Ok(Value::Array(items))
            }
            Some(Token::Sign('{')) => {
                let mut fields = Map::new();
                while !self.take('}') {
                    let name = self.name()?;
                    self.expect(':')?;
                    fields.insert(name, self.value()?);
                }
                Ok(Value::Object(fields))
            }
            other => Err(format!("expected a value, found {other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn aliases_variables_fragments_and_nested_input_are_read() {
        let text = r#"
            mutation Ready($id: ID!, $n: Int = 3) { # comment
              done: markReady(input: {pullRequestId: $id, tries: $n, note: "a \"b\""}) { pullRequest { ...P ... on Node { id } } }
            }
            fragment P on PullRequest { isDraft }"#;
        let document = parse(text, &json!({ "id": "PR_1" })).unwrap();
        assert!(document.mutation && document.fragments.contains_key("P"));
        let Selected::Field(field) = &document.selection[0] else { panic!("a field") };
        assert_eq!((field.alias.as_str(), field.name.as_str()), ("done", "markReady"));
        let input = json!({ "pullRequestId": "PR_1", "tries": 3, "note": "a \"b\"" });
        assert_eq!(field.arguments["input"], input);
    }

    #[test]
    fn a_broken_document_is_an_error_not_a_hang() {
        for text in ["{", "query { a(", "{ a: }", "mutation X($a) { b }", "\""] {
            assert!(parse(text, &Value::Null).is_err(), "{text}");
        }
    }
}
