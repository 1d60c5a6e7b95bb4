//! What a sandbox may reach: whether it can be reached from here, and what this machine's package managers would want.

use super::{Finding, Patient};
use crate::{
    app::mirrors::{Mirror, mirrors},
    config::Engine,
    domain::egress::{AllowList, Destination, Reach, Rule, reach},
};

const SUBJECT: &str = "egress";

/// The list, each name of it, and what is not on it.
pub(super) async fn reachable(patient: &Patient) -> Vec<Finding> {
    let config = &patient.config;
    if patient.only_observes() || config.sandbox.kind == Engine::Local {
        return Vec::new();
    }
    // A list that cannot be read was told with the configuration.
    let Ok(list) = AllowList::parse(&config.egress.allow) else { return Vec::new() };
    let proxy = config.proxy().ok().flatten();
    let mut said = match list.rules().len() {
        0 => "sandboxes reach nothing".to_owned(),
        1 => "sandboxes reach 1 destination".to_owned(),
        more => format!("sandboxes reach {more} destinations"),
    };
    match config.egress.credentials.len() {
        0 => {}
        1 => said += ", with a credential that stays on this machine",
        more => said += &format!(", with {more} credentials that stay on this machine"),
    }
    if let Some(proxy) = &proxy {
        said += &format!(", by the proxy {}", proxy.address());
    }
    let mut found = Finding::ok(SUBJECT, said);
    let missing: Vec<Mirror> = mirrors().await.into_iter().filter(|mirror| !is_on(&list, mirror)).collect();
    if !missing.is_empty() {
        found = found.mend(
            "this machine's package managers use more; to let sandboxes fetch packages, add to egress.allow:",
        );
        for mirror in missing {
            found = found.mend(format!("\"{}\", # {}", mirror.entry, mirror.users.join(", ")));
        }
    }
    let mut all = vec![found];
    for rule in list.rules() {
        let by_proxy = proxy.as_ref().is_some_and(|proxy| proxy.is_for(rule.to.host()));
        all.extend(closed(rule, by_proxy).await);
    }
    all
}

fn is_on(list: &AllowList, mirror: &Mirror) -> bool {
    mirror.entry.parse::<Rule>().is_ok_and(|rule| list.connect(&rule.to).is_ok())
}

/// An entry that would be refused for its address, or leads nowhere. What a proxy is asked for, it may alone be able to resolve.
async fn closed(rule: &Rule, by_proxy: bool) -> Option<Finding> {
    let to: &Destination = &rule.to;
    let Ok(addresses) = tokio::net::lookup_host((to.host(), to.port())).await else {
        if by_proxy {
            return None;
        }
        return Some(
            Finding::warn(SUBJECT, format!("{to} has no address here"))
                .mend("look whether it is spelt rightly"),
        );
    };
    let worst = addresses.map(|address| reach(address.ip())).max_by_key(|reach| match reach {
        Reach::Global => 0,
        Reach::Private => 1,
        Reach::Never => 2,
    });
    match worst {
        Some(Reach::Private) if !rule.private => Some(
            Finding::warn(SUBJECT, format!("{to} has an address of a private network and will be refused"))
                .mend(format!("where that is meant, write \"{to} private\" in egress.allow")),
        ),
        Some(Reach::Never) => {
            Some(Finding::warn(SUBJECT, format!("{to} has an address that is never reached from a sandbox")))
        }
        _ => None,
    }
}
