//! `fixpoint explain log FILE`: the digest that a round would get of a CI log.

use crate::digest::{
    Digest, Digester, GreenIndex, Kind, Options,
    archive::{Archive, Failed},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Failing tests named above the text.
const TESTS: usize = 10;
/// Bytes read at once.
const CHUNK: usize = 256 * 1024;
/// The largest archive that is held in memory.
const ARCHIVE: u64 = 512 << 20;

/// Arguments of `fixpoint explain log`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Log {
    /// The log of one job, as the runner wrote it, or the zip archive of a run's logs; `-` is a log on the standard input.
    file: PathBuf,
    /// The job of an archive, by its name; else the first that failed.
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
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
        match self.read().and_then(|read| self.print(&read)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "fixpoint: {error:#}");
                ExitCode::from(2)
            }
        }
    }

    fn read(&self) -> Result<Answer> {
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
        if let Some(bytes) = zipped(&self.file)? {
            return self.of_archive(&bytes, digester);
        }
        read(&self.file, |chunk| digester.push(chunk))?;
        Ok(Answer { digest: digester.finish(), job: None, also: Vec::new() })
    }

    /// One job's log out of a run's; the others that failed are named.
    fn of_archive(&self, bytes: &[u8], mut digester: Digester<'_>) -> Result<Answer> {
        let said = || format!("{}: cannot be read", self.file.display());
        let mut archive = Archive::open(bytes).with_context(said)?;
        let failed = archive.failed().with_context(said)?;
        let first = failed.first().map(|failed| failed.job.name.clone());
        let Some(wanted) = self.job.clone().or(first) else {
            bail!(
                "{}: none of its {} jobs failed; name one with --job",
                self.file.display(),
                archive.jobs().len()
            );
        };
        let Some(job) = archive.jobs().iter().find(|job| job.name == wanted).cloned() else {
            let names: Vec<&str> = archive.jobs().iter().map(|job| job.name.as_str()).collect();
            bail!("{}: no job `{wanted}`; it has {}", self.file.display(), names.join(", "));
        };
        archive.read(&job, |chunk| digester.push(chunk)).with_context(said)?;
        let mut digest = digester.finish();
        let step = failed.iter().find(|failed| failed.job == job).and_then(|failed| failed.step.clone());
        digest.step = digest.step.or(step);
        let others = failed.into_iter().map(|Failed { job, .. }| job.name).filter(|name| *name != wanted);
        Ok(Answer { digest, job: Some(wanted.clone()), also: others.collect() })
    }

    fn print(&self, answer: &Answer) -> Result<()> {
        let mut out = std::io::stdout().lock();
        let digest = &answer.digest;
        if self.json {
            serde_json::to_writer(&mut out, answer)?;
            writeln!(out)?;
        } else {
            let plain = crate::domain::text::terminal;
            if let Some(job) = &answer.job {
                writeln!(out, "Job `{}`.", plain(job))?;
            }
            if !answer.also.is_empty() {
                writeln!(out, "Failed too: {}.", plain(&answer.also.join(", ")))?;
            }
            writeln!(out, "{}", why(digest))?;
            for test in digest.tests.iter().take(TESTS) {
                writeln!(out, "  failing test: {test}")?;
            }
            write!(out, "\n{}", crate::domain::text::terminal(&digest.text))?;
        }
        Ok(())
    }
}

/// The digest, and of an archive whose it is.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    digest: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<String>,
}

/// The bytes of a file that begins as an archive does; `None` for any other, and for the standard input.
fn zipped(path: &Path) -> Result<Option<Vec<u8>>> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    let said = || format!("{}: cannot be read", path.display());
    let mut file = File::open(path).with_context(said)?;
    let mut bytes = Vec::new();
    (&file).take(4).read_to_end(&mut bytes).with_context(said)?;
    if !matches!(&bytes[..], b"PK\x03\x04" | b"PK\x05\x06") {
        return Ok(None);
    }
    (&mut file).take(ARCHIVE).read_to_end(&mut bytes).with_context(said)?;
    Ok(Some(bytes))
}

/// The first sentence: what failed, where, by which line.
fn why(digest: &Digest) -> String {
    let step = digest.step.as_deref().map(|step| format!(" in `{step}`")).unwrap_or_default();
    let line = digest.line.map(|line| format!(", line {line}: {}", digest.line_text)).unwrap_or_default();
    match digest.kind {
        Kind::None => "Nothing in it is known as a failure.".to_owned(),
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
