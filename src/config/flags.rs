//! The settings that can be given on the command line: the few that change from one start to the next.

use super::{Config, ConfigLayer};
use confique::Layer as _;
use std::{net::SocketAddr, path::PathBuf};

/// Flags of every command that reads the configuration.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Flags {
    /// The configuration file (else FIXPOINT_CONFIG, else fixpoint.toml if it is there)
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Listen here instead of `server.listen`
    #[arg(long, global = true, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Use this database instead of `database`
    #[arg(long, global = true, value_name = "URL")]
    pub database: Option<String>,
    /// Keep repositories here instead of in `data_dir`
    #[arg(long, global = true, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Log this much instead of `log.level`
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log_level: Option<String>,
}

impl Flags {
    pub(super) fn layer(&self) -> ConfigLayer {
        let mut layer = <Config as confique::Config>::Layer::empty();
        layer.server.listen = self.listen;
        layer.database = self.database.clone().map(Into::into);
        layer.data_dir.clone_from(&self.data_dir);
        layer.log.level.clone_from(&self.log_level);
        layer
    }
}
