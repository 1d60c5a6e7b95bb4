//! Credentials of the operator's, added on the host to what a sandbox asks of one destination.
//!
//! A sandbox never holds one. What it may ask with it is what the allow-list lets through; that an answer does not bring it back
//! is looked after as far as bytes can be known: see [`Echo`].

use crate::domain::egress::Destination;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT_ENCODING, AUTHORIZATION, IF_RANGE, RANGE},
};
use secrecy::{ExposeSecret, SecretString};
use std::sync::Arc;

/// Bytes of the shortest text that is looked for in answers: a shorter one would be found by chance.
const SHORTEST: usize = 8;

/// How a credential is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `Authorization: Bearer …`.
    Bearer,
    /// `Authorization: Basic …`, of `user:password`.
    Basic,
    /// In a header of its own.
    Header(HeaderName),
}

/// A credential for one destination.
#[derive(Clone)]
pub struct Credential {
    to: Destination,
    header: HeaderName,
    value: HeaderValue,
    needles: Arc<Vec<Vec<u8>>>,
    repositories: Vec<String>,
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a credential for {}", self.to)
    }
}

/// The value cannot be sent in a header.
#[derive(Debug, thiserror::Error)]
#[error("a credential that holds a line end or another control character cannot be sent")]
pub struct Unsendable;

impl Credential {
    /// A credential for a destination, used for these repositories (`owner/name`, `owner/*`); without any for all.
    ///
    /// # Errors
    /// Where the value cannot be sent.
    pub fn new(
        to: Destination,
        kind: &Kind,
        value: &SecretString,
        repositories: Vec<String>,
    ) -> Result<Self, Unsendable> {
        let secret = value.expose_secret();
        let encoded = BASE64_STANDARD.encode(secret);
        let (header, shown) = match kind {
            Kind::Bearer => (AUTHORIZATION, format!("Bearer {secret}")),
            Kind::Basic => (AUTHORIZATION, format!("Basic {encoded}")),
            Kind::Header(name) => (name.clone(), secret.to_owned()),
        };
        let mut value = HeaderValue::from_str(&shown).map_err(|_| Unsendable)?;
        // Nothing that prints requests prints it.
        value.set_sensitive(true);
        let password = secret.split_once(':').map_or("", |(_, password)| password);
        let known = [secret, encoded.trim_end_matches('='), password];
        let needles = known.into_iter().filter(|text| text.len() >= SHORTEST).map(|t| t.as_bytes().to_vec());
        Ok(Self { to, header, value, needles: Arc::new(needles.collect()), repositories })
    }

    /// Is it for requests of this repository? `repository`: `owner/name`.
    pub(super) fn is_for(&self, repository: &str) -> bool {
        let covers = |pattern: &String| match pattern.strip_suffix("/*") {
            Some(owner) => repository.split('/').next().is_some_and(|of| of.eq_ignore_ascii_case(owner)),
            None => repository.eq_ignore_ascii_case(pattern),
        };
        self.repositories.is_empty() || self.repositories.iter().any(covers)
    }

    /// Is it for this destination, and no other host or port?
    pub(super) fn is_about(&self, to: &Destination) -> bool {
        self.to == *to
    }

    /// Adds it to a request, in place of whatever the sandbox sent under that name. The answer must come in clear: in a compressed
    /// one nothing can be found.
    pub(super) fn put(&self, headers: &mut HeaderMap) {
        headers.insert(self.header.clone(), self.value.clone());
        headers.remove(ACCEPT_ENCODING);
        // Piece by piece it could be shown without being seen.
        headers.remove(RANGE);
        headers.remove(IF_RANGE);
    }

    pub(super) fn echo(&self) -> Echo {
        Echo { needles: self.needles.clone(), held: Vec::new() }
    }
}

/// Looks for a credential in an answer: some servers show what they were asked. It is found as it was sent, and as it was given;
/// not where a server encodes it otherwise.
pub(super) struct Echo {
    needles: Arc<Vec<Vec<u8>>>,
    /// The end of what came, where it may be the beginning of a credential.
    held: Vec<u8>,
}

/// An answer holds the credential that it was asked with.
#[derive(Debug, thiserror::Error)]
#[error("the answer shows the credential that it was asked with")]
pub(super) struct Echoed;

impl Echo {
    /// Removes headers that show it.
    pub(super) fn clean(&self, headers: &mut HeaderMap) {
        let shows = |value: &HeaderValue| self.is_in(value.as_bytes());
        let names: Vec<HeaderName> = headers.keys().cloned().collect();
        for name in names {
            if headers.get_all(&name).iter().any(shows) {
                headers.remove(name);
            }
        }
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        self.needles.iter().any(|needle| memchr::memmem::find(bytes, needle).is_some())
    }

    /// What of the bytes so far may go on.
    fn pass(&mut self, piece: &[u8]) -> Result<Bytes, Echoed> {
        self.held.extend_from_slice(piece);
        if self.is_in(&self.held) {
            return Err(Echoed);
        }
        let begun = |needle: &Vec<u8>| {
            let most = self.held.len().min(needle.len() - 1);
            (1..=most).rev().find(|n| self.held.ends_with(&needle[..*n])).unwrap_or_default()
        };
        let keep = self.needles.iter().map(begun).max().unwrap_or_default();
        let rest = self.held.split_off(self.held.len() - keep);
        Ok(Bytes::from(std::mem::replace(&mut self.held, rest)))
    }

    /// The pieces of an answer, up to one that shows it.
    pub(super) fn watch<E>(
        self,
        pieces: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> impl Stream<Item = Result<Bytes, Watched<E>>> {
        stream::unfold((pieces, Some(self)), |(mut pieces, echo)| async move {
            let mut echo = echo?;
            match pieces.next().await {
                Some(Ok(piece)) => match echo.pass(&piece) {
                    Ok(bytes) => Some((Ok(bytes), (pieces, Some(echo)))),
                    Err(Echoed) => Some((Err(Watched::Echoed), (pieces, None))),
                },
                Some(Err(error)) => Some((Err(Watched::Failed(error)), (pieces, None))),
                None if echo.held.is_empty() => None,
                // The beginning was all that came of it.
                None => Some((Ok(Bytes::from(echo.held)), (pieces, None))),
            }
        })
    }
}

/// Why the pieces of an answer end early.
pub(super) enum Watched<E> {
    /// They show the credential.
    Echoed,
    /// They do not come.
    Failed(E),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn credential(kind: &Kind, value: &str, repositories: &[&str]) -> Credential {
        let to = "packages.test:443".parse().unwrap();
        let repositories = repositories.iter().map(|r| (*r).to_owned()).collect();
        Credential::new(to, kind, &SecretString::from(value), repositories).unwrap()
    }

    #[test]
    fn it_is_for_its_repositories_and_its_very_destination() {
        let some = credential(&Kind::Bearer, "s3cret-s3cret", &["Acme/*", "other/one"]);
        for (repository, is) in [
            ("acme/a", true),
            ("ACME/b", true),
            ("other/One", true),
            ("other/two", false),
            ("acmex/a", false),
        ] {
            assert_eq!(some.is_for(repository), is, "{repository}");
        }
        assert!(credential(&Kind::Bearer, "s3cret-s3cret", &[]).is_for("any/one"));
        for (to, is) in
            [("packages.test:443", true), ("packages.test:8443", false), ("a.packages.test:443", false)]
        {
            assert_eq!(some.is_about(&to.parse().unwrap()), is, "{to}");
        }
    }

    #[test]
    fn it_takes_the_place_of_what_was_sent_and_is_never_printed() {
        let named = Kind::Header(HeaderName::from_static("x-job"));
        for (kind, header, expected) in [
            (Kind::Bearer, "authorization", "Bearer u:s3cret-s3cret"),
            (Kind::Basic, "authorization", "Basic dTpzM2NyZXQtczNjcmV0"),
            (named, "x-job", "u:s3cret-s3cret"),
        ] {
            let credential = credential(&kind, "u:s3cret-s3cret", &[]);
            let mut headers = HeaderMap::new();
            headers.append(HeaderName::from_static(header), HeaderValue::from_static("evil"));
            headers.append(HeaderName::from_static(header), HeaderValue::from_static("worse"));
            credential.put(&mut headers);
            let sent: Vec<_> = headers.get_all(header).iter().collect();
            assert_eq!(sent, [expected]);
            let printed = format!("{headers:?} {credential:?}");
            assert!(!printed.contains("cret") && !printed.contains("M2Ny"), "{printed}");
        }
        let line = Credential::new("a.test:1".parse().unwrap(), &Kind::Bearer, &"a\r\nb".into(), Vec::new());
        assert!(line.is_err());
    }

    fn watched(pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let echo = credential(&Kind::Basic, "user:s3cret-s3cret", &[]).echo();
        let pieces = stream::iter(pieces.iter().map(|p| Ok::<_, ()>(Bytes::copy_from_slice(p))));
        let all: Vec<_> = futures::executor::block_on(echo.watch(pieces).collect());
        let cut = all.iter().any(Result::is_err);
        (all.into_iter().flatten().flatten().collect(), cut)
    }

    proptest! {
        /// However it is cut into pieces: not one byte of a credential that is shown comes back, and nothing else is lost.
        #[test]
        fn t14_an_answer_never_shows_it(
            before in "[a-z:3 ]{0,40}", after in "[a-z]{0,40}", form in 0..3usize,
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let secret = ["user:s3cret-s3cret", "s3cret-s3cret", "dXNlcjpzM2NyZXQtczNjcmV0"][form];
            for (text, shows) in [(format!("{before}{secret}{after}"), true), (format!("{before}s3cret-{after}"), false)] {
                let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
                at.extend([0, text.len()]);
                at.sort_unstable();
                let pieces: Vec<&[u8]> = at.windows(2).map(|w| &text.as_bytes()[w[0]..w[1]]).collect();
                let (passed, cut) = watched(&pieces);
                prop_assert_eq!(cut, shows);
                if shows {
                    prop_assert!(!String::from_utf8_lossy(&passed).contains("s3cret"), "{:?}", passed);
                    prop_assert!(before.as_bytes().starts_with(&passed));
                } else {
                    prop_assert_eq!(passed, text.into_bytes());
                }
            }
        }
    }
}
