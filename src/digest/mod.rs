//! From hundreds of megabytes of CI log to the few thousand bytes that are worth a model's and a person's time.
//!
//! A pure fold over bytes: [`Digester::push`] takes the log in pieces of any size, [`Digester::finish`] gives the [`Digest`]. One
//! pass, bounded memory, no input or output.

mod candidate;
pub(crate) mod choose;
mod clean;
mod green;
mod names;
pub(crate) mod sieve;
pub(crate) mod signs;
pub(crate) mod steps;
pub(crate) mod worth;

pub use green::GreenIndex;

use serde::Serialize;
use sieve::Sieve;
use steps::{Marker, Steps};

/// What the caller wants and knows.
#[derive(Default)]
pub struct Options<'a> {
    /// Most bytes of [`Digest::text`], in UTF-8.
    pub budget: usize,
    /// Name of the check, part of the signature.
    pub check: &'a str,
    /// The last green log of the same job.
    pub green: Option<&'a GreenIndex>,
}

/// Why the job failed, as far as its log tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// What was tested failed.
    Change,
    /// The world around failed: network, runner, limits, a cancellation.
    Infrastructure,
    /// Nothing failed.
    None,
}

/// The digest of a log. Line numbers are 1-based; lines end at LF only.
#[derive(Clone, Debug, Serialize)]
pub struct Digest {
    /// What is shown, as ranges of lines, inclusive.
    pub ranges: Vec<(u64, u64)>,
    /// Lines that say why it failed, best first.
    pub anchors: Vec<u64>,
    /// The one line to show to a person.
    pub line: Option<u64>,
    /// Its text.
    #[serde(skip)]
    pub line_text: String,
    /// What the model gets.
    pub text: String,
    /// Names of failing tests.
    pub tests: Vec<String>,
}

/// The fold.
pub struct Digester<'a> {
    options: Options<'a>,
    sieve: Sieve,
    reader: Reader,
}

struct Reader {
    steps: Steps,
    room: Vec<u8>,
}

impl Reader {
    fn read(&mut self, number: u64, raw: &[u8]) -> bool {
        let line = clean::visible(raw, &mut self.room);
        self.steps.read(number, raw, line) == Marker::Failed
    }
}

impl<'a> Digester<'a> {
    /// Starts a digest.
    pub fn new(options: Options<'a>) -> Self {
        Self { options, sieve: Sieve::new(), reader: Reader { steps: Steps::default(), room: Vec::new() } }
    }

    /// Reads on.
    pub fn push(&mut self, chunk: &[u8]) {
        let reader = &mut self.reader;
        self.sieve.push(chunk, &mut |number, raw| reader.read(number, raw));
    }

    /// Ranks and chooses.
    pub fn finish(self) -> Digest {
        let Self { options, sieve, mut reader } = self;
        let (windows, end) = sieve.finish(&mut |number, raw| reader.read(number, raw));
        let mut lines = worth::read(&windows);
        drop(windows);
        worth::rank(&mut lines, &reader.steps.failed, end, options.green, &worth::Weights::default());
        let show = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let choice = choose::choose(&lines, options.budget, &show);
        let best = worth::best(&lines);
        let mut names = names::Names::default();
        lines.iter().for_each(|line| names.read(&line.text));
        Digest {
            ranges: choice.ranges,
            anchors: best.iter().map(|l| l.number).collect(),
            line: best.first().map(|l| l.number),
            line_text: best.first().map(|l| show(&l.text)).unwrap_or_default(),
            text: choice.text,
            tests: names.finish(),
        }
    }
    pub(crate) fn parts(self) -> (Vec<worth::Line>, Vec<steps::Region>, u64) {
        let Self { options: _, sieve, mut reader } = self;
        let (windows, end) = sieve.finish(&mut |number, raw| reader.read(number, raw));
        (worth::read(&windows), reader.steps.failed, end)
    }
}
