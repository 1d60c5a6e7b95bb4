//! A model behind HTTP: one question, as many attempts as make sense.

use super::{
    Ask, Model, ModelError, ModelSettings, Part, Prices, Reply, Usage, Wire, anthropic, openai,
    prices::{UNKNOWN_CONTEXT, UNKNOWN_REPLY, known},
    retry::Attempts,
    sort::{Failure, refused, words},
    sse::Events,
};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::{collections::HashSet, time::Duration};
use url::Url;

/// The longest time for one reply from its first to its last byte: past this something only drips.
pub(super) const REPLY: Duration = Duration::from_secs(20 * 60);
/// Bytes read of a refusal: a sentence and what is around it.
const REFUSAL: usize = 64 << 10;
/// Bytes of a token where the provider does not count them, on the low side so that budgets end early rather than late.
pub(super) const BYTES_A_TOKEN: u64 = 3;

/// A model behind HTTP.
#[derive(Clone)]
pub(super) struct Remote {
    pub(super) http: reqwest::Client,
    wire: Wire,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) host: String,
    pub(super) name: String,
    key: SecretString,
    pub(super) patience: Duration,
    pub(super) prices: Option<Prices>,
    context: u64,
    reply: u32,
}

/// What a wire's stream came to.
pub(super) struct Said {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Option<Usage>,
    pub(super) cut: bool,
    /// The provider's filter ended it.
    pub(super) filtered: bool,
}

impl Remote {
    pub(super) fn new(settings: ModelSettings, http: reqwest::Client) -> Result<Self, ModelError> {
        let ModelSettings { wire, url, name, key, patience, price, context, reply } = settings;
        let headers = headers(wire, &key)?;
        let url = endpoint(wire, url)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let known = known(&name);
        let prices = price.or(known.map(|known| known.prices));
        let context = context.or(known.map(|known| known.context)).unwrap_or(UNKNOWN_CONTEXT);
        let reply = reply.or(known.map(|known| known.reply)).unwrap_or(UNKNOWN_REPLY);
        Ok(Self { http, wire, url, headers, host, name, key, patience, prices, context, reply })
    }

    /// One attempt.
    async fn attempt(&self, ask: &Ask<'_>, thinking: bool, silence: Duration) -> Result<Reply, Failure> {
        let max_tokens = ask.max_tokens.min(self.reply);
        let body = match self.wire {
            Wire::Anthropic => anthropic::body(ask, &self.name, max_tokens, thinking),
            Wire::OpenAi => openai::body(ask, &self.name, max_tokens, thinking),
        };
        let sent = self.http.post(self.url.clone()).headers(self.headers.clone()).json(&body).send();
        let response = match tokio::time::timeout(silence, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(Failure::Lost(innermost(&error))),
            Err(_) => return Err(Failure::Lost(format!("no answer within {} s", silence.as_secs()))),
        };
        if !response.status().is_success() {
            return Err(refusal(response, silence).await);
        }
        let mut events = Events::new(response, silence);
        let said = match self.wire {
            Wire::Anthropic => self.read_anthropic(&mut events).await?,
            Wire::OpenAi => self.read_openai(&mut events).await?,
        };
        reply(said, ask)
    }

    async fn read_anthropic(&self, events: &mut Events) -> Result<Said, Failure> {
        let (mut stream, mut begun) = (anthropic::Stream::default(), false);
        while let Some(data) = events.next().await? {
            begun = true;
            if stream.take(&json(&data)?)? {
                break;
            }
        }
        stream.said().ok_or_else(|| self.incomplete(events, begun))
    }

    async fn read_openai(&self, events: &mut Events) -> Result<Said, Failure> {
        let (mut stream, mut begun) = (openai::Stream::default(), false);
        while let Some(data) = events.next().await? {
            if data.trim() == "[DONE]" {
                break;
            }
            begun = true;
            stream.take(&json(&data)?)?;
        }
        stream.said().ok_or_else(|| self.incomplete(events, begun))
    }

    pub(super) fn incomplete(&self, events: &Events, begun: bool) -> Failure {
        let Self { host, wire, .. } = self;
        if begun {
            return Failure::Lost("its answer ended before its end".to_owned());
        }
        let came = match events.other() {
            "" => "nothing".to_owned(),
            other => format!("{:?}", words(other)),
        };
        Failure::Nonsense(format!(
            "{host} answers {came} where a stream of the {wire} wire was asked for; is its address right?"
        ))
    }

    /// Is the key part of a text?
    pub(super) fn is_told(&self, text: &str) -> bool {
        let key = self.key.expose_secret();
        !key.is_empty() && text.contains(key)
    }

    /// A provider may repeat the key it was given; nothing that people read may.
    pub(super) fn without_key(&self, mut failure: Failure) -> Failure {
        let key = self.key.expose_secret();
        if !key.is_empty() {
            let words = failure.words_mut();
            *words = words.replace(key, "[key]");
        }
        failure
    }
}

#[async_trait::async_trait]
impl Model for Remote {
    async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, ModelError> {
        let mut attempts = Attempts::new(self.patience);
        let mut thinking = true;
        loop {
            let silence = attempts.left().max(self.patience / 4);
            let failure = match tokio::time::timeout(REPLY, self.attempt(ask, thinking, silence)).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(failure)) => self.without_key(failure),
                Err(_) => {
                    Failure::Lost(format!("no reply was complete within {} minutes", REPLY.as_secs() / 60))
                }
            };
            tracing::debug!(model = %self.name, host = %self.host, ?failure, "the model was asked in vain");
            if thinking && failure.is_about_thinking() {
                // Signed for another model or account, since the settings were changed; a conversation can go on without.
                thinking = false;
                continue;
            }
            let wait = attempts.next(failure)?;
            tokio::time::sleep(wait).await;
        }
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn host(&self) -> &str {
        &self.host
    }
    fn price(&self, usage: &Usage) -> Option<u64> {
        self.prices.map(|prices| prices.of(usage))
    }
    fn context(&self) -> u64 {
        self.context
    }
}

/// The address that is asked: the wire's path behind the base's, its query kept (some gateways want one).
fn endpoint(wire: Wire, mut url: Url) -> Result<Url, ModelError> {
    let invalid = |why: &str| Err(ModelError::Invalid(format!("the model's address {why}")));
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return invalid("is neither http nor https");
    }
    if url.password().is_some() || !url.username().is_empty() {
        return invalid("holds a user name or password; give the key as the key");
    }
    let path = match wire {
        Wire::Anthropic => "messages",
        Wire::OpenAi => "chat/completions",
    };
    url.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
    Ok(url)
}

fn headers(wire: Wire, key: &SecretString) -> Result<HeaderMap, ModelError> {
    let key = key.expose_secret();
    if !key.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(ModelError::Key(
            "it holds spaces, line ends or other characters that no key has".to_owned(),
        ));
    }
    let secret = |text: String| {
        let value = HeaderValue::try_from(text).map_err(|_| ModelError::Key("it cannot be sent".to_owned()));
        value.map(|mut value| {
            value.set_sensitive(true);
            value
        })
    };
    let mut headers = HeaderMap::new();
    match wire {
        Wire::Anthropic => {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
            headers.insert("x-api-key", secret(key.to_owned())?);
        }
        Wire::OpenAi if key.is_empty() => {}
        Wire::OpenAi => {
            headers.insert(AUTHORIZATION, secret(format!("Bearer {key}"))?);
        }
    }
    Ok(headers)
}

pub(super) async fn refusal(mut response: reqwest::Response, silence: Duration) -> Failure {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    while body.len() < REFUSAL {
        match tokio::time::timeout(silence, response.chunk()).await {
            Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
            _ => break,
        }
    }
    refused(status, &headers, &String::from_utf8_lossy(&body))
}

pub(super) fn json(data: &str) -> Result<Value, Failure> {
    serde_json::from_str(data)
        .map_err(|error| Failure::Nonsense(format!("its answer cannot be read: {error}")))
}

fn reply(said: Said, ask: &Ask<'_>) -> Result<Reply, Failure> {
    let Said { mut parts, usage, cut, filtered } = said;
    if filtered && parts.is_empty() {
        return Err(Failure::Final(ModelError::Invalid(
            "its provider's filter refused to answer".to_owned(),
        )));
    }
    if parts.is_empty() && !cut {
        return Err(Failure::Nonsense("it answered with nothing".to_owned()));
    }
    distinct(&mut parts);
    let usage = usage.unwrap_or_else(|| estimate(ask, &parts));
    Ok(Reply { parts, usage, cut })
}

/// Some servers leave ids empty or repeat them; a result must name one call.
fn distinct(parts: &mut [Part]) {
    let mut taken = HashSet::new();
    for part in parts {
        if let Part::Call { id, .. } = part {
            while id.is_empty() || !taken.insert(id.clone()) {
                *id = format!("call_{}_of_reply", taken.len() + 1);
            }
        }
    }
}

/// A server that does not count must not be free: limits are held by what is counted.
fn estimate(ask: &Ask<'_>, parts: &[Part]) -> Usage {
    let size =
        |json: Result<String, serde_json::Error>| json.map_or(0, |text| text.len() as u64 / BYTES_A_TOKEN);
    let asked = size(serde_json::to_string(ask.messages)) + size(serde_json::to_string(ask.tools));
    Usage {
        input: asked + ask.system.len() as u64 / BYTES_A_TOKEN,
        output: size(serde_json::to_string(parts)),
        ..Usage::default()
    }
}

/// The last cause: the outer ones only repeat the address.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
