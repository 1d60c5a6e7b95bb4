//! Sorts what a provider refused with by what can be done about it. Every provider has its own bodies and some their own
//! status codes; the words below are theirs.

use super::ModelError;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::time::Duration;

/// What one attempt failed with, before anything was waited for.
#[derive(Debug)]
pub(super) enum Failure {
    /// Asking again changes nothing.
    Final(ModelError),
    /// Overloaded or limited: it may pass, perhaps after the time the provider names.
    Busy { why: String, after: Option<Duration> },
    /// The way to it broke.
    Lost(String),
    /// What came cannot be read.
    Nonsense(String),
}

impl Failure {
    /// What will be said of it.
    pub(super) fn words_mut(&mut self) -> &mut String {
        match self {
            Self::Final(error) => error.words_mut(),
            Self::Busy { why, .. } | Self::Lost(why) | Self::Nonsense(why) => why,
        }
    }

    /// The provider does not take the reasoning that the conversation gives back to it.
    pub(super) fn is_about_thinking(&self) -> bool {
        let low = match self {
            Self::Final(ModelError::Invalid(why)) => why.to_lowercase(),
            _ => return false,
        };
        ["thinking", "signature", "reasoning"].iter().any(|word| low.contains(word))
    }
}

/// A refusal's words are shown to people: enough for a sentence or two, not for a page of HTML.
const SHOWN: usize = 300;

/// Money, not pace (F60): never retried. Words of OpenAI, Anthropic, DeepSeek, OpenRouter. A plain "billing" is not among
/// them: OpenAI names its billing page in ordinary rate limits too.
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "exceeded your current quota",
    "credit balance",
    "billing_error",
    "billing_hard_limit",
    "billing hard limit",
    "billing_not_active",
    "insufficient balance",
    "insufficient credits",
    "reached your specified api usage limits",
    "out of credits",
];

/// The conversation does not fit. Words of OpenAI, Anthropic, vLLM, llama.cpp, Mistral.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "context limit",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "request_too_large",
];

/// A refusal by HTTP status.
pub(super) fn refused(status: u16, headers: &HeaderMap, body: &str) -> Failure {
    let low = body.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| low.contains(word));
    let why = format!("{} (HTTP {status})", words(body));
    // Gemini speaks of a quota in its limits by the minute too, but says then when to come back.
    let quota = says(QUOTA) && !low.contains("retrydelay");
    match status {
        402 => Failure::Final(ModelError::Quota(why)),
        400 | 403 | 429 if quota => Failure::Final(ModelError::Quota(why)),
        401 | 403 => Failure::Final(ModelError::Key(why)),
        413 => Failure::Final(ModelError::TooLong(why)),
        400 | 422 if says(TOO_LONG) => Failure::Final(ModelError::TooLong(why)),
        408 | 409 | 425 | 429 | 500.. => Failure::Busy { why, after: after(headers) },
        404 => Failure::Final(ModelError::Invalid(format!("{why}; are the model's name and address right?"))),
        _ => Failure::Final(ModelError::Invalid(why)),
    }
}

/// A refusal in the middle of a stream, where there is no status any more: the body's type or code stands for it.
pub(super) fn refused_midway(body: &Value) -> Failure {
    let error = body.get("error").unwrap_or(body);
    let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
    let status = match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" | "insufficient_quota" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "overloaded_error" => 529,
        _ => {
            error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()).unwrap_or(500)
        }
    };
    refused(status.max(400), &HeaderMap::new(), &body.to_string())
}

/// The sentence in a refusal's body, on one line and short.
pub(super) fn words(body: &str) -> String {
    let json = serde_json::from_str::<Value>(body).ok();
    let found = json.as_ref().and_then(|json| {
        let at = |path| json.pointer(path).and_then(Value::as_str);
        at("/error/message").or_else(|| at("/message")).or_else(|| at("/error")).or_else(|| at("/detail"))
    });
    let line = found.unwrap_or(body).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.is_empty() => "no reason given".to_owned(),
        None => line,
    }
}

/// When the provider says to come back: `retry-after-ms`, or `retry-after` as seconds or as a date (RFC 9110, 10.2.3).
fn after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |text: &str| text.parse().ok().and_then(|s: f64| Duration::try_from_secs_f64(s).ok());
    let date = |text: &str| {
        let then = chrono::DateTime::parse_from_rfc2822(text).ok()?;
        Some((then.to_utc() - chrono::Utc::now()).to_std().unwrap_or_default())
    };
    let millis = text("retry-after-ms").and_then(|t| t.parse().ok()).map(Duration::from_millis);
    millis.or_else(|| text("retry-after").and_then(|t| seconds(t).or_else(|| date(t))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: u16, body: &str) -> &'static str {
        named(&refused(status, &HeaderMap::new(), body))
    }

    fn named(failure: &Failure) -> &'static str {
        match failure {
            Failure::Final(ModelError::Key(_)) => "key",
            Failure::Final(ModelError::Quota(_)) => "quota",
            Failure::Final(ModelError::TooLong(_)) => "too long",
            Failure::Final(ModelError::Invalid(_)) => "invalid",
            Failure::Busy { .. } => "busy",
            _ => "other",
        }
    }

    #[test]
    fn f60_money_is_told_from_pace() {
        let quota = r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        let pace = r#"{"error":{"message":"Rate limit reached for m on requests per min (RPM): Limit 3. You can increase your rate limit by adding a payment method at https://platform.openai.com/account/billing.","type":"requests","code":"rate_limit_exceeded"}}"#;
        let credit = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#;
        let minute = r#"[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34s"}]}}]"#;
        assert_eq!(kind(429, quota), "quota");
        assert_eq!(kind(400, credit), "quota");
        assert_eq!(kind(402, ""), "quota");
        assert_eq!(kind(429, pace), "busy");
        assert_eq!(kind(429, minute), "busy");
    }

    #[test]
    fn the_rest_is_sorted_by_what_can_be_done() {
        let long = r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}"#;
        assert_eq!(kind(400, long), "too long");
        assert_eq!(
            kind(400, r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#),
            "too long"
        );
        assert_eq!(kind(413, "<html>"), "too long");
        assert_eq!(kind(401, "nope"), "key");
        assert_eq!(kind(404, r#"{"error":{"message":"model: no-such"}}"#), "invalid");
        assert_eq!(kind(529, ""), "busy");
        assert_eq!(kind(503, "<html>upstream</html>"), "busy");
        let midway = serde_json::json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        assert_eq!(named(&refused_midway(&midway)), "busy");
        assert_eq!(named(&refused_midway(&serde_json::json!({"message": "bad", "code": 401}))), "key");
    }

    #[test]
    fn the_wait_is_read_in_all_its_forms() {
        let wait = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().expect("a header"));
            after(&headers)
        };
        assert_eq!(wait("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("retry-after", "-1"), None);
        assert_eq!(wait("retry-after", "soon"), None);
    }

    #[test]
    fn a_refusal_is_one_short_line() {
        let page = format!("<html>\n{}\n</html>", "é ".repeat(1000));
        let said = words(&page);
        assert!(said.chars().count() <= SHOWN + 1 && !said.contains('\n'));
        assert_eq!(words(""), "no reason given");
        assert_eq!(words(r#"{"detail":"Not\nFound"}"#), "Not Found");
    }
}
