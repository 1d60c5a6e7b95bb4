//! The providers, through the `genai` crate. Nothing of it is seen outside this file: its API breaks between minor
//! versions, our messages are stored for good.
//!
//! What it does differently from what its documentation suggests, and what is done about it here:
//! a model name that ends in `-max`, `-high`, `-low` … is cut and taken as a reasoning effort (the name is set again in the
//! body); a failed status comes as the second item of a stream that was `Ok`; results of parallel calls must be put into
//! one message; a failed tool call cannot be marked for Anthropic (the block is written by hand); a stream that breaks off
//! without its last event just ends.

use super::{
    Ask, Message, Model, ModelError, ModelSettings, Part, Prices, Reply, Tool, Usage, Wire,
    prices::{UNKNOWN_CONTEXT, UNKNOWN_REPLY, known},
    retry::Attempts,
    sort::{Failure, refused, refused_midway},
};
use ::genai::{
    Client, Error, ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::{
        CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, ContentPart, MessageContent,
        StopReason, StreamEnd, ToolCall, ToolResponse,
    },
    resolver::{AuthData, Endpoint},
};
use futures::StreamExt;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::{collections::HashSet, time::Duration};

/// The longest time for one reply from its first to its last byte: past this something only drips.
const REPLY: Duration = Duration::from_secs(20 * 60);
/// Bytes of a token where the provider does not count them, on the low side so that budgets end early rather than late.
const BYTES_A_TOKEN: u64 = 3;

/// A model behind HTTP.
pub(super) struct Remote {
    client: Client,
    wire: Wire,
    base: String,
    host: String,
    name: String,
    key: SecretString,
    patience: Duration,
    prices: Option<Prices>,
    context: u64,
    reply: u32,
}

impl Remote {
    pub(super) fn new(settings: ModelSettings, http: reqwest::Client) -> Result<Self, ModelError> {
        let ModelSettings { wire, mut url, name, key, patience, price, context, reply } = settings;
        let invalid = |why: &str| ModelError::Invalid(format!("the model's address {why}"));
        let host = url.host_str().ok_or_else(|| invalid("has no host"))?.to_owned();
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid("is neither http nor https"));
        }
        if url.password().is_some() || !url.username().is_empty() {
            return Err(invalid("holds a user name or password; give the key as the key"));
        }
        if !key.expose_secret().bytes().all(|b| b.is_ascii_graphic()) {
            return Err(ModelError::Key(
                "it holds spaces, line ends or other characters that no key has".to_owned(),
            ));
        }
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        let client = Client::builder()
            .with_reqwest(http)
            .build()
            .map_err(|error| invalid(&format!("cannot be used: {error}")))?;
        let known = known(&name);
        let prices = price.or(known.map(|known| known.prices));
        let context = context.or(known.map(|known| known.context)).unwrap_or(UNKNOWN_CONTEXT);
        let reply = reply.or(known.map(|known| known.reply)).unwrap_or(UNKNOWN_REPLY);
        Ok(Self { client, wire, base: url.into(), host, name, key, patience, prices, context, reply })
    }

    /// One attempt.
    async fn attempt(&self, ask: &Ask<'_>, silence: Duration) -> Result<Reply, Failure> {
        let request = request(ask, self.wire);
        let options = self.options(ask.max_tokens.min(self.reply), silence);
        let answer = self.client.exec_chat_stream(self.target(), request, Some(&options)).await;
        let mut stream = answer.map_err(|error| sorted(&error))?.stream;
        while let Some(event) = stream.next().await {
            if let ChatStreamEvent::End(end) = event.map_err(|error| sorted(&error))? {
                return reply(end, ask);
            }
        }
        let why = format!(
            "what {} answers is no complete stream of the {} wire; is its address right?",
            self.host, self.wire
        );
        Err(Failure::Nonsense(why))
    }

    fn target(&self) -> ServiceTarget {
        let kind = match self.wire {
            Wire::Anthropic => AdapterKind::Anthropic,
            Wire::OpenAi => AdapterKind::OpenAI,
        };
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.base.clone()),
            auth: AuthData::from_single(self.key.expose_secret()),
            // No effort is read out of a name that ends in a dash; the body says the name as it is.
            model: ModelIden::new(kind, format!("{}-", self.name)),
        }
    }

    fn options(&self, max_tokens: u32, silence: Duration) -> ChatOptions {
        ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_tool_calls(true)
            .with_capture_reasoning_content(true)
            .with_max_tokens(max_tokens)
            .with_stream_header_timeout(silence)
            .with_stream_read_timeout(silence)
            .with_extra_body(json!({ "model": self.name }))
    }

    /// A provider may repeat the key it was given; nothing that people read may.
    fn without_key(&self, mut failure: Failure) -> Failure {
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
        loop {
            let attempt =
                tokio::time::timeout(REPLY, self.attempt(ask, attempts.left().max(self.patience / 4)));
            let failure = match attempt.await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(failure)) => self.without_key(failure),
                Err(_) => {
                    Failure::Lost(format!("no reply was complete within {} minutes", REPLY.as_secs() / 60))
                }
            };
            tracing::debug!(model = %self.name, host = %self.host, ?failure, "the model was asked in vain");
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

/// A conversation in genai's types. The instructions and the last two messages of ours are marked for Anthropic's cache,
/// so that a step reads what the step before it wrote; other providers cache by themselves and some refuse the marks.
fn request(ask: &Ask<'_>, wire: Wire) -> ChatRequest {
    let mut messages = vec![ChatMessage::system(ask.system)];
    let results =
        |one: &Message, next: &Message| matches!((one, next), (Message::Tool { .. }, Message::Tool { .. }));
    for group in ask.messages.chunk_by(results) {
        match &group[0] {
            Message::User { text } => messages.push(ChatMessage::user(text.as_str())),
            Message::Assistant { parts } => messages.extend(said(parts, wire)),
            Message::Tool { .. } => messages.push(given(group, wire)),
        }
    }
    if wire == Wire::Anthropic {
        let ours = |message: &&mut ChatMessage| !matches!(message.role, ::genai::chat::ChatRole::Assistant);
        let (system, others) = messages.split_at_mut(1);
        for message in system.iter_mut().chain(others.iter_mut().rev().filter(ours).take(2)) {
            message.options.get_or_insert_default().cache_control = Some(CacheControl::Ephemeral);
        }
    }
    ChatRequest::new(messages).with_tools(ask.tools.iter().map(tool).collect::<Vec<_>>())
}

fn tool(tool: &Tool) -> ::genai::chat::Tool {
    ::genai::chat::Tool::new(tool.name.as_str())
        .with_description(tool.description.as_str())
        .with_schema(tool.schema.clone())
}

/// A reply as it is given back; `None` where nothing of it can be (providers refuse empty messages).
fn said(parts: &[Part], wire: Wire) -> Option<ChatMessage> {
    let mut content = Vec::new();
    for part in parts {
        match part {
            Part::Text { text } if text.trim().is_empty() => {}
            Part::Text { text } => content.push(ContentPart::from_text(text.as_str())),
            Part::Thinking { text, signature: Some(signature) } => {
                content.push(ContentPart::ThoughtSignature(signature.clone()));
                content.push(ContentPart::ReasoningContent(text.clone()));
            }
            // Anthropic refuses reasoning that it did not sign; the others never sign.
            Part::Thinking { text, signature: None } if wire == Wire::OpenAi => {
                content.push(ContentPart::ReasoningContent(text.clone()));
            }
            Part::Thinking { .. } => {}
            Part::Sealed { block } => content.push(ContentPart::from_custom(block.clone(), None)),
            Part::Call { id, tool, arguments } => content.push(ContentPart::ToolCall(ToolCall {
                call_id: id.clone(),
                fn_name: tool.clone(),
                fn_arguments: object(arguments),
                thought_signatures: None,
            })),
        }
    }
    let speaks = content.iter().any(|part| part.is_text() || part.is_tool_call());
    speaks.then(|| ChatMessage::assistant(MessageContent::from_parts(content)))
}

/// Providers refuse arguments that are no object, also when it was their own model that wrote them.
fn object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        other => json!({ "unreadable": other }),
    }
}

/// The results of one reply's calls, in one message.
fn given(results: &[Message], wire: Wire) -> ChatMessage {
    let part = |message: &Message| {
        let Message::Tool { call, text, error } = message else { return None };
        let text = if text.is_empty() { "(nothing)" } else { text };
        Some(match (wire, error) {
            (Wire::Anthropic, true) => {
                let block =
                    json!({ "type": "tool_result", "tool_use_id": call, "content": text, "is_error": true });
                ContentPart::from_custom(block, None)
            }
            (Wire::OpenAi, true) => ToolResponse::new(call, format!("error: {text}")).into(),
            (_, false) => ToolResponse::new(call, text).into(),
        })
    };
    ChatMessage::tool(MessageContent::from_parts(results.iter().filter_map(part).collect::<Vec<_>>()))
}

/// A reply out of the stream's end.
fn reply(end: StreamEnd, ask: &Ask<'_>) -> Result<Reply, Failure> {
    let StreamEnd {
        captured_usage, captured_stop_reason, captured_content, captured_reasoning_content, ..
    } = end;
    let content = captured_content.map(MessageContent::into_parts).unwrap_or_default();
    let signed = content.iter().any(ContentPart::is_thought_signature);
    let mut parts = Vec::new();
    if let Some(text) = captured_reasoning_content.filter(|text| !signed && !text.is_empty()) {
        parts.push(Part::Thinking { text, signature: None });
    }
    let mut seal = None;
    let mut ids = HashSet::new();
    for part in content {
        match part {
            ContentPart::Text(text) => parts.push(Part::Text { text }),
            ContentPart::ThoughtSignature(signature) => seal = Some(signature),
            ContentPart::ReasoningContent(text) => {
                parts.push(Part::Thinking { text, signature: seal.take() });
            }
            ContentPart::Custom(custom) => parts.push(Part::Sealed { block: custom.data }),
            ContentPart::ToolCall(call) => {
                let id = distinct(call.call_id, &mut ids);
                parts.push(Part::Call { id, tool: call.fn_name, arguments: call.fn_arguments });
            }
            _ => {}
        }
    }
    let cut = matches!(captured_stop_reason, Some(StopReason::MaxTokens(_)));
    if let Some(StopReason::ContentFilter(reason)) = &captured_stop_reason
        && parts.is_empty()
    {
        return Err(Failure::Final(ModelError::Invalid(format!(
            "its provider's filter refused to answer ({reason})"
        ))));
    }
    if parts.is_empty() && !cut {
        return Err(Failure::Nonsense("it answered nothing at all, twice".to_owned()));
    }
    let usage = captured_usage.map_or_else(|| estimate(ask, &parts), |usage| counted(&usage));
    Ok(Reply { parts, usage, cut })
}

/// Some servers leave ids empty or repeat them; a result must name one call.
fn distinct(id: String, taken: &mut HashSet<String>) -> String {
    if !id.is_empty() && taken.insert(id.clone()) {
        return id;
    }
    let fresh = format!("call_{}_of_reply", taken.len() + 1);
    taken.insert(fresh.clone());
    fresh
}

/// genai's sum of all that was read, taken apart again.
fn counted(usage: &::genai::chat::Usage) -> Usage {
    let count = |tokens: Option<i32>| u64::try_from(tokens.unwrap_or(0)).unwrap_or(0);
    let details = usage.prompt_tokens_details.as_ref();
    let cache_read = count(details.and_then(|details| details.cached_tokens));
    let cache_write = count(details.and_then(|details| details.cache_creation_tokens));
    let input = count(usage.prompt_tokens).saturating_sub(cache_read + cache_write);
    Usage { input, output: count(usage.completion_tokens), cache_read, cache_write }
}

/// A server that does not count must not be free: limits are held by what is counted.
fn estimate(ask: &Ask<'_>, parts: &[Part]) -> Usage {
    let size =
        |json: Result<String, serde_json::Error>| json.map_or(0, |text| text.len() as u64 / BYTES_A_TOKEN);
    let asked = serde_json::to_string(ask.messages);
    Usage {
        input: size(asked) + ask.system.len() as u64 / BYTES_A_TOKEN,
        output: size(serde_json::to_string(parts)),
        ..Usage::default()
    }
}

/// A failure of the crate's, sorted. Its own texts hold whole bodies and addresses, so they are not passed on.
fn sorted(error: &Error) -> Failure {
    match error {
        Error::WebStream { error, .. } => match error.downcast_ref::<Error>() {
            Some(Error::HttpError { status, body, headers, .. }) => refused(status.as_u16(), headers, body),
            _ => Failure::Lost(innermost(error.as_ref())),
        },
        Error::HttpError { status, body, headers, .. } => refused(status.as_u16(), headers, body),
        Error::ChatResponse { body, .. } => refused_midway(body),
        Error::StreamParse { serde_error, .. } => {
            Failure::Nonsense(format!("its answer cannot be read: {serde_error}"))
        }
        Error::JsonValueExt(error) => Failure::Nonsense(format!("its answer cannot be read: {error}")),
        Error::WebModelCall { webc_error, .. } => {
            Failure::Final(ModelError::Invalid(format!("cannot be asked: {}", innermost(webc_error))))
        }
        other => Failure::Final(ModelError::Invalid(format!("cannot be asked: {other}"))),
    }
}

/// The last cause: the outer ones only repeat the address.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
