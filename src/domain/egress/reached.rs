//! What was reached outside, and how much passed: for the audit.

use super::Destination;
use std::collections::BTreeMap;

/// What passed between a sandbox and one destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests by method; connections that passed unopened are `CONNECT`.
    pub asked: BTreeMap<&'static str, u64>,
    /// Bytes that left: paths, headers and bodies of requests.
    pub sent: u64,
    /// Bytes of answers that came in.
    pub received: u64,
}

/// What a sandbox reached so far. No longer than the allow-list: nothing else is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached(BTreeMap<Destination, Traffic>);

impl Reached {
    /// A request of so many bytes went to a destination.
    pub fn asked(&mut self, to: &Destination, method: &str, bytes: usize) {
        let traffic = self.of(to);
        let method = ["GET", "HEAD", "POST", "CONNECT"].into_iter().find(|known| *known == method);
        *traffic.asked.entry(method.unwrap_or("other")).or_default() += 1;
        traffic.sent += bytes as u64;
    }

    /// More bytes went to it.
    pub fn sent(&mut self, to: &Destination, bytes: usize) {
        self.of(to).sent += bytes as u64;
    }

    /// Bytes came back from it.
    pub fn received(&mut self, to: &Destination, bytes: usize) {
        self.of(to).received += bytes as u64;
    }

    /// Each destination with what passed.
    pub fn iter(&self) -> impl Iterator<Item = (&Destination, &Traffic)> {
        self.0.iter()
    }

    fn of(&mut self, to: &Destination) -> &mut Traffic {
        self.0.entry(to.clone()).or_default()
    }
}
