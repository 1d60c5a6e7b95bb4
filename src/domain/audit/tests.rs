//! What a line says, and what it never holds.

use super::*;
use crate::domain::{
    CommentId, Effect, Entry, UserId,
    egress::{Reached, Reason, Refusals},
    session::{Ask, Message, Request, Spot},
};

fn alice() -> Actor {
    Actor { id: UserId(3), login: "alice".into() }
}

#[test]
fn a_kind_is_called_in_the_store_as_it_is_written() {
    let head = Sha::parse(&"a".repeat(40)).unwrap();
    let all = [
        Audit::Asked { wish: Wish::Run, source: None, ignored: None },
        Audit::Withheld { why: "x".into() },
        Audit::Rerun { check: "test".into(), head },
        Audit::HostRefused { host: "h:443".into(), why: "not allowed".into(), times: 2 },
    ];
    for one in all {
        let json = serde_json::to_value(&one).unwrap();
        assert_eq!(json["kind"], one.kind());
        assert_eq!(serde_json::from_value::<Audit>(json).unwrap(), one);
    }
}

#[test]
fn what_was_said_is_not_in_it() {
    let request = Request::run(alice(), "the secret plan".into(), Subject::Comment(CommentId(7)));
    let told = Audited::of_step(&Entry::Asked { ask: Ask::Run { request } }, None).remove(0);
    assert_eq!(told.by, Some(alice()));
    assert_eq!(told.what.to_string(), "run in comment 7");
    let text = "the secret plan".to_owned();
    let noted = Entry::Noted { by: alice(), text, comment: CommentId(8) };
    assert_eq!(Audited::of_step(&noted, None), []);
    let say = Effect::Say {
        message: Message::CannotFollow { text: "the secret plan".into() },
        to: "alice".into(),
        request_no: 1,
        at: Some(Spot { thread: Number(1), comment: CommentId(7) }),
    };
    let told = Audited::of_effect(&say, &serde_json::json!({ "comment": 12 })).unwrap();
    assert_eq!(told.what, Audit::Commented { comment: 12 });
}

#[test]
fn what_came_to_nothing_is_told_with_its_reason() {
    let stop = Entry::Asked { ask: Ask::Stop { by: alice(), at: None } };
    let told = Audited::of_step(&stop, Some("nothing runs")).remove(0);
    assert_eq!(told.what.to_string(), "stop; nothing came of it: nothing runs");
}

#[test]
fn what_a_sandbox_reached_and_was_refused_is_told() {
    let mut reached = Reached::default();
    let to = "mirror.example.org:443".parse().unwrap();
    reached.asked(&to, "GET", 120);
    reached.asked(&to, "GET", 80);
    reached.asked(&to, "BREW", 10);
    reached.received(&to, 4096);
    let mut refused = Refusals::default();
    (0..50).for_each(|n| {
        refused.note(&format!("{n}.example.org:443"), Reason::NotAllowed);
    });
    let lines = Audit::of_way_out(&reached, &refused);
    assert_eq!(lines[0].to_string(), "mirror.example.org:443, 2 GET, 1 other, 210 bytes out, 4096 in");
    assert_eq!(lines[1].to_string(), "0.example.org:443, 1 times: not on the allow-list");
    assert_eq!(lines.last().unwrap().to_string(), "others, 10 times: too many to name");
    assert_eq!(lines.len(), 42, "what an agent makes up fills no database");
}
