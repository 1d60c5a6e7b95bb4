//! The allow-list: what may be reached, and how.

use super::{Destination, DestinationError, GATEWAY, Reason};
use crate::domain::{Fault, seeded, text::meant};
use std::{fmt, str::FromStr};

/// The words that may follow a destination.
const WORDS: [&str; 3] = ["post", "private", "opaque"];

/// Entries of a list: more than that is no list that anybody has read.
const MOST: usize = 200;

/// One entry: `HOST:PORT[/PATH] [post] [private] [opaque]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Where to.
    pub to: Destination,
    /// Only paths that begin like this, whole segments; `None`: every path.
    pub path: Option<String>,
    /// POST too; else GET and HEAD alone.
    pub post: bool,
    /// Its address may be of a private network.
    pub private: bool,
    /// Its TLS is not opened: name and port are all that is checked.
    pub opaque: bool,
}

/// Why an entry cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{entry}\": {why}")]
pub struct RuleError {
    /// The entry.
    pub entry: String,
    /// What is wrong.
    pub why: String,
}

/// How a destination is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Its TLS ends at the host, which sees each request.
    Opened,
    /// Its bytes pass as they are.
    Opaque,
}

/// What may be reached; nothing unless it says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    rules: Vec<Rule>,
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(entry: &str) -> Result<Self, RuleError> {
        let bad = |why: String| RuleError { entry: entry.to_owned(), why };
        let mut words = entry.split_ascii_whitespace();
        let target = words.next().ok_or_else(|| bad("an entry like `mirror.example.com:443`".to_owned()))?;
        // A scheme's slashes are no path.
        let (to, path) = match target.find('/') {
            Some(at) if !target.contains("://") => (&target[..at], Some(&target[at..])),
            _ => (target, None),
        };
        let to: Destination = to.parse().map_err(|error: DestinationError| bad(error.to_string()))?;
        let path = path.filter(|path| *path != "/").map(str::to_owned);
        let mut rule = Self { to, path, post: false, private: false, opaque: false };
        for word in words {
            match word {
                "post" => rule.post = true,
                "private" => rule.private = true,
                "opaque" => rule.opaque = true,
                other => {
                    let hint = meant(other, &WORDS);
                    return Err(bad(format!("`{other}` is not one of post, private, opaque{hint}")));
                }
            }
        }
        rule.check().map_err(bad)?;
        Ok(rule)
    }
}

impl Rule {
    fn check(&self) -> Result<(), String> {
        if self.to.is_gateway() {
            return Err(format!("{GATEWAY} is the model gateway's own name"));
        }
        if self.opaque && (self.post || self.path.is_some()) {
            return Err("of an opaque destination neither path nor method can be seen".to_owned());
        }
        if self.opaque && self.to.address().is_some() {
            return Err("an opaque destination is known by its name alone, and this is an address".to_owned());
        }
        let path = self.path.as_deref().unwrap_or_default();
        let plain = |b: u8| b.is_ascii_graphic() && !b"%?#\\".contains(&b);
        if !path.bytes().all(plain) || is_climbing(path) {
            return Err(format!("`{path}` is not a plain path: no `..`, `%`, `?` or `#`"));
        }
        Ok(())
    }

    /// Whole segments: `/npm` is `/npm` and `/npm/…`, not `/npm-private`.
    fn covers(&self, path: &str) -> bool {
        let Some(prefix) = &self.path else { return true };
        let prefix = prefix.trim_end_matches('/');
        let rest = path.strip_prefix(prefix);
        !is_climbing(path) && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.to, self.path.as_deref().unwrap_or_default())?;
        let words = [(self.post, "post"), (self.private, "private"), (self.opaque, "opaque")];
        words.into_iter().filter(|(is, _)| *is).try_for_each(|(_, word)| write!(f, " {word}"))
    }
}

/// A path that a server might read as one outside of where it begins: `..`, however often it was encoded.
fn is_climbing(path: &str) -> bool {
    let (mut path, mut rounds) = (path.to_ascii_lowercase(), 0);
    while path.contains("%2") && rounds < 4 {
        path = path.replace("%25", "%").replace("%2e", ".").replace("%2f", "/");
        rounds += 1;
    }
    path.replace("%5c", "/").replace('\\', "/").split('/').any(|segment| {
        let name = segment.split([';', '?']).next().unwrap_or_default();
        name == ".."
    })
}

impl AllowList {
    /// Reads the entries.
    ///
    /// # Errors
    /// The first entry that cannot be used, or that contradicts another.
    pub fn parse(entries: &[impl AsRef<str>]) -> Result<Self, RuleError> {
        let mut rules: Vec<Rule> = Vec::new();
        for entry in entries {
            let rule: Rule = entry.as_ref().parse()?;
            let bad = |why: &str| RuleError { entry: entry.as_ref().to_owned(), why: why.to_owned() };
            if rules.len() == MOST {
                return Err(bad("the list is too long: at most 200 entries are read"));
            }
            if rules.iter().any(|other| other.to == rule.to && other.opaque != rule.opaque) {
                return Err(bad("another entry says the opposite: a destination is opaque or it is not"));
            }
            rules.push(rule);
        }
        Ok(Self { rules })
    }

    /// Nothing may be reached.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The entries.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What is left where only these destinations are wanted. It never becomes more.
    #[must_use]
    pub fn narrowed(&self, wanted: &[Destination]) -> Self {
        let rules = self.rules.iter().filter(|rule| wanted.contains(&rule.to)).cloned().collect();
        Self { rules }
    }

    /// These entries too.
    pub fn extend(&mut self, rules: impl IntoIterator<Item = Rule>) {
        self.rules.extend(rules);
    }

    /// What a pull request says of a sandbox with this list. Only what passes unseen is named: the rest may be machines that
    /// nobody outside knows of.
    pub fn words(&self) -> String {
        let mut destinations: Vec<&Destination> = self.rules.iter().map(|rule| &rule.to).collect();
        destinations.sort();
        destinations.dedup();
        let network = match destinations.len() {
            0 => return "no network, no credential".to_owned(),
            1 => "no network but 1 allowed destination".to_owned(),
            more => format!("no network but {more} allowed destinations"),
        };
        let opaque: Vec<String> = self.opaque().map(|to| format!("`{to}`")).collect();
        match opaque.is_empty() {
            true => format!("{network}, no credential"),
            false => format!("{network} (not looked into: {}), no credential", opaque.join(", ")),
        }
    }

    /// May it be connected to, and how?
    ///
    /// # Errors
    /// [`Reason::NotAllowed`].
    pub fn connect(&self, to: &Destination) -> Result<Manner, Reason> {
        match self.at(to).next() {
            None if seeded(Fault::EverythingAllowed) => Ok(Manner::Opened),
            None => Err(Reason::NotAllowed),
            Some(rule) if rule.opaque => Ok(Manner::Opaque),
            Some(_) => Ok(Manner::Opened),
        }
    }

    /// May this be asked of it? `path` as it will be sent.
    ///
    /// # Errors
    /// Why not.
    pub fn request(&self, to: &Destination, method: &str, path: &str) -> Result<(), Reason> {
        if seeded(Fault::EverythingAllowed) {
            return Ok(());
        }
        if self.connect(to)? == Manner::Opaque {
            // In clear text nothing says whose request it is.
            return Err(Reason::NotTls);
        }
        let mut covering = self.at(to).filter(|rule| rule.covers(path)).peekable();
        if covering.peek().is_none() {
            return Err(Reason::Path);
        }
        match method {
            "GET" | "HEAD" => Ok(()),
            "POST" if covering.any(|rule| rule.post) => Ok(()),
            _ => Err(Reason::Method),
        }
    }

    /// May its address be of a private network?
    pub fn is_private(&self, to: &Destination) -> bool {
        self.at(to).any(|rule| rule.private) || seeded(Fault::EverythingAllowed)
    }

    /// What passes unseen, for the pull request.
    pub fn opaque(&self) -> impl Iterator<Item = &Destination> {
        self.rules.iter().filter(|rule| rule.opaque).map(|rule| &rule.to)
    }

    fn at<'a>(&'a self, to: &'a Destination) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(move |rule| rule.to == *to)
    }
}
