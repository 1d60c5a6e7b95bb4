//! The proxy that a machine reaches the world by, and what it reaches without.

use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};
use std::net::IpAddr;
use url::Url;

/// The port of a proxy that names none. Source: the URL standard, for `http`.
const USUAL_PORT: u16 = 80;

/// A proxy for HTTP, and for TLS by CONNECT.
#[derive(Clone, Debug)]
pub struct Proxy {
    host: String,
    port: u16,
    account: Option<Account>,
    except: Vec<Except>,
}

#[derive(Clone, Debug)]
struct Account {
    name: String,
    password: SecretString,
}

/// What is reached without it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Except {
    Everything,
    /// A host, and all below it.
    Name(String),
    /// A network; one address is one, too.
    Network(IpNet),
}

/// Why a text names no proxy. Never says the text itself: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// It is no address.
    #[error("an address like \"http://proxy.example.com:3128\" is expected")]
    Address,
    /// It is reached by another protocol.
    #[error(
        "only a proxy that is reached by http:// can be used; what passes it stays encrypted from end to end"
    )]
    Scheme,
    /// What stands among the exceptions is none.
    #[error("hosts, \".example.com\" or \"10.0.0.0/8\" are expected as exceptions")]
    Except,
}

impl Proxy {
    /// Reads `http://[NAME:PASSWORD@]HOST[:PORT]`, and what is reached without it: hosts with all below them, addresses, networks
    /// (`10.0.0.0/8`), `*`.
    ///
    /// # Errors
    /// Why it names none.
    pub fn parse(address: &str, except: &[impl AsRef<str>]) -> Result<Self, ProxyError> {
        // As the variables have it that programs read: without a scheme it is http.
        let whole = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        let url = Url::parse(whole.trim()).map_err(|_| ProxyError::Address)?;
        if url.scheme() != "http" {
            return Err(ProxyError::Scheme);
        }
        let plain = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let host = url.host_str().filter(|_| plain).ok_or(ProxyError::Address)?;
        let decoded =
            |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        let account = (!url.username().is_empty()).then(|| Account {
            name: decoded(url.username()),
            password: decoded(url.password().unwrap_or_default()).into(),
        });
        let except = except.iter().map(|text| excepted(text.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self { host: host.to_owned(), port: url.port().unwrap_or(USUAL_PORT), account, except })
    }

    /// Is this host reached by it? This machine itself never is.
    pub fn is_for(&self, host: &str) -> bool {
        let host =
            host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
            return false;
        }
        !self.except.iter().any(|except| match except {
            Except::Everything => true,
            Except::Name(name) => {
                host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            Except::Network(network) => address.is_some_and(|address| network.contains(&address)),
        })
    }

    /// `HOST:PORT`, to be connected to and to be shown.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Who asks, where it wants to know: name and password.
    pub fn account(&self) -> Option<(&str, &SecretString)> {
        self.account.as_ref().map(|account| (account.name.as_str(), &account.password))
    }

    /// All of it as one address, for a program that takes it so.
    pub fn url(&self) -> SecretString {
        let encoded = |text: &str| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
        };
        let account = self.account().map_or_else(String::new, |(name, password)| {
            format!("{}:{}@", encoded(name), encoded(password.expose_secret()))
        });
        format!("http://{account}{}", self.address()).into()
    }
}

fn excepted(text: &str) -> Result<Except, ProxyError> {
    let text = text.trim().to_ascii_lowercase();
    if text == "*" {
        return Ok(Except::Everything);
    }
    if text.contains('/') {
        return text.parse().map(Except::Network).map_err(|_| ProxyError::Except);
    }
    if let Ok(address) = text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        return Ok(Except::Network(address.into()));
    }
    // "*.example.com" and ".example.com" mean what "example.com" does: with or without the host itself is told apart nowhere.
    let name = text.trim_start_matches('*').trim_start_matches('.');
    let sign = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    match !name.is_empty() && name.chars().all(sign) {
        true => Ok(Except::Name(name.to_owned())),
        false => Err(ProxyError::Except),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_other_programs_read_it() {
        for (text, address) in [
            ("http://proxy.test:3128", "proxy.test:3128"),
            ("http://proxy.test:3128/", "proxy.test:3128"),
            ("proxy.test:8080", "proxy.test:8080"),
            ("http://proxy.test:80", "proxy.test:80"),
            ("http://proxy.test", "proxy.test:80"),
            ("http://[fd00::1]:3128", "[fd00::1]:3128"),
        ] {
            assert_eq!(Proxy::parse(text, &[""; 0]).unwrap().address(), address, "{text}");
        }
        for text in ["", "http://", "http://a b", "http://proxy.test/path", "http://proxy.test:99999"] {
            assert_eq!(Proxy::parse(text, &[""; 0]).unwrap_err(), ProxyError::Address, "{text}");
        }
        for text in ["https://proxy.test:3128", "socks5://proxy.test:1080"] {
            assert_eq!(Proxy::parse(text, &[""; 0]).unwrap_err(), ProxyError::Scheme, "{text}");
        }
    }

    #[test]
    fn t11_its_password_is_never_printed() {
        let proxy = Proxy::parse("http://me:p%40ss%2Fword@proxy.test:3128", &[""; 0]).unwrap();
        let (name, password) = proxy.account().unwrap();
        assert_eq!((name, password.expose_secret()), ("me", "p@ss/word"));
        assert_eq!(proxy.url().expose_secret(), "http://me:p%40ss%2Fword@proxy.test:3128");
        let printed = format!("{proxy:?} {}", proxy.address());
        assert!(!printed.contains("p@ss") && !printed.contains("p%40"), "{printed}");
    }

    #[test]
    fn what_is_excepted_is_reached_without_it() {
        let except = ["git.test", ".corp.test", "*.lab.test", "10.0.0.0/8", "192.0.2.7", "fd00::/8"];
        let proxy = Proxy::parse("http://proxy.test:3128", &except).unwrap();
        for (host, is) in [
            ("api.github.com", true),
            ("git.test", false),
            ("GIT.test.", false),
            ("a.git.test", false),
            ("agit.test", true),
            ("x.corp.test", false),
            ("x.lab.test", false),
            ("10.200.3.4", false),
            ("11.0.0.1", true),
            ("192.0.2.7", false),
            ("192.0.2.8", true),
            ("[fd00::5]", false),
            ("2001:db8::1", true),
            ("localhost", false),
            ("127.0.0.1", false),
            ("::1", false),
        ] {
            assert_eq!(proxy.is_for(host), is, "{host}");
        }
        assert!(!Proxy::parse("p:1", &["*"]).unwrap().is_for("any.test"));
        for bad in ["10.0.0.0/33", "a b", "", "x/8", "http://a"] {
            assert_eq!(Proxy::parse("p:1", &[bad]).unwrap_err(), ProxyError::Except, "{bad}");
        }
    }
}
