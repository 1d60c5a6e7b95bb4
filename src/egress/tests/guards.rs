//! Each guard of the way out, on and off: with it nothing of the attack arrives in the world, without it the same attack does.

use super::*;
use crate::domain::fault::{Fault, seed};

/// An attack: the guard against it, what is allowed (`AT` is the world's port), what is asked, and what must not arrive.
struct Attack {
    guard: Fault,
    allow: &'static str,
    question: &'static str,
    arrives: &'static str,
}

const ATTACKS: [Attack; 4] = [
    Attack {
        guard: Fault::EverythingAllowed,
        allow: "mirror.test:443",
        question: "GET http://elsewhere.test:AT/taken HTTP/1.1\r\nHost: elsewhere.test:AT",
        arrives: "GET /taken",
    },
    Attack {
        guard: Fault::AddressesUnseen,
        allow: "mirror.test:AT",
        question: "GET http://mirror.test:AT/taken HTTP/1.1\r\nHost: mirror.test:AT",
        arrives: "GET /taken",
    },
    Attack {
        guard: Fault::NamesMayDiffer,
        allow: "mirror.test:AT private",
        question: "GET http://mirror.test:AT/taken HTTP/1.1\r\nHost: elsewhere.test:AT",
        arrives: "GET /taken",
    },
    Attack {
        guard: Fault::CredentialsPassed,
        allow: "mirror.test:AT private",
        question: "GET http://mirror.test:AT/ HTTP/1.1\r\nHost: mirror.test:AT\r\nAuthorization: Bearer taken",
        arrives: "taken",
    },
];

async fn arrived(attack: &Attack) -> bool {
    let world = World::start().await;
    let at = world.port.to_string();
    let inside = Inside::open(&[&attack.allow.replace("AT", &at)]).await;
    inside.ask(&format!("{}\r\nConnection: close\r\n\r\n", attack.question.replace("AT", &at))).await;
    world.heads().await.concat().contains(attack.arrives)
}

#[tokio::test]
async fn evil_t14_t17_t18_each_guard_of_the_way_out_holds() {
    for attack in ATTACKS {
        assert!(!arrived(&attack).await, "{:?} does not hold", attack.guard);
        seed(Some(attack.guard));
        let without = arrived(&attack).await;
        seed(None);
        assert!(without, "without {:?} the attack comes to nothing too", attack.guard);
    }
}
