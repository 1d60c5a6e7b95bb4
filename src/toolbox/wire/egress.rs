//! What both ends of a sandbox's way out must agree on: where it listens inside, which files and variables lead there.

use serde::{Deserialize, Serialize};

/// Where the proxy listens, on the sandbox's loopback: below the range from which a system gives out ports by itself, and no
/// well-known service's.
pub const PORT: u16 = 13128;

/// The certificates that programs inside trust.
pub const CERTIFICATES: &str = "certificates.pem";

/// The file that apt is told with.
pub const APT: &str = "apt.conf";

/// Never on an allow-list, and no name that could ever be: what is asked for to see a refusal.
/// Source: RFC 6761, 6.4.
pub const FORBIDDEN: &str = "forbidden.invalid";

/// Connections that the proxy inside carries at once; the next ones wait. A package manager opens a few dozen.
pub const STREAMS: usize = 128;

/// Streams at which the host takes the other end for something else: what has just been closed counts for a moment longer.
const MOST: usize = 2 * STREAMS;

/// Bytes that may wait in each stream, for both ends, before more is sent. Source: the yamux specification.
const WINDOW: usize = 256 << 10;

/// Bytes more that may wait inside, in streams that carry much: with no more than a window on its way, a download is as fast
/// as windows can be asked for anew, and through a container engine that takes a while. They lie in the sandbox's own
/// memory; the host gives no more than it must.
pub const ROOM: usize = 32 << 20;

/// Bytes that travel at once: large enough to be quick through a container engine, small enough for others to come between.
pub const PIECE: usize = 64 << 10;

/// What `toolbox egress --check` saw from inside, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Network interfaces.
    pub interfaces: Vec<String>,
    /// Addresses outside that a connection was made to without the proxy.
    pub reached: Vec<String>,
    /// What was asked of the proxy, and the status it answered with; zero: none.
    pub answers: Vec<(String, u16)>,
}

/// The arguments of `toolbox egress`: the session's certificate, and whether the image's own roots are trusted beside it.
pub fn arguments(certificate: &str, system_roots: bool) -> Vec<String> {
    let mut arguments = vec!["egress".to_owned(), "--certificate".to_owned(), certificate.to_owned()];
    arguments.extend(system_roots.then(|| "--system-roots".to_owned()));
    arguments
}

/// The arguments of the check.
pub fn check_arguments() -> Vec<String> {
    vec!["egress".to_owned(), "--check".to_owned()]
}

/// The variables by which programs find the proxy and the certificates. `folder` is where the toolbox keeps its own.
pub fn environment(folder: &str) -> Vec<(&'static str, String)> {
    let proxy = format!("http://127.0.0.1:{PORT}");
    let certificates = format!("{folder}/{CERTIFICATES}");
    let proxies = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    // OpenSSL and Go; Python; Node; cargo; pip; git; curl; tools of one cloud; Deno.
    let files = [
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "CARGO_HTTP_CAINFO",
        "PIP_CERT",
        "GIT_SSL_CAINFO",
        "CURL_CA_BUNDLE",
        "AWS_CA_BUNDLE",
        "DENO_CERT",
    ];
    let loopback = "localhost,127.0.0.1,::1".to_owned();
    let mut all: Vec<(&'static str, String)> = proxies.map(|name| (name, proxy.clone())).to_vec();
    all.extend(files.map(|name| (name, certificates.clone())));
    all.extend(["no_proxy", "NO_PROXY"].map(|name| (name, loopback.clone())));
    // Node's own client heeds the variables above only when told.
    all.extend([("NODE_USE_ENV_PROXY", "1".to_owned()), ("APT_CONFIG", format!("{folder}/{APT}"))]);
    all
}

/// How both ends multiplex; `room`: bytes that may wait beyond a window for each stream.
pub fn multiplexing(room: usize) -> yamux::Config {
    let mut config = yamux::Config::default();
    config.set_max_num_streams(MOST);
    config.set_max_connection_receive_window(Some(MOST * WINDOW + room));
    config.set_split_send_size(PIECE);
    config
}
