//! Where sessions are: in the server's database, and in the folder of each run of the terminal.

use crate::{
    app::{self, Note, Run, Runs, Store, Summary},
    config::Config,
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

/// Sessions of one database that are searched for the beginning of an id: years of work.
const SEARCHED: u32 = 100_000;

/// So many sessions that only answered a comment may lie between those that are listed.
const ANSWERS: u32 = 500;

/// Beginnings shorter than this name too much by accident.
const SHORTEST: usize = 3;

/// All stores there are.
pub(super) struct Stores(Vec<(Store, Home)>);

/// Whose a store is.
#[derive(Clone)]
pub(super) enum Home {
    /// A server's; its database.
    Server(String),
    /// A run's.
    Run(Run),
}

/// A session and where it is.
pub(super) struct Found {
    pub(super) store: Store,
    pub(super) session: Summary,
    pub(super) home: Home,
}

impl Stores {
    /// Opens the configured database and those of the runs, as far as they are there.
    pub(super) async fn open(config: &Config, runs: Option<Runs>) -> anyhow::Result<Self> {
        let database = config.database.expose_secret();
        let mut stores = Vec::new();
        for run in runs.iter().flat_map(Runs::all) {
            // One that was killed before it had a database has no session.
            if let Ok(store) = run.store().await {
                stores.push((store, Home::Run(run)));
            }
        }
        match app::existing_store(database).await {
            Ok(store) => stores.push((store, Home::Server(database.to_owned()))),
            Err(error) if stores.is_empty() => {
                return Err(match runs {
                    Some(runs) => error.context(format!("no run is kept in {}", runs.folder().display())),
                    None => error,
                });
            }
            // The server's may be elsewhere: here it is about runs.
            Err(_) => {}
        }
        Ok(Self(stores))
    }

    /// The newest sessions of all. That a comment was answered (`/code help`) is no piece of work to be listed.
    pub(super) async fn newest(self, limit: u32) -> anyhow::Result<Vec<Found>> {
        let mut all = Vec::new();
        for (store, home) in self.0 {
            let sessions = store.sessions(limit.saturating_add(ANSWERS)).await?;
            for session in sessions.into_iter().filter(|session| !session.state.only_answered()) {
                all.push(Found { store: store.clone(), session, home: home.clone() });
            }
        }
        all.sort_by_key(|found| std::cmp::Reverse(found.session.id));
        all.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(all)
    }

    /// The one session of that id, or whose id (in either form) begins like that.
    pub(super) async fn find(self, id: &str) -> anyhow::Result<Found> {
        let wanted = id.replace('-', "").to_ascii_lowercase();
        let begins = |session: &Summary| {
            session.id.short().starts_with(&wanted) || session.id.to_string().starts_with(&wanted)
        };
        let mut found = Vec::new();
        for (store, home) in self.0 {
            let sessions = match store.session(&wanted).await? {
                Some(session) => vec![session],
                None if wanted.len() < SHORTEST => Vec::new(),
                None => store.sessions(SEARCHED).await?,
            };
            for session in sessions.into_iter().filter(begins) {
                found.push(Found { store: store.clone(), session, home: home.clone() });
            }
        }
        match found.len() {
            0 => anyhow::bail!("no session {id:?}; `fixpoint session list` shows them"),
            1 => Ok(found.remove(0)),
            n => {
                let named: Vec<String> = found.iter().take(5).map(Found::short).collect();
                anyhow::bail!("{n} sessions begin with {id:?}: {}", named.join(", "))
            }
        }
    }
}

impl Home {
    /// Nobody works on it now, as far as that can be known.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Server(database) => app::is_served(database) == Some(false),
            Self::Run(run) => !run.is_alive(),
        }
    }

    /// What that means.
    pub(super) fn why_over(&self) -> &'static str {
        match self {
            Self::Server(_) => "no server runs on its database now",
            Self::Run(_) => "it was a run of the terminal, and its process is gone",
        }
    }
}

impl Found {
    pub(super) fn short(&self) -> String {
        self.session.id.short()
    }

    /// What the run was asked, where it is one.
    pub(super) fn note(&self) -> Option<Note> {
        match &self.home {
            Home::Server(_) => None,
            Home::Run(run) => run.note(),
        }
    }

    pub(super) fn json(&self) -> Value {
        let mut told = json!({ "id": self.session.id, "state": self.session.state });
        if let Some(note) = self.note() {
            told["run"] = json!(note);
        }
        told
    }
}
