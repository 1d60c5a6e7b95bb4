//! How the page is laid out: a chapter, a heading a face, when it is seen, and the face itself between two marks.

use super::*;
use std::fmt::Write as _;

/// What kind of thing on GitHub a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The status comment.
    Comment,
    /// A new comment that a person is told by, a review, an answer in a thread.
    Note,
    /// A pull request's title and body.
    Pull,
    /// A check run's title and summary.
    Check,
}

/// One face.
pub(super) struct Shown {
    pub(super) place: Place,
    pub(super) name: &'static str,
    when: &'static str,
    title: Option<String>,
    pub(super) text: String,
    pub(super) outcome: Option<String>,
}

pub(super) struct Chapter {
    pub(super) title: &'static str,
    pub(super) shown: Vec<Shown>,
}

impl Shown {
    fn new(place: Place, name: &'static str, when: &'static str, text: String) -> Self {
        Self { place, name, when, title: None, text, outcome: None }
    }

    /// What a notification begins with.
    pub(super) fn lead(&self) -> String {
        if let Some(title) = &self.title {
            return title.clone();
        }
        let bold = self.text.strip_prefix("**").and_then(|rest| rest.split_once("**"));
        let first = self.text.lines().next().unwrap_or_default();
        let first = first.split_inclusive(". ").next().unwrap_or_default().trim_end();
        bold.map_or_else(|| first.to_owned(), |(lead, _)| lead.to_owned())
    }
}

/// The status comment of a state.
pub(super) fn comment(name: &'static str, when: &'static str, state: &State) -> Shown {
    comment_with(name, when, state, |_| {})
}

/// The same, with something else known than is usual.
pub(super) fn comment_with(
    name: &'static str,
    when: &'static str,
    state: &State,
    change: impl FnOnce(&mut Context<'_>),
) -> Shown {
    let limits = Limits::default();
    let mut context = Context { kept: false, survey: state.facts.survey.as_ref(), ..context(&limits) };
    change(&mut context);
    let outcome = match &state.phase {
        Phase::Resting { outcome } | Phase::Done { outcome } => Some(super::name(outcome).to_owned()),
        _ => None,
    };
    Shown { outcome, ..Shown::new(Place::Comment, name, when, status(state, &context)) }
}

/// A new comment, a review, an answer.
pub(super) fn note(name: &'static str, when: &'static str, text: String) -> Shown {
    Shown::new(Place::Note, name, when, text)
}

/// Something with a title of its own.
pub(super) fn titled(
    place: Place,
    name: &'static str,
    when: &'static str,
    (title, text): (String, String),
) -> Shown {
    Shown { title: Some(title), ..Shown::new(place, name, when, text) }
}

const HEAD: &str = "# What people see

Every text that fixpoint writes on GitHub, each as it is sent, made from one story: `alice` asked in #481 for a change, and
#482 is the pull request. A test makes this page from the code and compares, so nothing here is older than the program.
[terminal.md](terminal.md) has what is seen in a terminal, and the [end of this page](#pictures) how the texts look on a
screen.

One sentence comes first: what came out, of what, and who must act. A notification on a phone shows that much. Nothing is
mentioned, closed or started by a text of others, and commands stand in code spans, so that none fires.
";

const TAIL: &str = include_str!("pictures.md");

pub(super) fn page(chapters: &[Chapter]) -> String {
    let mut page = HEAD.to_owned();
    for chapter in chapters {
        let _ = write!(page, "\n## {}\n", chapter.title);
        for shown in &chapter.shown {
            let kind = match shown.place {
                Place::Comment => "comment",
                Place::Note => "note",
                Place::Pull => "pull",
                Place::Check => "check",
            };
            let title = shown.title.as_ref().map_or(String::new(), |title| format!("**{title}**\n\n"));
            let (name, when, text) = (shown.name, shown.when, line_ends(&shown.text));
            let _ = write!(
                page,
                "\n### {name}\n\n*{when}*\n\n<!-- {kind} -->\n\n{title}{text}\n\n<!-- end -->\n"
            );
        }
    }
    page + "\n" + TAIL
}

/// A comment's line ends are seen as such; in a file they are where two spaces stand before them.
fn line_ends(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    let mut code = false;
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        code ^= line.starts_with("```");
        let next = lines.get(at + 1).copied().unwrap_or_default();
        let block = ["|", "<", "```", "# ", "##"];
        let plain = |line: &str| !line.is_empty() && !block.iter().any(|sign| line.starts_with(sign));
        let starts = next.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok());
        let breaks = !code && plain(line) && plain(next) && !starts && *line != ">" && next != ">";
        out.push_str(line);
        out.push_str(if breaks { "  \n" } else { "\n" });
    }
    out.trim_end().to_owned()
}
