//! Models over HTTP: one trait, the providers behind it.

mod anthropic;
pub mod gateway;
mod openai;
mod prices;
mod remote;
mod retry;
mod sort;
mod sse;

pub use prices::Prices;

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A model that can be asked.
#[async_trait::async_trait]
pub trait Model: Send + Sync {
    /// One reply to a conversation. Overload and rate limits are waited for within, a few times.
    async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, ModelError>;
    /// Its name, e.g. `claude-sonnet-4-5`.
    fn name(&self) -> &str;
    /// The host that is asked.
    fn host(&self) -> &str;
    /// What a usage costs, in millionths of a dollar; `None`: no price is known.
    fn price(&self, usage: &Usage) -> Option<u64>;
    /// Tokens of question and answer together that it can hold.
    fn context(&self) -> u64;
}

/// A conversation to be continued.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// The standing instructions.
    pub system: &'a str,
    /// What was said so far.
    pub messages: &'a [Message],
    /// What it may call.
    pub tools: &'a [Tool],
    /// Cap on the reply; a model that allows less is asked for less.
    pub max_tokens: u32,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// From us.
    User {
        /// What we say.
        text: String,
    },
    /// From the model, kept as it came so that it can be given back.
    Assistant {
        /// Its parts, in order.
        parts: Vec<Part>,
    },
    /// What a called tool gave.
    Tool {
        /// Which call.
        call: String,
        /// What it gave.
        text: String,
        /// It failed.
        error: bool,
    },
}

/// A part of a model's reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Text for us.
    Text {
        /// The text.
        text: String,
    },
    /// Its reasoning, with the provider's seal, given back unchanged.
    Thinking {
        /// The text.
        text: String,
        /// The provider's signature.
        signature: Option<String>,
    },
    /// A block of the provider's that only it can read (reasoning it has encrypted), given back unchanged.
    Sealed {
        /// The block as it came.
        block: serde_json::Value,
    },
    /// A tool it calls.
    Call {
        /// Its id.
        id: String,
        /// The tool's name.
        tool: String,
        /// Its arguments: an object, or the text as it came where that was no JSON.
        arguments: serde_json::Value,
    },
}

impl Message {
    /// A message from us.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }
}

/// A tool a model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: serde_json::Value,
}

/// A model's reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// What it used.
    pub usage: Usage,
    /// It was cut at the cap.
    pub cut: bool,
}

/// Tokens used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read, not from a cache.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Written into the provider's cache.
    pub cache_write: u64,
}

/// What a model can fail with, sorted by what can be done.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ModelError {
    /// The key is refused.
    #[error("the model refused its key: {0}")]
    Key(String),
    /// Quota or billing: it will not pass by waiting.
    #[error("the model's quota or billing refuses: {0}")]
    Quota(String),
    /// Still overloaded after waiting.
    #[error("the model is overloaded: {0}")]
    Overloaded(String),
    /// The conversation is too long for it.
    #[error("the conversation is too long for the model: {0}")]
    TooLong(String),
    /// It does not take the request.
    #[error("the model does not accept the request: {0}")]
    Invalid(String),
    /// The way to it is broken.
    #[error("the model cannot be reached: {0}")]
    Unreachable(String),
}

impl ModelError {
    fn words_mut(&mut self) -> &mut String {
        match self {
            Self::Key(text) | Self::Quota(text) | Self::Overloaded(text) => text,
            Self::TooLong(text) | Self::Invalid(text) | Self::Unreachable(text) => text,
        }
    }
}

/// Which wire a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions and whatever is compatible.
    OpenAi,
}

impl std::fmt::Display for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Anthropic => "Anthropic",
            Self::OpenAi => "OpenAI",
        })
    }
}

/// A model to be used.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// Which wire.
    pub wire: Wire,
    /// Where, e.g. `https://api.anthropic.com/v1/`.
    pub url: url::Url,
    /// Its name.
    pub name: String,
    /// The key; empty where a local server wants none.
    pub key: secrecy::SecretString,
    /// The longest wait for a reply to begin, waiting for an overloaded provider included, and the longest silence in it.
    pub patience: Duration,
    /// What it costs; `None`: as the table of well-known models has it.
    pub price: Option<Prices>,
    /// Tokens it can hold; `None`: as the table of well-known models has it.
    pub context: Option<u64>,
    /// Tokens of one reply it allows; `None`: as the table of well-known models has it.
    pub reply: Option<u32>,
}

impl ModelSettings {
    /// With a patience of five minutes (long enough for a minute-wise rate limit, short against a round), the rest as it is
    /// known.
    pub fn new(wire: Wire, url: url::Url, name: impl Into<String>, key: secrecy::SecretString) -> Self {
        Self {
            wire,
            url,
            name: name.into(),
            key,
            patience: Duration::from_secs(300),
            price: None,
            context: None,
            reply: None,
        }
    }
}

/// A model over HTTP. The client must not follow redirects to another host: `x-api-key` would go along.
///
/// # Errors
/// [`ModelError::Key`] when the key cannot be a header, [`ModelError::Invalid`] when the address cannot be one.
pub fn model(settings: ModelSettings, http: reqwest::Client) -> Result<Box<dyn Model>, ModelError> {
    Ok(Box::new(remote::Remote::new(settings, http)?))
}

#[cfg(test)]
pub(crate) mod stub;
#[cfg(test)]
mod tests;
