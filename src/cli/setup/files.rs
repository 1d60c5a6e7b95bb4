//! The three files that set-up writes. None that is there is written over unasked; secrets are their owner's alone.

use crate::app::{
    mirrors::Mirror,
    setup::{App, Plan},
};
use anyhow::{Context, bail};
use secrecy::ExposeSecret;
use std::{
    fs::{self, Permissions},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The files of a folder, by their whole paths, so that the configuration can be used from anywhere.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    pub(super) config: PathBuf,
    pub(super) key: PathBuf,
    pub(super) secret: PathBuf,
}

impl Files {
    /// # Errors
    /// When the folder cannot be made.
    pub(super) fn within(folder: &Path) -> anyhow::Result<Self> {
        let make = || fs::create_dir_all(folder).and_then(|()| folder.canonicalize());
        let folder = make().with_context(|| format!("the folder {} cannot be made", folder.display()))?;
        let at = |name: &str| folder.join(name);
        Ok(Self { config: at(crate::config::FILE), key: at("app.pem"), secret: at("webhook-secret"), folder })
    }

    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// # Errors
    /// When one of them is there and may not be written over, or nothing can be written there.
    pub(super) fn free(&self, force: bool) -> anyhow::Result<()> {
        tempfile::tempfile_in(&self.folder)
            .with_context(|| format!("nothing can be written in {}", self.folder.display()))?;
        let there = [&self.config, &self.key, &self.secret].into_iter().find(|file| file.exists());
        match there.filter(|_| !force) {
            Some(file) => bail!(
                "{} is there already: another --dir keeps it, --force writes over it and its neighbours",
                file.display()
            ),
            None => Ok(()),
        }
    }

    /// # Errors
    /// When one cannot be written.
    pub(super) fn write(
        &self,
        app: &App,
        plan: &Plan,
        mirrors: &[Mirror],
        force: bool,
    ) -> anyhow::Result<()> {
        // The key first: GitHub gives it once.
        write_private(&self.key, app.key.expose_secret(), force)?;
        write_private(&self.secret, &format!("{}\n", app.secret.expose_secret()), force)?;
        write_private(&self.config, &self.configuration(app, plan, mirrors)?, force)?;
        // No secret stands in it.
        fs::set_permissions(&self.config, Permissions::from_mode(0o644))?;
        Ok(())
    }

    fn configuration(&self, app: &App, plan: &Plan, mirrors: &[Mirror]) -> anyhow::Result<String> {
        let path = |path: &Path| {
            let text = path.to_str().with_context(|| format!("{} is no text", path.display()))?;
            anyhow::Ok(quoted(text))
        };
        let data = self.folder.join("data");
        let database = quoted(&format!("sqlite:{}", data.join("fixpoint.db").display()));
        let public = match &plan.public {
            Some(url) => format!("public_url = {}\n", quoted(url.as_str())),
            None => "# public_url = \"https://fixpoint.example.com\"\n".to_owned(),
        };
        Ok(format!(
            "# Written by `fixpoint setup`. `fixpoint config example` prints every setting with its meaning.\n\
             \n\
             profile = \"{profile}\"\n\
             database = {database}\n\
             data_dir = {data}\n\
             \n\
             [server]\n\
             listen = \"127.0.0.1:3000\"\n\
             {public}\
             \n\
             [github]\n\
             api_url = {api}\n\
             web_url = {web}\n\
             app_id = {id}\n\
             private_key_file = {key}\n\
             webhook_secret_file = {secret}\n\
             \n\
             [model]\n\
             provider = \"anthropic\"\n\
             name = \"claude-sonnet-4-5\"\n\
             # The key: here, or in the variable ANTHROPIC_API_KEY.\n\
             # key_file = {model}\n\
             {egress}",
            egress = proposed(mirrors),
            profile = plan.profile.name(),
            data = path(&data)?,
            api = quoted(plan.api().as_str()),
            web = quoted(plan.web.as_str()),
            id = quoted(&app.id),
            key = path(&self.key)?,
            secret = path(&self.secret)?,
            model = path(&self.folder.join("model-key"))?,
        ))
    }
}

/// What package managers of this machine use, to be allowed by taking the marks away: that a sandbox reaches anything is
/// the operator's decision.
fn proposed(mirrors: &[Mirror]) -> String {
    if mirrors.is_empty() {
        return String::new();
    }
    let entry = |mirror: &Mirror| format!("#   {}, # {}\n", quoted(&mirror.entry), mirror.users.join(", "));
    format!(
        "\n# Sandboxes reach nothing. To let them fetch packages as this machine does, take the marks away.\n\
         # [egress]\n\
         # allow = [\n{}# ]\n",
        mirrors.iter().map(entry).collect::<String>()
    )
}

/// Writes a file for its owner alone: whole, or not at all.
pub(super) fn write_private(file: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let write = || {
        // Made with mode 0600.
        let mut made = tempfile::NamedTempFile::new_in(folder)?;
        made.write_all(text.as_bytes())?;
        made.as_file().sync_all()?;
        match force {
            true => made.persist(file),
            false => made.persist_noclobber(file),
        }
        .map_err(|refused| refused.error)
    };
    write().map(drop).with_context(|| format!("{} cannot be written", file.display()))
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, domain::access::Profile};
    use url::Url;

    fn app() -> App {
        App {
            id: "4101".into(),
            slug: "acme-fixpoint".into(),
            install: Url::parse("https://github.com/apps/acme-fixpoint/installations/new").unwrap(),
            settings: None,
            key: include_str!("../../emulator/app-key-of-the-emulator.pem").into(),
            secret: "s".repeat(40).into(),
            secret_unknown: false,
            made: true,
        }
    }

    fn plan() -> Plan {
        Plan {
            web: Url::parse("https://github.com").unwrap(),
            organization: None,
            name: "n".into(),
            public: Some(Url::parse("https://fixpoint.example.com").unwrap()),
            profile: Profile::Fix,
        }
    }

    fn mirrors() -> Vec<Mirror> {
        vec![Mirror { entry: "mirror.example.com:443 private".into(), users: vec!["npm", "pip"] }]
    }

    #[test]
    fn what_is_proposed_can_be_taken_as_it_stands() {
        let proposed = proposed(&mirrors());
        assert_eq!(Config::parse(&proposed, "as written").unwrap().egress.allow, Vec::<String>::new());
        let taken =
            proposed.replace("\n# [", "\n[").replace("\n# allow", "\nallow").replace("\n#   ", "\n  ");
        let taken = taken.replace("\n# ]", "\n]");
        assert_eq!(Config::parse(&taken, "taken").unwrap().egress.allow, ["mirror.example.com:443 private"]);
    }

    #[test]
    fn what_is_written_is_read_again_and_nobody_else_reads_the_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a \"b\" \\c");
        let files = Files::within(&odd).unwrap();
        files.free(false).unwrap();
        files.write(&app(), &plan(), &mirrors(), false).unwrap();
        let mode = |file: &Path| file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!([mode(&files.key), mode(&files.secret), mode(&files.config)], [0o600, 0o600, 0o644]);
        let config = Config::parse(&fs::read_to_string(&files.config).unwrap(), "fixpoint.toml").unwrap();
        assert_eq!(config.github.app_id.as_deref(), Some("4101"));
        assert_eq!(config.github.webhook_secret.unwrap().expose_secret(), "s".repeat(40));
        assert_eq!(config.github.api_url.as_str(), "https://api.github.com/");
        assert_eq!(config.server.public_url, plan().public);
        assert!(config.data_dir.is_absolute());
    }

    #[test]
    fn nothing_that_is_there_is_written_over_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::within(folder.path()).unwrap();
        fs::write(&files.secret, "mine").unwrap();
        assert!(files.free(false).unwrap_err().to_string().contains("webhook-secret is there already"));
        // Written between the look and the act.
        assert!(files.write(&app(), &plan(), &mirrors(), false).is_err());
        assert_eq!(fs::read_to_string(&files.secret).unwrap(), "mine");
        files.free(true).unwrap();
        files.write(&app(), &plan(), &mirrors(), true).unwrap();
        assert_ne!(fs::read_to_string(&files.secret).unwrap(), "mine");
    }
}
