//! For pages that are this machine's alone: they answer to its own names and to no other.
//!
//! A page of the web whose name leads to 127.0.0.1 (DNS rebinding) is for a browser the same origin as what answers there,
//! and could read it. The browser tells the name that it was given; it is compared without its port, which a tunnel
//! changes and which such a page could choose as it likes.

use super::html::{answer, notice};
use axum::{
    extract::Request,
    http::{StatusCode, header, uri::Authority},
    middleware::Next,
    response::Response,
};
use std::net::IpAddr;

/// Refuses what was asked by another name.
pub(super) async fn guard(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(is_ours) {
        let only = "This page answers to localhost and 127.0.0.1 alone.";
        return answer(StatusCode::FORBIDDEN, notice("Not shown", only));
    }
    next.run(request).await
}

/// Is this `Host` a name of loopback? An address cannot be anybody's domain; of names there is one (RFC 6761, 6.3).
fn is_ours(host: &str) -> bool {
    let Ok(host) = host.parse::<Authority>() else { return false };
    let name = host.host().trim_start_matches('[').trim_end_matches(']');
    !host.as_str().contains('@')
        && (name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn only_loopbacks_own_names_are_ours() {
        for ours in
            ["localhost", "LOCALHOST:80", "localhost:9000", "127.0.0.1:1", "127.0.0.1", "[::1]:8080", "[::1]"]
        {
            assert!(is_ours(ours), "{ours}");
        }
        let others = "attacker.example.com attacker.example.com:80 localhost.example.com localhost.evil:80 0.0.0.0:80 \
                      127.0.0.1.example.com 10.0.0.1 [::2]:1 localhost@example.com example.com@localhost localhost/ :80";
        for other in others.split(' ').chain(["", " "]) {
            assert!(!is_ours(other), "{other}");
        }
    }
}
