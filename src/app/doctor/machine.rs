//! What this machine must have: a configuration, a database, room, a container engine, git, a model's key.

use super::{Finding, Patient};
use crate::{
    app::configured,
    config::{Engine, Provider},
    domain::Timestamp,
    git,
    llm::{Ask, Message, ModelError},
    sandbox::{self, SandboxError},
    store::{self, Examined},
};
use secrecy::ExposeSecret;
use std::{path::Path, time::Duration};

/// The reply of a model that is only asked whether it answers.
const FEW_TOKENS: u32 = 16;

/// Which file, and whether `serve` would miss anything in it.
pub(super) async fn configuration(patient: &Patient) -> Vec<Finding> {
    const SUBJECT: &str = "configuration";
    let from = match &patient.file {
        Some(file) => file.display().to_string(),
        None => "no file; defaults and the environment".to_owned(),
    };
    let missing = patient.config.missing();
    // The model's key has a check of its own.
    let missing: Vec<String> = missing.into_iter().filter(|what| !what.starts_with("model.")).collect();
    if missing.is_empty() {
        return vec![Finding::ok(SUBJECT, from)];
    }
    let mut found = Finding::fail(SUBJECT, from);
    found.mend = missing;
    vec![found.mend("`fixpoint setup` makes an App and writes all of these")]
}

/// Reachable or to be made, of a schema that this version knows, and honest about what is on its disk.
pub(super) async fn database(patient: &Patient) -> Vec<Finding> {
    const SUBJECT: &str = "database";
    let url = patient.config.database.expose_secret();
    // The address of a server holds its password.
    let name = url.strip_prefix("sqlite:").map_or("postgresql".to_owned(), |path| format!("sqlite {path}"));
    let examined = match store::writable(url) {
        Ok(()) => store::examine(url).await,
        Err(error) => Err(error),
    };
    let found = match examined {
        Err(error) => Finding::fail(SUBJECT, format!("{name} cannot be used: {error}"))
            .mend("look whether its server runs and `database` names it rightly"),
        Ok(None) => Finding::ok(SUBJECT, format!("{name}, not there yet: `fixpoint serve` makes it")),
        Ok(Some(Examined { durable: false, .. })) => {
            Finding::fail(SUBJECT, format!("{name} loses what it has acknowledged when it crashes"))
                .mend("set fsync = on and synchronous_commit = on in postgresql.conf")
        }
        Ok(Some(Examined { schema, known, .. })) => schema_of(SUBJECT, &name, schema, known),
    };
    vec![found]
}

fn schema_of(subject: &'static str, name: &str, schema: Option<i64>, known: i64) -> Finding {
    match schema {
        None => Finding::ok(subject, format!("{name}, empty: `fixpoint serve` gives it schema {known}")),
        Some(schema) if schema > known => {
            Finding::fail(subject, format!("{name} has schema {schema}, this version knows {known}"))
                .mend("use the version of fixpoint that was here before, or a newer one")
        }
        Some(schema) if schema < known => {
            Finding::ok(subject, format!("{name}, schema {schema}: `fixpoint serve` brings it to {known}"))
        }
        Some(schema) => Finding::ok(subject, format!("{name}, schema {schema}, full sync")),
    }
}

/// More than this between the two clocks and GitHub refuses what the App signs; less is the network's.
const APART: Duration = Duration::from_secs(60);

/// The clock that decides everything here against GitHub's.
pub(super) async fn clock(patient: &Patient) -> Vec<Finding> {
    const SUBJECT: &str = "clock";
    let Some(github) = patient.usable() else { return Vec::new() };
    let url = patient.config.database.expose_secret();
    // A database that is not there yet will have this machine's clock.
    let ours = match store::examine(url).await {
        Ok(Some(examined)) => examined.now,
        Ok(None) | Err(_) => Timestamp(chrono::Utc::now().timestamp_millis()),
    };
    // GitHub's own check says what is wrong where it cannot be reached.
    let Ok(theirs) = github.clock().await else { return Vec::new() };
    let (ahead, behind) = (ours.since(theirs), theirs.since(ours));
    let apart = ahead.max(behind);
    let seconds = apart.as_secs();
    vec![if apart <= APART {
        Finding::ok(SUBJECT, format!("within {} s of GitHub's", seconds.max(1)))
    } else {
        let which = if ahead > behind { "ahead of" } else { "behind" };
        Finding::warn(SUBJECT, format!("the database's clock is {seconds} s {which} GitHub's"))
            .mend("let the machine's clock be set by the network (`timedatectl set-ntp true`)")
    }]
}

/// Room for what is kept in files.
pub(super) async fn disk(patient: &Patient) -> Vec<Finding> {
    const SUBJECT: &str = "disk";
    let (folder, least) = (&patient.config.data_dir, patient.config.min_free_disk);
    let shown = folder.display();
    // A folder that is not there yet comes to be where its nearest parent is.
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
    let there = absolute.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    if let Err(why) = makeable(there) {
        return vec![
            Finding::fail(SUBJECT, format!("{shown} cannot be used: {why}"))
                .mend("name a folder that may be written with `data_dir`"),
        ];
    }
    let found = match rustix::fs::statvfs(there) {
        Err(error) => Finding::fail(SUBJECT, format!("{shown} cannot be looked at: {error}")),
        Ok(space) => {
            let free = space.f_bavail.saturating_mul(space.f_frsize);
            let free_shown = size(free);
            match free >= least {
                true => Finding::ok(SUBJECT, format!("{free_shown} free in {shown}")),
                false => Finding::fail(
                    SUBJECT,
                    format!("{free_shown} free in {shown}, {} are wanted", size(least)),
                )
                .mend("make room, or name another folder with `data_dir`: with less no webhook is taken and no round begins"),
            }
        }
    };
    vec![found]
}

/// Can folders be made there?
fn makeable(there: &Path) -> Result<(), String> {
    use rustix::fs::{Access, access};
    if !there.is_dir() {
        return Err(format!("{} is no folder", there.display()));
    }
    access(there, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| format!("{} may not be written: {error}", there.display()))
}

fn size(bytes: u64) -> String {
    match bytes >> 30 {
        0 => format!("{} MiB", bytes >> 20),
        gigabytes => format!("{gigabytes} GiB"),
    }
}

/// The engine, the image, the toolbox in it, and that its network really is none: a sandbox is started and asked.
pub(super) async fn sandbox(patient: &Patient) -> Vec<Finding> {
    const SUBJECT: &str = "sandbox";
    if patient.only_observes() {
        return Vec::new();
    }
    let config = &patient.config;
    if config.sandbox.kind == Engine::Local {
        return vec![
            Finding::warn(SUBJECT, "a local folder: no boundary, what runs there can do what you can")
                .mend("sandbox.kind = \"docker\" is one"),
        ];
    }
    let tried = async {
        let sandboxes = configured::sandboxes(config, "doctor").await?;
        Ok::<_, anyhow::Error>((sandboxes.check().await?, sandboxes))
    };
    let error = match tried.await {
        Ok((line, sandboxes)) => {
            let found = Finding::ok(SUBJECT, format!("{line} (tried)"));
            return std::iter::once(found).chain(engine(patient, &sandboxes).await).collect();
        }
        Err(error) => error,
    };
    let found = Finding::fail(SUBJECT, format!("{error:#}"));
    vec![match error.downcast_ref::<SandboxError>() {
        Some(SandboxError::NoImage(_)) => found.mend("docs/sandbox-image.md says how it is built"),
        Some(SandboxError::BadImage { .. }) => {
            found.mend("docs/sandbox-image.md says what an image must have")
        }
        Some(SandboxError::Engine(_)) => found
            .mend("start it (`systemctl start docker`), look whether you may use it (`docker info`),")
            .mend("or name another with sandbox.host"),
        _ => found,
    }]
}

/// Where the engine is a program of the image: whether it is there.
async fn engine(patient: &Patient, sandboxes: &sandbox::Provider) -> Option<Finding> {
    const SUBJECT: &str = "engine";
    // What is wrong with the model is told with the model.
    let engine = configured::engine(&patient.config, &patient.http).ok()?;
    match configured::program(engine.as_ref(), sandboxes).await {
        Ok(None) => None,
        Ok(Some(said)) => Some(Finding::ok(SUBJECT, format!("{said} in the image (tried)"))),
        Err(error) => Some(
            Finding::fail(SUBJECT, format!("{error:#}"))
                .mend("build an image with it and name it with sandbox.image,")
                .mend("or set agent.engine = \"native\""),
        ),
    }
}

/// The git program, where fixpoint looks for it.
pub(super) async fn git(_: &Patient) -> Vec<Finding> {
    const SUBJECT: &str = "git";
    let (major, minor) = git::OLDEST;
    let wanted = format!("install git {major}.{minor} or newer");
    vec![match git::version().await {
        Err(error) => Finding::fail(SUBJECT, error.to_string()).mend(wanted),
        Ok(version) if is_older(&version, git::OLDEST) => {
            Finding::fail(SUBJECT, format!("{version} is too old")).mend(wanted)
        }
        Ok(version) => Finding::ok(SUBJECT, version),
    }]
}

fn is_older(version: &str, than: (u32, u32)) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < than
}

/// The key is there; whether the model takes it is asked only when wanted.
pub(super) async fn model(patient: &Patient) -> Vec<Finding> {
    const SUBJECT: &str = "model";
    if patient.only_observes() {
        return Vec::new();
    }
    let (config, name) = (&patient.config.model, &patient.config.model.name);
    if config.needs_key() && config.key.is_none() {
        let variable = match config.provider {
            Provider::Anthropic => "ANTHROPIC_API_KEY",
            Provider::Openai | Provider::OpenaiCompatible => "OPENAI_API_KEY",
        };
        return vec![
            Finding::fail(SUBJECT, format!("{name}: there is no key"))
                .mend(format!("put it into the variable {variable}, or name a file with model.key_file")),
        ];
    }
    let model = match configured::model_of(&patient.config, name, &patient.http) {
        Ok(model) => model,
        Err(error) => return vec![Finding::fail(SUBJECT, format!("{name}: {error:#}"))],
    };
    if let Err(error) = configured::priced(&patient.config, &patient.http) {
        return vec![Finding::fail(SUBJECT, error.to_string())];
    }
    let (name, host) = (model.name(), model.host());
    if !patient.ask_model {
        let told = format!("{name} at {host}; key present, not tried (--model tries it)");
        return vec![Finding::ok(SUBJECT, told)];
    }
    let messages = [Message::User { text: "Answer with the word: ready".to_owned() }];
    let ask = Ask {
        system: "You are asked whether you can be reached.",
        messages: &messages,
        tools: &[],
        max_tokens: FEW_TOKENS,
    };
    vec![match model.ask(&ask).await {
        Ok(_) => Finding::ok(SUBJECT, format!("{name} at {host} answers")),
        Err(error) => unanswered(Finding::fail(SUBJECT, format!("{name} at {host}: {error}")), &error),
    }]
}

fn unanswered(found: Finding, error: &ModelError) -> Finding {
    match error {
        ModelError::Key(_) => found.mend("make a new key at the provider"),
        ModelError::Quota(_) => found.mend("look at the provider's billing page"),
        // It may be about anything of the question: a name that is unknown is told as such (404) in the finding itself.
        ModelError::Invalid(_) => found
            .mend("it answers, but does not take the question: its own words say why;")
            .mend("what is asked of whom is set by model.provider, model.url and model.name"),
        _ => found.mend("look whether this machine may reach it, and at model.url"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_question_is_not_said_to_be_about_the_name() {
        let error = ModelError::Invalid("max_tokens: at least 64 (HTTP 400)".to_owned());
        let found = unanswered(Finding::fail("model", error.to_string()), &error);
        assert!(found.what.contains("max_tokens") && found.mend[0].contains("its own words"), "{found:?}");
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, older) in
            [("2.31.0", false), ("2.9.5", true), ("2.39.5", false), ("3.0", false), ("1.99", true)]
        {
            assert_eq!(is_older(version, (2, 31)), older, "{version}");
        }
    }
}
