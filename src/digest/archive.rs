//! The log archive of a GitHub Actions run: a zip with a file for each job and a folder for each job's steps. What is in it was made
//! by strangers' jobs, so everything read from it is capped.

use memchr::memmem;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// Entries of an archive: a run has at most 256 jobs a matrix, with some tens of steps each.
const ENTRIES: usize = 50_000;
/// Bytes unpacked from one entry, and from one archive in all: a deflated bomb grows a thousandfold, a real log seldom exceeds 100 MB.
const ENTRY: u64 = 1 << 30;
const TOTAL: u64 = 4 << 30;
/// Bytes unpacked at once.
const CHUNK: usize = 256 * 1024;
/// By this the runner marks an error in a log.
const ERROR: &[u8] = b"##[error]";

/// Why an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// No zip, or a broken one.
    #[error("the log archive is not a readable zip: {0}")]
    Zip(#[from] zip::result::ZipError),
    /// An entry breaks off or fails its checksum.
    #[error("the log archive breaks off in `{entry}`: {source}")]
    Entry {
        /// Name of the entry.
        entry: String,
        /// What the reader said.
        source: std::io::Error,
    },
    /// More than the caps allow.
    #[error("the log archive has more than {0}")]
    TooLarge(&'static str),
}

/// One job of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Name of the entry: `3_build (ubuntu, 17).txt`.
    pub file: String,
    /// What the runner calls the job, as far as a file name can hold it: `build (ubuntu, 17)`.
    pub name: String,
    index: usize,
}

/// A job in whose log the runner marked an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The job.
    pub job: Job,
    /// The first of its steps with an error, where the archive has the steps.
    pub step: Option<String>,
}

/// An opened archive.
pub struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    jobs: Vec<Job>,
    /// Steps by folder and number.
    steps: BTreeMap<String, BTreeMap<u32, (String, usize)>>,
    left: u64,
}

impl<'a> Archive<'a> {
    /// Opens the archive and lists its jobs, in the order of their numbers.
    pub fn open(bytes: &'a [u8]) -> Result<Self, ArchiveError> {
        let zip = ZipArchive::new(Cursor::new(bytes))?;
        if zip.len() > ENTRIES {
            return Err(ArchiveError::TooLarge("50000 entries"));
        }
        let mut archive = Self { zip, jobs: Vec::new(), steps: BTreeMap::new(), left: TOTAL };
        let names: Vec<String> = (0..archive.zip.len())
            .map(|at| archive.zip.name_for_index(at).and_then(Result::ok).unwrap_or_default().into_owned())
            .collect();
        for (index, file) in names.into_iter().enumerate() {
            archive.sort_in(file, index);
        }
        archive.jobs.sort_by_key(|job| numbered(&job.file).map_or(u32::MAX, |(number, _)| number));
        Ok(archive)
    }

    fn sort_in(&mut self, file: String, index: usize) {
        let parts = file.rsplit_once('/');
        let Some((number, name)) = numbered(parts.map_or(&file[..], |(_, name)| name)) else { return };
        let name = name.to_owned();
        match parts {
            None => self.jobs.push(Job { file, name, index }),
            Some((folder, _)) => {
                self.steps.entry(folder.to_owned()).or_default().insert(number, (name, index));
            }
        }
    }

    /// The jobs.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// The jobs with an error, and the step it is in.
    pub fn failed(&mut self) -> Result<Vec<Failed>, ArchiveError> {
        let mut failed = Vec::new();
        for job in self.jobs.clone() {
            if self.has_error(job.index)? {
                let step = self.step(&job)?;
                failed.push(Failed { job, step });
            }
        }
        Ok(failed)
    }

    /// Gives the log of a job in pieces; false when it was cut at the cap.
    pub fn read(&mut self, job: &Job, each: impl FnMut(&[u8])) -> Result<bool, ArchiveError> {
        self.unpack(job.index, each)
    }

    fn step(&mut self, job: &Job) -> Result<Option<String>, ArchiveError> {
        // Where two jobs share a name, their files are told apart by a number that their one folder has not.
        let plain = job.name.rsplit_once(" (").map_or(&job.name[..], |(name, _)| name);
        let Some(steps) = self.steps.get(&job.name).or_else(|| self.steps.get(plain)).cloned() else {
            return Ok(None);
        };
        for (name, index) in steps.into_values() {
            if self.has_error(index)? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn has_error(&mut self, index: usize) -> Result<bool, ArchiveError> {
        let mut rest: Vec<u8> = Vec::new();
        let mut found = false;
        self.unpack(index, |chunk| {
            if found {
                return;
            }
            rest.extend_from_slice(chunk);
            found = memmem::find(&rest, ERROR).is_some();
            let keep = rest.len().min(ERROR.len() - 1);
            rest.drain(..rest.len() - keep);
        })?;
        Ok(found)
    }

    fn unpack(&mut self, index: usize, mut each: impl FnMut(&[u8])) -> Result<bool, ArchiveError> {
        let mut file = self.zip.by_index(index)?;
        let entry = self
            .jobs
            .iter()
            .find(|job| job.index == index)
            .map_or_else(|| format!("entry {index}"), |job| job.file.clone());
        let mut room = ENTRY;
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = file
                .read(&mut chunk)
                .map_err(|source| ArchiveError::Entry { entry: entry.clone(), source })?;
            if count == 0 {
                return Ok(true);
            }
            self.left = self.left.checked_sub(count as u64).ok_or(ArchiveError::TooLarge("4 GiB of logs"))?;
            each(&chunk[..count]);
            let Some(less) = room.checked_sub(count as u64) else { return Ok(false) };
            room = less;
        }
    }
}

/// `12_name.txt` as number and name.
fn numbered(file: &str) -> Option<(u32, &str)> {
    let (number, name) = file.strip_suffix(".txt")?.split_once('_')?;
    Some((number.trim_start_matches('-').parse().ok()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;

    fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn the_job_with_an_error_and_its_step_are_found() {
        let bytes = packed(&[
            ("10_lint.txt", b"fine"),
            ("2_build (1).txt", b"so ##[error]Process completed with exit code 1."),
            ("build/1_Set up job.txt", b"fine"),
            ("build/3_Run make: all 🚀.txt", b"##[error]Process completed with exit code 1."),
            ("system.txt", b"x"),
        ]);
        let mut archive = Archive::open(&bytes).unwrap();
        let names: Vec<&str> = archive.jobs().iter().map(|job| &job.name[..]).collect();
        assert_eq!(names, ["build (1)", "lint"]);
        let failed = archive.failed().unwrap();
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].step.as_deref(), Some("Run make: all 🚀"));
    }

    #[test]
    fn what_is_no_archive_is_an_error() {
        assert!(matches!(Archive::open(b"no zip"), Err(ArchiveError::Zip(_))));
        let bytes = packed(&[("1_a.txt", &[b'x'; 5000])]);
        for cut in [10, bytes.len() / 2, bytes.len() - 1] {
            if let Ok(mut archive) = Archive::open(&bytes[..cut]) {
                let _ = archive.failed();
            }
        }
    }
}
