//! From hundreds of megabytes of CI log to the few thousand bytes that are worth a model's and a person's time.
//!
//! A pure fold over bytes: [`Digester::push`] takes the log in pieces of any size, [`Digester::finish`] gives the [`Digest`]. One
//! pass, bounded memory, no input or output.

pub mod archive;
mod candidate;
mod choose;
mod clean;
pub mod fuzz;
mod green;
mod kind;
pub mod matchers;
mod names;
mod point;
mod secrets;
mod sieve;
mod signature;
mod signs;
mod steps;
mod worth;

pub use green::GreenIndex;
pub use matchers::{Matcher, MatcherError};

use secrets::Secrets;
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
    /// The repository's own problem matchers; they come before the built-in ones.
    pub matchers: &'a [Matcher],
    /// Secrets that may stand in the log; they are cut out of everything the digest gives.
    pub secrets: &'a [String],
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

/// A problem that a tool reported with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The path as the tool printed it.
    pub file: Option<String>,
    /// 1-based.
    pub line: Option<u64>,
    /// As the tool counts it.
    pub column: Option<u64>,
    /// `error`, `warning` or `notice`.
    pub severity: &'static str,
    /// What is wrong.
    pub message: String,
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
    /// Problems with their places.
    pub diagnostics: Vec<Diagnostic>,
    /// Names of failing tests.
    pub tests: Vec<String>,
    /// The failed step, as the runner calls it.
    pub step: Option<String>,
    /// The same for the same failure of the same check, whatever the run.
    pub signature: String,
    /// Who is to blame.
    pub kind: Kind,
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
        let secrets = Secrets::new(options.secrets);
        let (tests, diagnostics) = found_in(&mut lines, options.matchers, &secrets);
        let failed = &reader.steps.failed;
        worth::rank(&mut lines, failed, end, None);
        // The same failure is known again whatever green log is at hand: its signature is taken before one is looked at.
        let told = point::best(&lines).first().map_or(&[][..], |line| &line.text);
        let signature = signature::signature(options.check, told, &tests);
        if options.green.is_some() {
            worth::rank(&mut lines, failed, end, options.green);
        }
        let show = |text: &[u8]| secrets.cut(&String::from_utf8_lossy(text));
        let choice = choose::choose(&lines, options.budget, &show);
        let best = point::best(&lines);
        let kind = kind::kind(&lines, best.first().copied(), &reader.steps, &tests);
        let line = best.first();
        let step = reader.steps.failed_at(line.map(|l| l.number));
        Digest {
            ranges: choice.ranges,
            anchors: best.iter().map(|l| l.number).collect(),
            line: line.map(|l| l.number),
            line_text: line.map(|l| choose::one_line(&show(&l.text))).unwrap_or_default(),
            text: choice.text,
            diagnostics,
            signature,
            tests,
            step: step.map(|name| secrets.cut(&name)),
            kind,
        }
    }
}

/// Failing tests and diagnostics, secrets taken out. A line that the repository's own matchers call an error is marked as one.
fn found_in(lines: &mut [worth::Line], own: &[Matcher], secrets: &Secrets) -> (Vec<String>, Vec<Diagnostic>) {
    let mut names = names::Names::default();
    let mut finder = matchers::Finder::new(own);
    for line in lines {
        names.read(&line.text);
        if finder.read(&line.text) {
            line.sign = signs::reported(line.sign);
        }
    }
    let tests = names.finish().iter().map(|name| secrets.cut(name)).collect();
    let mut diagnostics = finder.finish();
    diagnostics.iter_mut().for_each(|diagnostic| diagnostic.message = secrets.cut(&diagnostic.message));
    (tests, diagnostics)
}
