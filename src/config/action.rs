//! What a workflow run says of itself: GitHub's variables, and the Action's inputs.
//!
//! The inputs are settings like any other and stand above the environment's. Secrets among them leave this process's
//! memory only as tokens to GitHub and the model.

use super::{Config, ConfigError, ConfigLayer, place};
use confique::Layer as _;
use secrecy::{ExposeSecret, SecretString};
use std::path::PathBuf;

/// What a workflow run says of itself.
/// Source: GitHub Actions, "Default environment variables".
#[derive(Clone, Debug)]
pub struct Runner {
    /// The event's name: `issue_comment` …
    pub event: String,
    /// The file with its payload.
    pub event_file: PathBuf,
    /// `OWNER/NAME`.
    pub repository: String,
    /// The run: the same when it is run again.
    pub run: String,
    /// A folder that goes with the job.
    pub temp: PathBuf,
    /// The job's folder, with a checkout if one was made.
    pub workspace: Option<PathBuf>,
    /// The workflow's file in its repository, e.g. `.github/workflows/fixpoint.yml`.
    pub workflow: Option<String>,
    /// Where the summary goes.
    pub summary: Option<PathBuf>,
    /// Where outputs go.
    pub output: Option<PathBuf>,
    /// A runner reads what is printed: it masks, annotates, and follows commands.
    pub listens: bool,
}

/// The Action's inputs. What is not given is empty in a workflow and absent here.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// A token to act with, where no App's key is given.
    pub token: Option<SecretString>,
    /// The slug of the App that minted the token; `github-actions` if absent.
    pub app_slug: Option<String>,
    /// The App's id.
    pub app_id: Option<String>,
    /// The App's private key.
    pub private_key: Option<SecretString>,
    /// The model's key.
    pub model_key: Option<SecretString>,
    /// Of a run started by hand: the issue.
    pub issue: Option<String>,
    /// Of a run started by hand: what to do.
    pub instruction: Option<String>,
    /// `docker` or `runner`.
    pub sandbox: Option<String>,
    /// Settings by their names in the configuration file.
    settings: Vec<(&'static str, &'static str, String)>,
}

/// Inputs that are settings: input, section and name.
const SETTINGS: [(&str, &str, &str); 6] = [
    ("IMAGE", "sandbox", "image"),
    ("MODEL_PROVIDER", "model", "provider"),
    ("MODEL", "model", "name"),
    ("MODEL_URL", "model", "url"),
    ("PUBLISH", "publish", "mode"),
    ("ROUNDS", "limits", "rounds"),
];

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn input(name: &str) -> Option<String> {
    variable(&format!("INPUT_{name}"))
}

impl Runner {
    /// Reads GitHub's variables.
    ///
    /// # Errors
    /// [`ConfigError`] names the first that is missing.
    pub fn load() -> Result<Self, ConfigError> {
        let needed = |name: &str| {
            variable(name).ok_or_else(|| {
                ConfigError(format!(
                    "{name} is not set: `fixpoint action` runs in a workflow of GitHub Actions"
                ))
            })
        };
        let repository = needed("GITHUB_REPOSITORY")?;
        let workflow = variable("GITHUB_WORKFLOW_REF").and_then(|place| {
            let path = place.strip_prefix(&repository)?.strip_prefix('/')?;
            Some(path.split('@').next().unwrap_or(path).to_owned())
        });
        Ok(Self {
            event: needed("GITHUB_EVENT_NAME")?,
            event_file: needed("GITHUB_EVENT_PATH")?.into(),
            run: needed("GITHUB_RUN_ID")?,
            temp: needed("RUNNER_TEMP")?.into(),
            workspace: variable("GITHUB_WORKSPACE").map(PathBuf::from),
            workflow,
            summary: variable("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            output: variable("GITHUB_OUTPUT").map(PathBuf::from),
            listens: variable("GITHUB_ACTIONS").is_some_and(|word| word == "true"),
            repository,
        })
    }
}

impl Inputs {
    /// Reads the inputs.
    pub fn load() -> Self {
        let secret = |name| input(name).map(SecretString::from);
        let settings = SETTINGS.into_iter();
        Self {
            token: secret("TOKEN"),
            app_slug: input("APP_SLUG"),
            app_id: input("APP_ID"),
            private_key: secret("PRIVATE_KEY"),
            model_key: secret("MODEL_KEY"),
            issue: input("ISSUE"),
            instruction: input("INSTRUCTION"),
            sandbox: input("SANDBOX"),
            settings: settings
                .filter_map(|(name, section, key)| Some((section, key, input(name)?)))
                .collect(),
        }
    }

    /// Every secret among them.
    pub fn secrets(&self) -> Vec<SecretString> {
        [&self.token, &self.private_key, &self.model_key].into_iter().flatten().cloned().collect()
    }

    fn layer(&self) -> Result<ConfigLayer, ConfigError> {
        let mut table = toml::Table::new();
        let mut set = |section: &str, key: &str, value: toml::Value| {
            let section = table.entry(section).or_insert_with(|| toml::Table::new().into());
            if let Some(section) = section.as_table_mut() {
                section.insert(key.to_owned(), value);
            }
        };
        for (section, key, value) in &self.settings {
            let number = value.trim().parse::<i64>().ok().filter(|_| *section == "limits");
            set(section, key, number.map_or_else(|| value.trim().into(), toml::Value::from));
        }
        match self.sandbox.as_deref() {
            None => {}
            Some("docker") => set("sandbox", "kind", "docker".into()),
            // Named for what it is: the runner itself.
            Some("runner") => set("sandbox", "kind", "local".into()),
            Some(other) => {
                return Err(ConfigError(format!(
                    "input sandbox: \"{other}\" is none of \"docker\", \"runner\""
                )));
            }
        }
        if let Some(id) = &self.app_id {
            set("github", "app_id", id.trim().into());
        }
        for (setting, name) in [("api_url", "GITHUB_API_URL"), ("web_url", "GITHUB_SERVER_URL")] {
            if let Some(url) = variable(name) {
                set("github", setting, url.into());
            }
        }
        let mut layer = place::parse(&table.to_string(), "the Action's inputs")?;
        layer.github.private_key = self.private_key.as_ref().map(pem);
        layer.model.key.clone_from(&self.model_key);
        Ok(layer)
    }
}

/// A key as it was pasted: with its line ends written out, it is one all the same.
fn pem(key: &SecretString) -> SecretString {
    key.expose_secret().replace("\\n", "\n").into()
}

impl Config {
    /// As [`Config::load`], below the Action's inputs.
    ///
    /// # Errors
    /// [`ConfigError`] with the first mistake.
    pub fn load_action(inputs: &Inputs) -> Result<Self, ConfigError> {
        // Only a file that is named: what lies in a checkout is nobody's order.
        let file = super::named_file().map_or_else(|| Ok(ConfigLayer::empty()), |file| super::read(&file))?;
        let environment = ConfigLayer::from_env().map_err(|e| ConfigError(format!("{e:#}")))?;
        let mut config = Self::merge([inputs.layer()?, environment, file])?;
        config.key_from_environment()?;
        if config.model.needs_key() && config.model.key.is_none() {
            return Err(ConfigError(
                "input model-key is not set: give it from a secret, `model-key: ${{ secrets.MODEL_KEY }}`"
                    .to_owned(),
            ));
        }
        Ok(config)
    }
}
