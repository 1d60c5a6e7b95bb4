//! A round's way out: opened before anything untrusted runs in the sandbox, and proved from inside. One that lets through
//! what it must not is none.

use crate::{
    agent::Gateway,
    egress::{Attached, EgressError, Way},
    sandbox::{Command, Sandbox},
    toolbox::wire::egress as inside,
    work::Parts,
};
use std::{sync::Arc, time::Duration};
use tokio::io::AsyncReadExt;

/// Bytes of what the check inside says.
const SAID: u64 = 8 << 10;

/// The longest wait for it: every address that it tries in vain takes a moment.
const PATIENCE: Duration = Duration::from_secs(60);

/// A way out that a sandbox uses.
pub(super) struct Open {
    way: Way,
    attached: Attached,
}

/// Does a round of these parts need one? Without, its sandbox has nothing that could be asked.
pub(super) fn is_wanted(parts: &Parts, gateway: Option<&Arc<Gateway>>) -> bool {
    gateway.is_some() || !parts.settings.allow.is_empty()
}

/// Opens the way, with the model's gateway as its one local service, and proves it.
///
/// # Errors
/// A sentence for the operator: the round does not begin.
pub(super) async fn open(
    parts: &Parts,
    (sandbox, gateway): (&dyn Sandbox, Option<&Arc<Gateway>>),
    life: Duration,
) -> Result<Open, String> {
    let said = |error: EgressError| error.to_string();
    let local = gateway.map(Gateway::local);
    let way = Way::new(parts.settings.allow.clone(), parts.upstream.clone(), local, life).map_err(said)?;
    let carrier = sandbox.exec(Command::toolbox(way.arguments())).await.map_err(|error| error.to_string())?;
    let attached = way.attach(carrier.stdin, carrier.stdout).await.map_err(said)?;
    prove(&way, sandbox).await?;
    Ok(Open { way, attached })
}

/// Asks from inside for what must be refused. The sandbox's word alone is not enough: the refusals must have been seen here.
async fn prove(way: &Way, sandbox: &dyn Sandbox) -> Result<(), String> {
    let checked = tokio::time::timeout(PATIENCE, checked(sandbox)).await;
    let checked = checked.map_err(|_| "the check of the way out takes too long".to_owned())??;
    let seen: u32 = way.forget_refusals().all.iter().map(|refused| refused.count).sum();
    judged(checked, seen)
}

/// Is what was seen from inside, and so many refusals on the host, what a closed way looks like?
fn judged(checked: inside::Checked, seen: u32) -> Result<(), String> {
    let bad = |what: String| Err(format!("the way out of the sandbox is not closed: {what}"));
    if checked.interfaces != ["lo"] || !checked.reached.is_empty() {
        let (interfaces, reached) = (checked.interfaces, checked.reached);
        return bad(format!("network interfaces {interfaces:?}, reached {reached:?} without it"));
    }
    match checked.answers.iter().find(|(_, status)| *status != 403) {
        Some((question, status)) => bad(format!("`{question}` was answered with {status}")),
        None if checked.answers.is_empty() || seen as usize != checked.answers.len() => {
            bad(format!("{} refusals inside, {seen} on the host", checked.answers.len()))
        }
        None => Ok(()),
    }
}

async fn checked(sandbox: &dyn Sandbox) -> Result<inside::Checked, String> {
    let process = sandbox.exec(Command::toolbox(inside::check_arguments())).await;
    let process = process.map_err(|error| error.to_string())?;
    let mut said = Vec::new();
    let read = process.stdout.take(SAID).read_to_end(&mut said).await;
    read.map_err(|error| error.to_string())?;
    serde_json::from_slice(&said).map_err(|error| format!("the check of the way out gave no answer: {error}"))
}

impl Open {
    /// Completes when the sandbox's stream ends or is garbled: whatever the agent wanted with it, the round is over.
    pub(super) async fn broken(&mut self) -> String {
        self.attached.broken().await.to_string()
    }

    /// The way, for whoever tells what passed it once it is closed.
    pub(super) fn seen(&self) -> Way {
        self.way.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evil_t16_whatever_is_not_a_refusal_on_both_ends_is_no_proof() {
        let closed = || inside::Checked {
            interfaces: vec!["lo".into()],
            reached: Vec::new(),
            answers: vec![
                ("CONNECT forbidden.invalid:443".into(), 403),
                ("GET http://forbidden.invalid/".into(), 403),
            ],
        };
        assert_eq!(judged(closed(), 2), Ok(()));
        let with = |change: &dyn Fn(&mut inside::Checked)| {
            let mut checked = closed();
            change(&mut checked);
            checked
        };
        for (checked, seen, told) in [
            (with(&|c| c.interfaces.push("eth0".into())), 2, "network interfaces"),
            (with(&|c| c.interfaces.clear()), 2, "network interfaces"),
            (with(&|c| c.reached.push("1.1.1.1:443".into())), 2, "reached [\"1.1.1.1:443\"]"),
            (with(&|c| c.answers[0].1 = 200), 1, "`CONNECT forbidden.invalid:443` was answered with 200"),
            (with(&|c| c.answers[1].1 = 0), 1, "was answered with 0"),
            // The sandbox may say what it likes: what was not seen here was not refused.
            (closed(), 0, "2 refusals inside, 0 on the host"),
            (closed(), 1, "2 refusals inside, 1 on the host"),
            (with(&|c| c.answers.clear()), 0, "0 refusals inside, 0 on the host"),
        ] {
            let why = judged(checked, seen).unwrap_err();
            assert!(why.contains(told), "{told}: {why}");
        }
    }

    /// Says the same whatever it is asked to run.
    struct Says(&'static str);

    #[async_trait::async_trait]
    impl Sandbox for Says {
        async fn exec(&self, _: Command) -> Result<crate::sandbox::Process, crate::sandbox::SandboxError> {
            Ok(crate::sandbox::Process {
                stdin: Box::new(tokio::io::sink()),
                stdout: Box::new(self.0.as_bytes()),
                stderr: Box::new(tokio::io::empty()),
                wait: Box::pin(async { Ok(0) }),
            })
        }

        async fn stop(&self) -> Result<(), crate::sandbox::SandboxError> {
            Ok(())
        }

        fn workspace(&self) -> &'static str {
            "/work/repo"
        }

        fn describe(&self) -> String {
            "says".to_owned()
        }
    }

    /// A check that says nothing, nonsense, or that all is well where the host has seen nothing.
    #[tokio::test]
    async fn evil_t16_a_sandbox_s_word_alone_proves_nothing() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let upstream = crate::egress::Upstream::new(crate::egress::system()).unwrap();
        let allow = crate::domain::egress::AllowList::parse(&["mirror.example.org:443"]).unwrap();
        let way = Way::new(allow, upstream, None, Duration::from_secs(60)).unwrap();
        let well = r#"{"interfaces":["lo"],"reached":[],"answers":[["CONNECT forbidden.invalid:443",403]]}"#;
        for (says, told) in [
            ("", "gave no answer"),
            ("ready\n", "gave no answer"),
            (well, "1 refusals inside, 0 on the host"),
        ] {
            let why = prove(&way, &Says(says)).await.unwrap_err();
            assert!(why.contains(told), "{told}: {why}");
        }
    }
}
