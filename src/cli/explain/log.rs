//! `fixpoint explain log FILE`: the digest that a round would get of a CI log.

use crate::digest::{Digest, Digester, GreenIndex, Kind, Options};
use anyhow::{Context, Result};
use clap::Args;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Failing tests named above the text.
const TESTS: usize = 10;
/// Bytes read at once.
const CHUNK: usize = 256 * 1024;

/// Arguments of `fixpoint explain log`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Log {
    /// The log of one job, as the runner wrote it; `-` is the standard input.
    file: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Most bytes of the text.
    #[arg(long, default_value_t = 8000, value_name = "BYTES")]
    budget: usize,
    /// The last green log of the same job: what is new against it ranks higher.
    #[arg(long, value_name = "FILE")]
    green: Option<PathBuf>,
}

impl Log {
    pub(in crate::cli) fn run(self) -> ExitCode {
        match self.digest().and_then(|digest| self.print(&digest)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "fixpoint: {error:#}");
                ExitCode::from(2)
            }
        }
    }

    fn digest(&self) -> Result<Digest> {
        let green = match &self.green {
            Some(path) => {
                let mut index = GreenIndex::default();
                read(path, |chunk| index.push(chunk))?;
                index.finish();
                Some(index)
            }
            None => None,
        };
        let mut digester =
            Digester::new(Options { budget: self.budget, green: green.as_ref(), ..Options::default() });
        read(&self.file, |chunk| digester.push(chunk))?;
        Ok(digester.finish())
    }

    fn print(&self, digest: &Digest) -> Result<()> {
        let mut out = std::io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, digest)?;
            writeln!(out)?;
        } else {
            writeln!(out, "{}", why(digest))?;
            for test in digest.tests.iter().take(TESTS) {
                writeln!(out, "  failing test: {test}")?;
            }
            write!(out, "\n{}", crate::domain::text::terminal(&digest.text))?;
        }
        Ok(())
    }
}

/// The first sentence: what failed, where, by which line.
fn why(digest: &Digest) -> String {
    let step = digest.step.as_deref().map(|step| format!(" in `{step}`")).unwrap_or_default();
    let line = digest.line.map(|line| format!(", line {line}: {}", digest.line_text)).unwrap_or_default();
    match digest.kind {
        Kind::None => "Nothing failed, as far as this log tells.".to_owned(),
        Kind::Change => format!("What was tested failed{step}{line}"),
        Kind::Infrastructure => format!("The world around failed, not the change{step}{line}"),
    }
}

fn read(path: &Path, mut each: impl FnMut(&[u8])) -> Result<()> {
    let said = || format!("{}: cannot be read", path.display());
    let mut file: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin()),
        _ => Box::new(File::open(path).with_context(said)?),
    };
    let mut buffer = vec![0; CHUNK];
    loop {
        match file.read(&mut buffer).with_context(said)? {
            0 => return Ok(()),
            count => each(&buffer[..count]),
        }
    }
}
