//! Secrets of others, by the shapes their makers gave them, and our own in any usual encoding.

use crate::domain::text::pattern::compiled_bytes;
use aho_corasick::AhoCorasick;
use base64::{
    Engine, alphabet, engine::DecodePaddingMode, engine::GeneralPurpose, engine::GeneralPurposeConfig,
};
use flate2::read::{GzDecoder, ZlibDecoder};
use regex::bytes::Regex;
use std::{io::Read, sync::LazyLock};

/// Shapes of secrets, each with its name. Sources: the token formats their issuers document.
const SHAPES: [(&str, &str); 33] = [
    ("an AWS access key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    (
        "an AWS secret key",
        r#"(?i)aws[\w.-]{0,20}(?:secret|private)[\w.-]{0,20}["']?\s*[:=]\s*["']?([A-Za-z0-9/+=]{40})\b"#,
    ),
    ("a GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    ("a GitHub token", r"\bgithub_pat_[A-Za-z0-9_]{22,255}\b"),
    ("a GitLab token", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[\w-]{20,}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("a Slack token", r"\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+"),
    ("a Slack webhook", r"hooks\.slack\.com/(?:services|workflows)/T[A-Za-z0-9_/]{20,}"),
    ("a Google API key", r"\bAIza[\w-]{35}"),
    ("a Google token", r"\bya29\.[\w-]{30,}"),
    ("a Google client secret", r"\bGOCSPX-[\w-]{28}"),
    ("a Stripe key", r"\b[sr]k_live_[A-Za-z0-9]{20,}"),
    ("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a PyPI token", r"\bpypi-AgEIcHlwaS5vcmc[\w-]{40,}"),
    ("a RubyGems key", r"\brubygems_[a-f0-9]{48}\b"),
    ("an Anthropic key", r"\bsk-ant-[\w-]{20,}"),
    ("an OpenAI key", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}"),
    ("a model provider's key", r"\bsk-(?:proj-|or-v1-)?[A-Za-z0-9]{40,}\b"),
    ("a Hugging Face token", r"\bhf_[A-Za-z]{34}\b"),
    ("a SendGrid key", r"\bSG\.[\w-]{22}\.[\w-]{43}\b"),
    ("a Twilio key", r"\bSK[0-9a-f]{32}\b"),
    ("a DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    ("a Shopify token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    ("an Azure storage key", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    ("a Telegram bot token", r"\b\d{8,10}:AA[\w-]{33}\b"),
    ("a Docker token", r"\bdckr_[po]at_[\w-]{27,}"),
    ("a Vault token", r"\bhv[sbr]\.[\w-]{24,}"),
    ("a Databricks token", r"\bdapi[a-f0-9]{32}\b"),
    ("a Terraform token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    ("an age key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    ("a Linear key", r"\blin_api_[A-Za-z0-9]{40}\b"),
    ("a Mailgun key", r"\bkey-[0-9a-f]{32}\b"),
    (
        "a private key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:\\n|[\s\x22',+])*(?:[A-Za-z-]+: [^\n]*\n\s*)*[A-Za-z0-9+/=]{40}",
    ),
];

/// Different characters a secret has at least: a placeholder (`ghp_xxxx…`) has few.
const VARIETY: usize = 10;

/// The kind of a secret that `new` holds and `old` does not.
pub(super) fn kind(old: &[u8], new: &[u8]) -> Option<&'static str> {
    static ALL: LazyLock<Vec<Regex>> =
        LazyLock::new(|| SHAPES.iter().map(|(_, shape)| compiled_bytes(shape)).collect());
    let known = |found: &[u8]| memchr::memmem::find(old, found).is_some();
    views(new, false).iter().find_map(|view| {
        ALL.iter().zip(SHAPES).find_map(|(shape, (name, _))| {
            shape
                .find_iter(view)
                .any(|found| !is_placeholder(found.as_bytes()) && !known(found.as_bytes()))
                .then_some(name)
        })
    })
}

fn is_placeholder(found: &[u8]) -> bool {
    let upper = found.to_ascii_uppercase();
    let mut seen = [false; 256];
    found.iter().for_each(|b| seen[usize::from(*b)] = true);
    let words: [&[u8]; 6] = [b"EXAMPLE", b"PLACEHOLDER", b"XXXXXX", b"REDACTED", b"YOUR_", b"DUMMY"];
    seen.iter().filter(|s| **s).count() < VARIETY
        || words.iter().any(|word| memchr::memmem::find(&upper, word).is_some())
}

/// Shortest secret that is looked for: a shorter one would be found everywhere.
const SHORTEST: usize = 8;
/// A long secret is also found by its parts of this length, so that half of it does not pass.
const PART: usize = 20;
/// How deep encodings are undone: base64 of gzip of base64.
const DEPTH: usize = 3;
/// Bytes looked at for each file after undoing encodings: four times the largest file.
const VIEWS: usize = 20 << 20;
/// Shortest run of an encoding that is undone.
const RUN: usize = 16;

/// Our own secrets, ready to be looked for.
#[derive(Debug, Default)]
pub struct Secrets {
    needles: Option<AhoCorasick>,
}

impl Secrets {
    /// Prepares the search for `secrets`; those shorter than eight bytes are left out.
    pub fn new(secrets: &[String]) -> Self {
        let mut needles = Vec::new();
        for secret in secrets {
            let bare: Vec<u8> = secret.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
            for part in parts(&bare) {
                encodings(part, &mut needles);
            }
        }
        needles.retain(|needle: &Vec<u8>| needle.len() >= SHORTEST);
        // Without any there is nothing to build; a set this size is far from what could fail to be built.
        let needles = if needles.is_empty() { None } else { AhoCorasick::new(&needles).ok() };
        Self { needles }
    }

    /// Does `bytes` hold one of them, as it is or encoded?
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        let Some(needles) = &self.needles else { return false };
        views(bytes, true).iter().any(|view| needles.is_match(view))
    }
}

/// The whole, and overlapping parts of a long one.
fn parts(secret: &[u8]) -> Vec<&[u8]> {
    let mut parts = vec![secret];
    if secret.len() >= 2 * PART {
        // Lines every PEM file has are not secret.
        let steps = (0..=secret.len() - PART).step_by(PART / 2).map(|at| &secret[at..at + PART]);
        parts.extend(steps.filter(|part| !part.windows(5).any(|five| five == b"-----")));
    }
    parts
}

/// A secret in each of the usual spellings. Doubled ones are met by undoing the outer one.
fn encodings(secret: &[u8], needles: &mut Vec<Vec<u8>>) {
    let rotated = |b: &u8| match b {
        b'a'..=b'z' => (b - b'a' + 13) % 26 + b'a',
        b'A'..=b'Z' => (b - b'A' + 13) % 26 + b'A',
        _ => *b,
    };
    needles.push(secret.to_vec());
    needles.push(secret.iter().rev().copied().collect());
    needles.push(secret.iter().map(rotated).collect());
    needles.push(hex::encode(secret).into_bytes());
    needles.push(hex::encode_upper(secret).into_bytes());
    for offset in 0..3 {
        let padded = [vec![0; offset], secret.to_vec()].concat();
        let text = base64::engine::general_purpose::STANDARD_NO_PAD.encode(&padded);
        // The first and last signs also hold bits of the neighbours.
        let first = if offset == 0 { 0 } else { offset + 1 };
        let last = if padded.len() % 3 == 0 { text.len() } else { text.len() - 1 };
        let stable = text.get(first..last).unwrap_or_default();
        needles.push(stable.as_bytes().to_vec());
        needles.push(stable.replace('+', "-").replace('/', "_").into_bytes());
    }
}

/// The bytes as they are and with encodings undone; `glued`: also without what may stand between the pieces of a split
/// text. (A shape would run on into its neighbours there; only what is known letter by letter can be looked for.)
fn views(bytes: &[u8], glued: bool) -> Vec<Vec<u8>> {
    let mut views = vec![bytes.to_vec()];
    let mut budget = VIEWS;
    let mut from = 0;
    for _ in 0..DEPTH {
        let until = views.len();
        for at in from..until {
            let made = undone(&views[at], glued && at == 0);
            for view in made {
                if view.len() > budget {
                    return views;
                }
                budget -= view.len();
                views.push(view);
            }
        }
        from = until;
    }
    views
}

fn undone(view: &[u8], is_glued: bool) -> Vec<Vec<u8>> {
    let mut made = Vec::new();
    if is_glued {
        let glue = |b: &u8| b.is_ascii_whitespace() || b"\"'`+,\\.;()[]{}$&|".contains(b);
        made.push(view.iter().copied().filter(|b| !glue(b)).collect());
        made.push(view.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect());
    }
    made.extend(unescaped(view));
    made.extend(
        runs(view, |b| b.is_ascii_hexdigit()).filter_map(|run| hex::decode(&run[..run.len() & !1]).ok()),
    );
    for run in runs(view, |b| b.is_ascii_alphanumeric() || b"+/-_".contains(&b)) {
        made.extend(from_base64(run));
    }
    made.extend(inflated(view));
    made
}

/// `%41` and `\x41` undone, where there are any.
fn unescaped(view: &[u8]) -> Option<Vec<u8>> {
    static ESCAPE: LazyLock<Regex> =
        LazyLock::new(|| compiled_bytes(r"(?:%|\\x|&#x|\\u00|=|0x)([0-9A-Fa-f]{2});?(?:,\s*)?"));
    let plain = ESCAPE
        .replace_all(view, |found: &regex::bytes::Captures<'_>| hex::decode(&found[1]).unwrap_or_default());
    match plain {
        std::borrow::Cow::Borrowed(_) => None,
        std::borrow::Cow::Owned(plain) => Some(plain),
    }
}

fn runs(view: &[u8], belongs: impl Fn(u8) -> bool) -> impl Iterator<Item = &[u8]> {
    view.split(move |b| !belongs(*b)).filter(|run| run.len() >= RUN)
}

fn from_base64(run: &[u8]) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let standard: Vec<u8> = run
        .iter()
        .map(|b| match b {
            b'-' => b'+',
            b'_' => b'/',
            b => *b,
        })
        .collect();
    // One sign too many belongs to what follows.
    let whole = if standard.len() % 4 == 1 { &standard[..standard.len() - 1] } else { &standard[..] };
    GeneralPurpose::new(&alphabet::STANDARD, LENIENT).decode(whole).ok()
}

/// What gzip or zlib streams within the bytes hold.
fn inflated(view: &[u8]) -> Vec<Vec<u8>> {
    /// Streams tried in one view: more are not a hiding place but noise.
    const STREAMS: usize = 64;
    /// Bytes taken of each.
    const CAP: u64 = 1 << 20;
    let mut made = Vec::new();
    for at in memchr::memmem::find_iter(view, &[0x1F, 0x8B, 8]).take(STREAMS) {
        let mut out = Vec::new();
        // A broken end still gives what came before it.
        let _ = GzDecoder::new(&view[at..]).take(CAP).read_to_end(&mut out);
        made.push(out);
    }
    for at in memchr::memchr_iter(0x78, view)
        .take(STREAMS)
        .filter(|at| matches!(view.get(at + 1), Some(1 | 0x5E | 0x9C | 0xDA)))
    {
        let mut out = Vec::new();
        let _ = ZlibDecoder::new(&view[at..]).take(CAP).read_to_end(&mut out);
        made.push(out);
    }
    made.retain(|out| !out.is_empty());
    made
}
