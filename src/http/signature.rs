//! Whether a delivery is GitHub's: HMAC-SHA256 over the raw bytes, compared in constant time.
//!
//! Source: GitHub docs, "Validating webhook deliveries". The SHA-1 header beside it is ignored.

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// What deliveries are signed with: the secret, and while it is being changed the one before it.
#[derive(Debug)]
pub struct WebhookSecrets {
    /// The App's present secret.
    pub current: SecretString,
    /// The one before, until GitHub has stopped using it.
    pub old: Option<SecretString>,
}

impl WebhookSecrets {
    /// Was this body signed with one of the secrets? `signature` is the value of `X-Hub-Signature-256`.
    pub(super) fn verify(&self, body: &[u8], signature: &str) -> bool {
        let mut given = [0; 32];
        let Some(digits) = signature.strip_prefix("sha256=") else { return false };
        if hex::decode_to_slice(digits, &mut given).is_err() {
            return false;
        }
        std::iter::once(&self.current).chain(&self.old).any(|secret| signed(secret, body, &given))
    }
}

fn signed(secret: &SecretString, body: &[u8], given: &[u8; 32]) -> bool {
    // A key of any length fits HMAC; were it refused, so is the delivery.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) else { return false };
    mac.update(body);
    mac.verify_slice(given).is_ok()
}
