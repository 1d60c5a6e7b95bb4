//! The first byte picks the event, the rest is the body of a webhook.
#![no_main]

use fixpoint::domain::{
    access::EVENTS,
    delivery::{Us, sort},
};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((event, body)) = data.split_first() else { return };
    let Ok(payload) = serde_json::from_slice(body) else { return };
    let event = EVENTS[usize::from(*event) % EVENTS.len()].name;
    let us = Us { app: 1, slug: "fixpoint", word: "code", label: "fixpoint", bots: &[] };
    let _ = sort(event, &payload, &us);
});
