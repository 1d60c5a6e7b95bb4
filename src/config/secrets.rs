//! Secrets: given as a value, or as the path of a file that holds it (as container platforms mount them).

use super::{Config, ConfigError, ConfigLayer, Provider};
use secrecy::{ExposeSecret, SecretString};
use std::path::{Path, PathBuf};

/// Shorter ones can be guessed by trying.
const SHORTEST_WEBHOOK_SECRET: usize = 32;

/// A secret's two settings in a layer, under its name.
type Pair<'a> = (&'static str, &'a mut Option<SecretString>, &'a mut Option<PathBuf>);

fn pairs(layer: &mut ConfigLayer) -> [Pair<'_>; 6] {
    let (github, model, network) = (&mut layer.github, &mut layer.model, &mut layer.network);
    [
        ("database", &mut layer.database, &mut layer.database_file),
        ("github.private_key", &mut github.private_key, &mut github.private_key_file),
        ("github.webhook_secret", &mut github.webhook_secret, &mut github.webhook_secret_file),
        ("github.webhook_secret_old", &mut github.webhook_secret_old, &mut github.webhook_secret_old_file),
        ("model.key", &mut model.key, &mut model.key_file),
        ("network.proxy", &mut network.proxy, &mut network.proxy_file),
    ]
}

/// A secret of a higher layer replaces the lower one's, in whichever form either is given.
pub(super) fn give_way(higher: &ConfigLayer, layer: &mut ConfigLayer) {
    let (github, model) = (&higher.github, &higher.model);
    let set = [
        higher.database.is_some(),
        github.private_key.is_some(),
        github.webhook_secret.is_some(),
        github.webhook_secret_old.is_some(),
        model.key.is_some() || model.key_env.is_some(),
        higher.network.proxy.is_some(),
    ];
    for ((_, value, file), set) in pairs(layer).into_iter().zip(set) {
        if set {
            (*value, *file) = (None, None);
        }
    }
    if model.key.is_some() {
        layer.model.key_env = None;
    }
}

/// Reads the files that secrets are in.
pub(super) fn read_files(layer: &mut ConfigLayer) -> Result<(), ConfigError> {
    for (name, value, file) in pairs(layer) {
        let Some(path) = file.as_ref() else { continue };
        if value.is_some() {
            return Err(ConfigError(format!("{name} and {name}_file are both set: keep one")));
        }
        *value = Some(read(&format!("{name}_file"), path)?);
    }
    let credentials = layer.egress.credentials.iter_mut().flatten();
    credentials.into_iter().try_for_each(super::Credential::read)
}

/// Reads a file with a secret; `setting` names it.
pub(super) fn read(setting: &str, path: &Path) -> Result<SecretString, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| ConfigError(format!("{setting}: {} cannot be read: {e}", path.display())))?;
    if text.trim().is_empty() {
        return Err(ConfigError(format!("{setting}: {} is empty", path.display())));
    }
    // The last line end is the editor's, not the secret's.
    Ok(text.trim_end_matches(['\r', '\n']).into())
}

impl Config {
    /// Takes the model's key from the variable that `key_env` names (else the provider's usual one), where no key is set.
    pub fn key_from_environment(&mut self) -> Result<(), ConfigError> {
        let usual = match self.model.provider {
            Provider::Anthropic => Some("ANTHROPIC_API_KEY"),
            Provider::Openai => Some("OPENAI_API_KEY"),
            Provider::OpenaiCompatible => None,
        };
        let named = self.model.key_env.as_deref();
        let Some(variable) = named.or(usual).filter(|_| self.model.key.is_none()) else { return Ok(()) };
        match std::env::var(variable) {
            Ok(key) if !key.is_empty() => self.model.key = Some(key.into()),
            _ if named.is_some() => {
                return Err(ConfigError(format!("model.key_env: the variable {variable} is not set")));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Checks what can be checked without using them.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    let secrets = [
        ("github.webhook_secret", &config.github.webhook_secret),
        ("github.webhook_secret_old", &config.github.webhook_secret_old),
    ];
    for (name, secret) in secrets {
        let length = secret.as_ref().map_or(usize::MAX, |s| s.expose_secret().len());
        if length < SHORTEST_WEBHOOK_SECRET {
            return Err(ConfigError(format!(
                "{name} has {length} characters and needs at least {SHORTEST_WEBHOOK_SECRET}: \
                 `openssl rand -hex 32` makes one; set the same at GitHub"
            )));
        }
    }
    if config.model.key.as_ref().is_some_and(|key| key.expose_secret().trim().is_empty()) {
        return Err(ConfigError(
            "model.key is empty: leave it out, or name a file with `model.key_file`".to_owned(),
        ));
    }
    config.github.private_key.as_ref().map_or(Ok(()), can_sign)
}

/// Signs something with the App's key: whether a PEM holds a key shows in nothing less.
fn can_sign(key: &SecretString) -> Result<(), ConfigError> {
    use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
    let key = key.expose_secret();
    if !key.contains("-----BEGIN ") {
        return Err(ConfigError(
            "github.private_key is no PEM: it begins with `-----BEGIN RSA PRIVATE KEY-----`".to_owned(),
        ));
    }
    let signed = EncodingKey::from_rsa_pem(key.as_bytes())
        .and_then(|key| encode(&Header::new(Algorithm::RS256), &serde_json::json!({}), &key));
    signed.map(|_| ()).map_err(|_| {
        ConfigError(
            "github.private_key holds no RSA private key, though it looks like a PEM: generate a new one on the App's \
             settings page and name the file it downloads"
                .to_owned(),
        )
    })
}
