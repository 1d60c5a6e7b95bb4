//! Which headers pass.

use crate::domain::{Fault, seeded};
use http::{
    HeaderMap, HeaderName,
    header::{
        ALT_SVC, AUTHORIZATION, CONNECTION, COOKIE, EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
        TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
    },
};

/// Of one connection and nobody else's. Source: RFC 9110, 7.6.1.
const HOP: [HeaderName; 9] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// What proves who asks. A sandbox has no credential of ours, so what comes out of it is somebody else's: with their key an
/// allowed host becomes their letter box.
const CREDENTIALS: [HeaderName; 5] = [
    AUTHORIZATION,
    COOKIE,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("private-token"),
    HeaderName::from_static("job-token"),
];

/// What of a request goes on to the destination. Its host and length are said anew.
pub(super) fn onward(mut headers: HeaderMap) -> HeaderMap {
    without_hops(&mut headers);
    for name in [HOST, EXPECT, http::header::CONTENT_LENGTH] {
        headers.remove(name);
    }
    for name in CREDENTIALS.iter().filter(|_| !seeded(Fault::CredentialsPassed)) {
        headers.remove(name);
    }
    headers
}

/// What of an answer comes back. Another service that it may offer cannot be reached from inside.
pub(super) fn back(mut headers: HeaderMap) -> HeaderMap {
    without_hops(&mut headers);
    headers.remove(ALT_SVC);
    headers
}

fn without_hops(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> =
        named.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    for name in HOP.iter().chain(&named) {
        headers.remove(name);
    }
}
