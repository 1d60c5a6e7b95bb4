//! A host and a port, in one spelling.

use super::GATEWAY;
use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// The longest name. Source: RFC 1035, 2.3.4.
const NAME: usize = 253;
/// Its longest part. Source: the same.
const LABEL: usize = 63;

/// A host and a port. Two that mean the same are equal: names are in lower case, addresses in their shortest form, and
/// whatever a resolver would read as an address in disguise (`0177.1`, `2130706433`) is none of either.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination {
    host: String,
    port: u16,
}

/// Why a text names no destination.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    /// A port is missing.
    #[error("it names no port: write `HOST:PORT`, such as `{0}:443`")]
    NoPort(String),
    /// The port is none.
    #[error("`{0}` is not a port: a number from 1 to 65535 is expected")]
    Port(String),
    /// The host is no name.
    #[error("`{0}` is neither a host's name nor an address as four decimal numbers or `[IPv6]`")]
    Host(String),
    /// A pattern.
    #[error(
        "patterns are not taken: behind one name of a shared domain is whoever rents it; write each host"
    )]
    Pattern,
    /// An address of the web.
    #[error("write `HOST:PORT` alone, without `http://` or `https://`")]
    Scheme,
}

impl Destination {
    /// A host in whatever case, and a port.
    ///
    /// # Errors
    /// Where the host is neither a name nor an address in its plain spelling.
    pub fn new(host: &str, port: u16) -> Result<Self, DestinationError> {
        let bad = || DestinationError::Host(host.to_owned());
        if port == 0 {
            return Err(DestinationError::Port("0".to_owned()));
        }
        if host.contains('*') {
            return Err(DestinationError::Pattern);
        }
        let lower = host.to_ascii_lowercase();
        if let Some(inner) = lower.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']').ok_or_else(bad)?.parse().map_err(|_| bad())?;
            return Ok(Self { host: address.to_string(), port });
        }
        match lower.parse::<Ipv4Addr>() {
            Ok(address) => Ok(Self { host: address.to_string(), port }),
            Err(_) if is_name(&lower) => Ok(Self { host: lower, port }),
            Err(_) => Err(bad()),
        }
    }

    /// The name, or the address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, where the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// The model gateway's.
    pub fn is_gateway(&self) -> bool {
        self.host == GATEWAY
    }
}

impl FromStr for Destination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, DestinationError> {
        if text.contains("://") {
            return Err(DestinationError::Scheme);
        }
        // The colons of an IPv6 address are inside its brackets.
        let split = match text.rfind(']') {
            Some(end) => text[end..].find(':').map(|at| end + at),
            None => text.rfind(':'),
        };
        let Some(at) = split else { return Err(DestinationError::NoPort(text.to_owned())) };
        let (host, port) = (&text[..at], &text[at + 1..]);
        if host.contains(':') && !host.starts_with('[') {
            return Err(DestinationError::Host(host.to_owned()));
        }
        let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let number = port.parse().ok().filter(|_| digits);
        Self::new(host, number.ok_or_else(|| DestinationError::Port(port.to_owned()))?)
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// A host's name, in lower case. One whose last part is a number would be read as an address by some.
/// Source: the URL standard, "ends in a number".
fn is_name(host: &str) -> bool {
    let sign = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    let label = |label: &str| {
        (1..=LABEL).contains(&label.len())
            && label.bytes().all(sign)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    let number = last.bytes().all(|b| b.is_ascii_digit()) || hexadecimal;
    host.len() <= NAME && host.split('.').all(label) && !number
}
