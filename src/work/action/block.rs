//! The hidden block of a status comment: what of a session must outlive a run.
//!
//! It stands at the comment's very end, so that nothing that the text quotes can be taken for it, and it is believed
//! only where the comment's author is our own account. Whoever has write access may edit our comment; what they could
//! gain by it, rounds, is counted on the branch as well.

use super::session_of;
use crate::{
    domain::{CommentId, Effect, SessionId, State},
    github::Comment,
    store::{Shown, StoreError, Summary},
    work::{Parts, show},
};
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD as BASE64};
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{Read as _, Write as _};

/// How a block begins; the number is the version of what it holds.
const BEGIN: &str = "<!-- fixpoint-state:1:";
const END: &str = " -->";

/// Most characters of a block: the text beside it must fit into the same comment.
const LARGEST: usize = 30_000;

/// What is longer than this in a state that does not fit is cut, ever more: texts of people and logs, never an id.
const CUTS: [usize; 4] = [8_000, 2_000, 500, 120];

/// Bytes that a block may unfold to: a hundred times what a large state has.
const UNFOLDED: u64 = 8 << 20;

/// Subjects that a block remembers: an event that is run again is known by them.
const SUBJECTS: u32 = 100;

/// What a block holds.
#[derive(Debug, Serialize, Deserialize)]
struct Held {
    state: Value,
    #[serde(default)]
    shown: Vec<(String, String, String)>,
    #[serde(default)]
    subjects: Vec<String>,
    #[serde(default)]
    effects: Vec<Value>,
}

/// A session as its comment holds it.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) id: SessionId,
    pub(super) state: State,
    pub(super) shown: Vec<Shown>,
    pub(super) subjects: Vec<String>,
    pub(super) effects: Vec<Effect>,
}

/// A session's block, with the line break before it; empty where a database outlives the process.
pub(in crate::work) async fn written(
    parts: &Parts,
    id: SessionId,
    state: &State,
) -> Result<String, StoreError> {
    if parts.settings.action.is_none() {
        return Ok(String::new());
    }
    let store = &parts.store;
    let mut subjects = store.subjects(SUBJECTS).await?;
    subjects.sort_unstable();
    // The comment's own hash would change with the block that holds it.
    let shown = store.shown(id).await?.into_iter().filter(|shown| shown.thing != "status");
    let effects = store.intended(id).await?;
    let held = Held {
        state: serde_json::to_value(state)?,
        shown: shown.map(|s| (s.thing, s.remote, s.hash)).collect(),
        subjects,
        effects: effects
            .iter()
            .filter(|e| outlives(e))
            .map(serde_json::to_value)
            .collect::<Result<_, _>>()?,
    };
    Ok(folded(held).map(|packed| format!("\n{BEGIN}{packed}{END}")).unwrap_or_default())
}

/// A push means a commit that this run alone holds; the status comment is the block's own.
fn outlives(effect: &Effect) -> bool {
    !matches!(effect, Effect::Push { .. } | Effect::PostStatus)
}

fn folded(mut held: Held) -> Option<String> {
    let mut cuts = CUTS.into_iter();
    loop {
        let packed = packed(&held)?;
        if packed.len() <= LARGEST {
            return Some(packed);
        }
        let Some(most) = cuts.next() else {
            tracing::error!(length = packed.len(), "the state is too large for a comment");
            return None;
        };
        shorten(&mut held.state, most);
    }
}

fn packed(held: &Held) -> Option<String> {
    let json = serde_json::to_vec(held).ok()?;
    let mut zip = ZlibEncoder::new(Vec::new(), Compression::best());
    zip.write_all(&json).ok()?;
    Some(BASE64.encode(zip.finish().ok()?))
}

fn unpacked(text: &str) -> Option<Held> {
    let zipped = BASE64.decode(text.trim_end_matches('=')).ok()?;
    let mut json = Vec::new();
    ZlibDecoder::new(zipped.as_slice()).take(UNFOLDED).read_to_end(&mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

/// Cuts every text in a value that is longer than `most`.
fn shorten(value: &mut Value, most: usize) {
    match value {
        Value::String(text) if text.len() > most => {
            text.truncate(text.floor_char_boundary(most));
        }
        Value::Array(all) => all.iter_mut().for_each(|value| shorten(value, most)),
        Value::Object(all) => all.values_mut().for_each(|value| shorten(value, most)),
        _ => {}
    }
}

/// The block of a comment of ours. `None`: none, an older or newer version's, or one that cannot be read.
pub(super) fn read(comment: &Comment) -> Option<Block> {
    let body = comment.body.trim_end();
    let id = session_of(body)?;
    let packed = body.strip_suffix(END)?;
    let held = unpacked(&packed[packed.rfind(BEGIN)? + BEGIN.len()..])?;
    let state = serde_json::from_value(held.state).ok()?;
    let kept = held.shown.into_iter().map(|(thing, remote, hash)| Shown { thing, remote, hash });
    let mut shown: Vec<Shown> = kept.filter(|shown| shown.thing != "status").collect();
    shown.push(status(comment));
    let effects = held.effects.into_iter().filter_map(|effect| serde_json::from_value(effect).ok());
    let effects = effects.filter(outlives).collect();
    Some(Block { id, state, shown, subjects: held.subjects, effects })
}

/// The comment itself as what is shown: edited again only where something differs.
pub(super) fn status(comment: &Comment) -> Shown {
    Shown { thing: "status".to_owned(), remote: comment.id.to_string(), hash: show::hash(&comment.body) }
}

/// Does the session's status comment hold its state, as GitHub gives it back?
pub(super) async fn is_kept(parts: &Parts, session: &Summary) -> Result<bool, super::Undone> {
    let shown = parts.store.shown(session.id).await?;
    let id = shown.iter().find(|shown| shown.thing == "status").and_then(|s| s.remote.parse().ok());
    let Some(id) = id.map(CommentId) else { return Ok(false) };
    let repository = parts.repository(&session.state);
    let Some(comment) = repository.comment(id).await? else { return Ok(false) };
    let by_us = comment.author.id == repository.bot().await?.id;
    // What was cut to fit is not the same text, but the same session at the same step.
    let same = |block: Block| {
        let (kept, live) = (&block.state.facts, &session.state.facts);
        block.id == session.id
            && block.state.phase_word() == session.state.phase_word()
            && (kept.request_no, kept.round, &kept.head) == (live.request_no, live.round, &live.head)
    };
    Ok(by_us && read(&comment).is_some_and(same))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Actor;
    use proptest::prelude::*;
    use serde_json::json;

    fn comment(body: String) -> Comment {
        Comment {
            id: CommentId(7),
            author: Actor { id: crate::domain::UserId(1), login: "fixpoint[bot]".to_owned() },
            by_bot: true,
            app: None,
            body,
            url: String::new(),
            created_at: String::new(),
            thread: None,
        }
    }

    fn held(texts: &[String]) -> Held {
        Held { state: json!({ "texts": texts }), shown: vec![], subjects: vec![], effects: vec![] }
    }

    proptest! {
        #[test]
        fn what_is_folded_unfolds_and_can_stand_in_a_comment(texts in prop::collection::vec(".{0,200}", 0..20)) {
            let packed = folded(held(&texts)).unwrap();
            prop_assert!(!packed.contains("--") && packed.len() <= LARGEST);
            prop_assert_eq!(unpacked(&packed).unwrap().state, json!({ "texts": texts }));
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_where_it_is_longest() {
        use rand::distr::{Alphanumeric, SampleString as _};
        let noise = Alphanumeric.sample_string(&mut rand::rng(), 200_000);
        let packed = folded(held(&[noise, "short".to_owned()])).unwrap();
        let state = unpacked(&packed).unwrap().state;
        assert!(packed.len() <= LARGEST);
        assert_eq!(state["texts"][0].as_str().unwrap().len(), CUTS[0]);
        assert_eq!(state["texts"][1], "short");
    }

    #[test]
    fn only_the_end_of_a_comment_counts_and_nothing_malformed_is_read() {
        let id = uuid::Uuid::now_v7().simple();
        let packed = packed(&held(&[])).unwrap();
        let marker = format!("<!-- fixpoint:{id}:status -->");
        for body in [
            format!("text {BEGIN}{packed}{END} more\n\n{marker}"),
            format!("{marker}\n{BEGIN}{}{END}", &packed[..packed.len() / 2]),
            format!("{marker}\n<!-- fixpoint-state:2:{packed}{END}"),
            format!("{BEGIN}{packed}{END}"),
            // Readable, but no session's state.
            format!("{marker}\n{BEGIN}{packed}{END}"),
        ] {
            assert!(read(&comment(body.clone())).is_none(), "{body}");
        }
    }
}
