//! Only what GitHub signed gets in.

use super::{OLD_SECRET, SECRET, delivery, head, patient, served, sign};

const BODY: &[u8] = br#"{"action":"created","comment":{"body":"/code fix it"}}"#;

#[tokio::test]
async fn t42_one_bit_off_is_refused() {
    let served = served(patient()).await;
    let right = sign(SECRET, BODY);
    for place in [0, 13, BODY.len() - 1] {
        for bit in 0..8 {
            let mut body = BODY.to_vec();
            body[place] ^= 1 << bit;
            assert_eq!(served.ask(&delivery("g", "issues", &body, &right)).await.0, 401);
        }
    }
    for place in "sha256=".len()..right.len() {
        let mut digits = right.clone().into_bytes();
        digits[place] = if digits[place] == b'0' { b'1' } else { b'0' };
        let wrong = String::from_utf8(digits).unwrap();
        assert_eq!(served.ask(&delivery("g", "issues", BODY, &wrong)).await.0, 401, "digit {place}");
    }
    assert_eq!(served.stored().await, 0);
    assert_eq!(served.deliver("g", BODY).await, 202);
}

#[tokio::test]
async fn t42_a_signature_must_be_whole_and_sha256() {
    let served = served(patient()).await;
    let right = sign(SECRET, BODY);
    let wrong = [
        right[..right.len() - 1].to_owned(),
        format!("{right}00"),
        right.replace("sha256=", "sha1="),
        right.replace("sha256=", ""),
        "sha256=".to_owned(),
        String::new(),
        sign("somebody else's secret, long enough!", BODY),
        sign("", BODY),
    ];
    for signature in wrong {
        assert_eq!(served.ask(&delivery("g", "issues", BODY, &signature)).await.0, 401, "{signature:?}");
    }
    let mut spaced = BODY.to_vec();
    spaced.push(b'\n');
    assert_eq!(served.ask(&delivery("g", "issues", &spaced, &right)).await.0, 401);
    assert_eq!(served.stored().await, 0);
}

#[tokio::test]
async fn t42_the_secret_before_is_taken_while_it_is_changed() {
    let served = served(patient()).await;
    assert_eq!(served.ask(&delivery("g", "issues", BODY, &sign(OLD_SECRET, BODY))).await.0, 202);
}

#[tokio::test]
async fn headers_that_are_missing_or_wrong_are_named() {
    let served = served(patient()).await;
    let length = BODY.len().to_string();
    let signature = sign(SECRET, BODY);
    let all = [
        ("x-github-delivery", "g"),
        ("x-github-event", "issues"),
        ("x-hub-signature-256", signature.as_str()),
        ("content-length", length.as_str()),
    ];
    let long = "g".repeat(200);
    let sha1 = ("x-hub-signature", "sha1=da39a3ee5e6b4b0d3255bfef95601890afd80709");
    let cases = [
        (0, None, 400, "X-GitHub-Delivery"),
        (1, None, 400, "X-GitHub-Event"),
        (2, None, 401, "X-Hub-Signature-256"),
        (2, Some(sha1), 401, "X-Hub-Signature-256"),
        (0, Some(("x-github-delivery", long.as_str())), 400, "X-GitHub-Delivery"),
        (0, Some(("x-github-delivery", "")), 400, "X-GitHub-Delivery"),
    ];
    for (without, with, status, named) in cases {
        let headers = all.iter().enumerate().filter(|(n, _)| *n != without).map(|(_, h)| *h).chain(with);
        let mut request = head(&headers.collect::<Vec<_>>());
        request.extend_from_slice(BODY);
        let (got, text) = served.ask(&request).await;
        assert_eq!(got, status, "without {without}, with {with:?}");
        assert!(text.contains(named), "{text}");
    }
    for extra in [("content-encoding", "gzip"), ("content-type", "application/x-www-form-urlencoded")] {
        let mut request = head(&[all.as_slice(), &[extra]].concat());
        request.extend_from_slice(BODY);
        assert_eq!(served.ask(&request).await.0, 415, "{extra:?}");
    }
    assert_eq!(served.stored().await, 0);
}

/// The delivery's id is not signed, its body is.
#[tokio::test]
async fn t43_a_replay_under_a_new_id_is_kept_once() {
    let served = served(patient()).await;
    let signature = sign(SECRET, BODY);
    for guid in ["first", "second", "third"] {
        assert_eq!(served.ask(&delivery(guid, "issue_comment", BODY, &signature)).await.0, 202, "no oracle");
    }
    assert_eq!(served.stored().await, 1);
}

/// Bounded fuzzing: whatever arrives, what is not signed is not kept, and the next one is heard.
#[tokio::test]
async fn t42_damaged_requests_are_never_kept() {
    let served = served(patient()).await;
    let whole = delivery("g", "issues", BODY, &sign(SECRET, BODY));
    let signed = whole.len() - BODY.len()..whole.len();
    let (mut seed, until) = (0x9e37_79b9_u64, std::time::Instant::now() + std::time::Duration::from_secs(2));
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap()
    };
    while std::time::Instant::now() < until {
        let mut damaged = whole.clone();
        // Within what is signed, so that none may pass; and now and then anywhere before it too.
        damaged[signed.start + random(signed.len())] ^= 1 << random(8);
        for _ in 0..random(4) {
            let at = random(damaged.len());
            if signed.contains(&at) {
                continue;
            }
            damaged[at] = u8::try_from(random(256)).unwrap();
        }
        // What makes it wait for more is let go by its deadline, which others test.
        let asked = tokio::time::timeout(std::time::Duration::from_millis(200), served.ask(&damaged)).await;
        assert!(asked.is_err() || asked.unwrap().0 != 202);
    }
    assert_eq!(served.stored().await, 0);
    assert_eq!(served.deliver("g", BODY).await, 202);
}
