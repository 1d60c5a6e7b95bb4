//! The proxy: the configuration's, else the environment's.

use super::{Config, ConfigError};
use crate::domain::network::Proxy;
use secrecy::ExposeSecret;

/// Uses no proxy, whatever the environment says.
const NONE: &str = "none";

/// As other programs read them. The large one first: that is what container platforms set.
const VARIABLES: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
/// The same for what is reached without it.
const EXCEPT: [&str; 2] = ["NO_PROXY", "no_proxy"];

impl Config {
    /// The proxy that this machine reaches the world by, if there is one.
    ///
    /// # Errors
    /// Where its setting names none.
    pub fn proxy(&self) -> Result<Option<Proxy>, ConfigError> {
        let network = &self.network;
        let Some(address) = network.proxy.as_ref().map(ExposeSecret::expose_secret) else {
            return Ok(None);
        };
        if address.trim() == NONE {
            return Ok(None);
        }
        let proxy = Proxy::parse(address.trim(), &network.no_proxy);
        proxy.map(Some).map_err(|error| ConfigError(format!("network.proxy: {error}")))
    }

    /// Takes the environment's, where the configuration names none.
    pub(super) fn proxy_from_environment(&mut self) {
        if self.network.proxy.is_some() {
            return;
        }
        self.network.proxy = first(VARIABLES).map(Into::into);
        if self.network.proxy.is_some() {
            let except = first(EXCEPT).unwrap_or_default();
            let except = except.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty());
            // Some write a port behind a host: what is reached without the proxy is so on every port.
            let except =
                except.map(|entry| entry.rsplit_once(':').filter(is_port).map_or(entry, |(host, _)| host));
            // What is a pattern to some other program only is no reason not to start.
            let except = except.filter(|entry| Proxy::parse("http://localhost", &[entry]).is_ok());
            self.network.no_proxy.extend(except.map(str::to_owned));
        }
    }
}

/// The environment's proxy, where there is no configuration to say another.
///
/// # Errors
/// Where the variable names none.
pub fn proxy_of_environment() -> Result<Option<Proxy>, ConfigError> {
    let mut config = Config::default();
    config.proxy_from_environment();
    config.proxy()
}

fn is_port((host, port): &(&str, &str)) -> bool {
    !host.contains(':') && port.bytes().all(|b| b.is_ascii_digit())
}

fn first(names: [&str; 2]) -> Option<String> {
    names.into_iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.trim().is_empty())
}
