//! The certificates of one session: its own root, kept in memory and nowhere else, and a leaf for each host.
//!
//! The root is good for the names of the allow-list alone and hardly longer than the session: found in a sandbox's remains it
//! is worth nothing, and its key never leaves this process.

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, NameConstraints,
};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use time::OffsetDateTime;

/// Clocks of a container and of its host are the same; those of a remote engine may differ a little.
const SKEW: Duration = Duration::from_secs(3600);

/// A certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// By the library for certificates.
    #[error("a certificate for the sandbox could not be made: {0}")]
    Made(#[from] rcgen::Error),
    /// By the library for TLS.
    #[error("a certificate for the sandbox cannot be used: {0}")]
    Used(#[from] rustls::Error),
}

/// A session's own authority.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    /// One key for all leaves: they lie in the same memory.
    leaf_key: KeyPair,
    until: OffsetDateTime,
    leaves: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

impl Authority {
    /// For these hosts and no others.
    pub(super) fn new<'a>(
        hosts: impl Iterator<Item = &'a str>,
        life: Duration,
    ) -> Result<Self, CertificateError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "fixpoint session");
        params.name_constraints = Some(constraints(hosts));
        let now = OffsetDateTime::now_utc();
        (params.not_before, params.not_after) = (now - SKEW, now + life + SKEW);
        let until = params.not_after;
        let pem = params.self_signed(&key)?.pem();
        let leaf_key = KeyPair::generate()?;
        Ok(Self { issuer: Issuer::new(params, key), pem, leaf_key, until, leaves: Mutex::default() })
    }

    /// The root, in PEM: what a sandbox is given.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// What a host's TLS is served with; made at the first time.
    pub(super) fn server(&self, host: &str) -> Result<Arc<ServerConfig>, CertificateError> {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = leaves.get(host) {
            return Ok(known.clone());
        }
        let made = Arc::new(self.leaf(host)?);
        // Bounded by the allow-list: a leaf is made for what is on it and nothing else.
        leaves.insert(host.to_owned(), made.clone());
        Ok(made)
    }

    fn leaf(&self, host: &str) -> Result<ServerConfig, CertificateError> {
        let key = PrivateKeyDer::Pkcs8(self.leaf_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate(host)?], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    /// A certificate for a host. That the root is not good for others is what the sandbox's programs go by.
    pub(super) fn certificate(&self, host: &str) -> Result<CertificateDer<'static>, CertificateError> {
        let mut params = CertificateParams::new(vec![host.to_owned()])?;
        params.use_authority_key_identifier_extension = true;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        (params.not_before, params.not_after) = (OffsetDateTime::now_utc() - SKEW, self.until);
        Ok(params.signed_by(&self.leaf_key, &self.issuer)?.der().clone())
    }
}

/// These hosts alone. A form of name that is not spoken of would be free, so each form is: without an address among the hosts
/// every address is excluded, without a name every name.
fn constraints<'a>(hosts: impl Iterator<Item = &'a str>) -> NameConstraints {
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    for host in hosts {
        match host.parse::<IpAddr>() {
            Ok(IpAddr::V4(v4)) => addresses.push(CidrSubnet::V4(v4.octets(), [255; 4])),
            Ok(IpAddr::V6(v6)) => addresses.push(CidrSubnet::V6(v6.octets(), [255; 16])),
            Err(_) => names.push(host.to_owned()),
        }
    }
    let mut excluded_subtrees = Vec::new();
    if addresses.is_empty() {
        let every = [CidrSubnet::V4([0; 4], [0; 4]), CidrSubnet::V6([0; 16], [0; 16])];
        excluded_subtrees.extend(every.map(GeneralSubtree::IpAddress));
    }
    if names.is_empty() {
        excluded_subtrees.push(GeneralSubtree::DnsName(String::new()));
    }
    let names = names.into_iter().map(GeneralSubtree::DnsName);
    let permitted_subtrees = names.chain(addresses.into_iter().map(GeneralSubtree::IpAddress)).collect();
    NameConstraints { permitted_subtrees, excluded_subtrees }
}
