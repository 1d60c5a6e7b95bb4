//! The settings, each declared once. Their comments are what an editor shows beside them: the schema is made of these types.

use super::{
    dependencies::DependencySettings,
    service_words::{Line, Word},
    services::{MOST_COMMANDS, MOST_SERVICES, ServiceSettings},
    words::{self, Glob, Instructions, Login, Money, Name, Rounds, Title},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de, de::value::MapAccessDeserializer};
use std::{collections::BTreeMap, fmt};

/// Settings of fixpoint for one repository. They are read from the default branch, and can only narrow what the operator allows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a group of settings")]
#[schemars(title = ".github/fixpoint.yml")]
pub struct RepoConfig {
    /// The off switch: with `false` nothing is begun in this repository. Default: true.
    pub enabled: Option<bool>,
    /// The model, one of those the operator allows. Default: the operator's.
    pub model: Option<Name>,
    /// The models that `--model` may choose, of those the operator allows. Default: all of these.
    #[serde(deserialize_with = "words::list")]
    #[schemars(length(max = 100))]
    pub models: Option<Vec<Name>>,
    /// The sandbox's image, one of those the operator allows. Default: the operator's.
    pub image: Option<Name>,
    /// Services that run beside the sandbox and are reached on 127.0.0.1, by their names. Default: none.
    #[serde(deserialize_with = "services")]
    #[schemars(extend("maxProperties" = MOST_SERVICES))]
    pub services: Option<BTreeMap<Word, ServiceSettings>>,
    /// What the tests need installed: kept until one of the files that decide it changes. Default: nothing.
    pub dependencies: Option<DependencySettings>,
    /// Commands for `sh` that are run in the checked-out repository before the agent begins. Default: none.
    #[serde(deserialize_with = "commands")]
    #[schemars(length(max = MOST_COMMANDS))]
    pub setup: Option<Vec<Line>>,
    /// What the sandbox may reach, `HOST:PORT` each, of what the operator allows. Default: all of that; `[]`: nothing.
    #[serde(deserialize_with = "words::list")]
    #[schemars(length(max = 100))]
    pub egress: Option<Vec<Name>>,
    /// Rounds a request, the first included, at most the operator's. Default: the operator's (3).
    pub rounds: Option<Rounds>,
    /// What may be spent here.
    pub budget: Option<BudgetSettings>,
    /// Which checks count, and what a red one leads to.
    pub checks: Option<CheckSettings>,
    /// Mending red checks on other people's pull requests, and on other bots', without being asked each time. Default: off.
    pub autofix: Option<AutofixSettings>,
    /// The names of labels.
    pub labels: Option<LabelSettings>,
    /// Which files the agent's change may touch.
    pub paths: Option<PathSettings>,
    /// With `true` a change may touch `.github/**`, where the App has the permission for it; this file never. Default: false.
    pub workflows: Option<bool>,
    /// Whether a person sees a change before it is pushed. Default: auto.
    pub publish: Option<Publish>,
    /// Whose approval a pull request of fixpoint's needs before its check `fixpoint/second-person` passes. Default: off.
    pub second_person: Option<SecondPerson>,
    /// How a conflict with the base is mended. Default: merge.
    pub update: Option<Update>,
    /// With `true` commits carry a `Signed-off-by` line of whoever asked. Default: false.
    pub sign_off: Option<bool>,
    /// The pull request's title, e.g. `fix: {summary} (#{issue})`. Default: `{summary}`.
    pub title: Option<Title>,
    /// Text for the agent, besides AGENTS.md.
    pub instructions: Option<Instructions>,
    #[serde(skip)]
    pub(super) places: super::Places,
}

fn services<'de, D, T>(from: D) -> Result<Option<BTreeMap<Word, T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    words::at_most(Option::deserialize(from)?, MOST_SERVICES, BTreeMap::len)
}

fn commands<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Line>>, D::Error> {
    words::at_most(Option::deserialize(from)?, MOST_COMMANDS, Vec::len)
}

/// What may be spent here: at most what the operator allows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a group of settings")]
#[schemars(inline)]
pub struct BudgetSettings {
    /// Money a request, e.g. `$2.50`.
    pub request: Option<Money>,
    /// Money a day (UTC) in this repository.
    pub day: Option<Money>,
}

/// Which checks count, and what a red one leads to.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a group of settings")]
#[schemars(inline)]
pub struct CheckSettings {
    /// Checks that do not count, by name or pattern (`*` also spans `/`).
    #[serde(deserialize_with = "words::list")]
    #[schemars(length(max = 100))]
    pub ignore: Option<Vec<Name>>,
    /// Checks that must be there and pass, besides those GitHub requires.
    #[serde(deserialize_with = "words::list")]
    #[schemars(length(max = 100))]
    pub require: Option<Vec<Name>>,
    /// When a red check is run again before a round is spent on it. Default: evidence.
    pub rerun: Option<Rerun>,
}

/// When a red check is run again before a round is spent on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Rerun {
    /// Where something speaks for a flake or a lost machine.
    #[default]
    Evidence,
    /// Always once, within the operator's bounds.
    First,
}

/// Mending red checks without being asked: on people's pull requests, and by a switch of its own on other bots'.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
#[schemars(inline, with = "WrittenAutofix")]
pub struct AutofixSettings {
    /// On people's pull requests.
    pub people: Option<People>,
    /// On pull requests of these bots.
    pub bots: Option<Vec<Login>>,
}

/// On which people's pull requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum People {
    /// On none.
    #[default]
    Off,
    /// Where somebody with write access set the start label.
    Label,
    /// On those of people with write access.
    Writers,
}

/// The two ways `autofix` is written: a word for people's alone, or a group.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[allow(dead_code, reason = "only its schema is used")]
enum WrittenAutofix {
    People(People),
    Group(AutofixGroup),
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a group of settings")]
#[schemars(inline)]
struct AutofixGroup {
    /// On people's pull requests: never, where the start label stands, or on those of people with write access. Default: off.
    people: Option<People>,
    /// On pull requests of these bots, e.g. `"renovate[bot]"`. Default: none.
    #[serde(deserialize_with = "words::list")]
    #[schemars(length(max = 100))]
    bots: Option<Vec<Login>>,
}

impl<'de> Deserialize<'de> for AutofixSettings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AutofixVisitor)
    }
}

struct AutofixVisitor;

impl<'de> de::Visitor<'de> for AutofixVisitor {
    type Value = AutofixSettings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"off\", \"label\", \"writers\" or a group of settings")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<AutofixSettings, E> {
        let people = People::deserialize(de::value::StrDeserializer::<E>::new(word))?;
        Ok(AutofixSettings { people: Some(people), bots: None })
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<AutofixSettings, A::Error> {
        let AutofixGroup { people, bots } = AutofixGroup::deserialize(MapAccessDeserializer::new(map))?;
        Ok(AutofixSettings { people, bots })
    }
}

/// The names of labels.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a group of settings")]
#[schemars(inline)]
pub struct LabelSettings {
    /// Set on an issue it starts a session; on a pull request it allows `autofix: label`. Default: fixpoint.
    pub start: Option<Name>,
    /// Set by fixpoint where a person is needed. Default: needs-human.
    pub needs_human: Option<Name>,
    /// Where it stands, nothing begins by itself. Default: no-fixpoint.
    pub opt_out: Option<Name>,
}

/// Which files the agent's change may touch: both lists only narrow what the operator allows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a group of settings")]
#[schemars(inline)]
pub struct PathSettings {
    /// Nothing but these. Default: everything.
    #[serde(deserialize_with = "words::list")]
    #[schemars(length(max = 100))]
    pub allow: Option<Vec<Glob>>,
    /// Never these, also where `allow` names them.
    #[serde(deserialize_with = "words::list")]
    #[schemars(length(max = 100))]
    pub deny: Option<Vec<Glob>>,
}

/// Whether a person sees a change before it is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Publish {
    /// Where the operator wants it.
    Auto,
    /// Always.
    Ask,
}

/// Whose approval of its head a pull request of ours needs before its check `fixpoint/second-person` passes: whoever asks
/// for a change can otherwise approve it as well, for GitHub takes the App for its author.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum SecondPerson {
    /// Nobody's: GitHub's own rules decide alone.
    #[default]
    Off,
    /// That of somebody with write access who asked for nothing in it.
    OtherThanAsker,
    /// Those of two people with write access, of whom one may have asked for it.
    Two,
}

/// How a conflict with the base is mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Update {
    /// By a merge of the base: nothing that was pushed is ever replaced.
    #[default]
    Merge,
    /// By moving our commits onto the base, on our own branches only.
    Rebase,
}
