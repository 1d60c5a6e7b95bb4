//! The task of a round as the model is told it, one function a kind.

use super::{About, RedCheck, Task, Thread, caps, caps::middle, fence::Fence, prompt::TASK};
use crate::domain::text::Clean;
use crate::llm::Message;

/// The task as the first message of a round.
pub(super) fn task(task: &Task) -> Message {
    Message::user(match task {
        Task::Request { about, instruction, plan, notes } => {
            let plan = plan.as_ref().map_or(String::new(), planned);
            request("Solve", about, instruction) + &plan + &comments(notes)
        }
        Task::Plan { about, instruction, notes } => {
            request("Make a plan for", about, instruction) + "\n\n" + PLAN + &comments(notes)
        }
        Task::Review { about, diff, instruction, notes } => {
            review(about, diff, instruction) + &comments(notes)
        }
        Task::Feedback { review, threads, notes } => feedback(review, threads) + &comments(notes),
        Task::Conflict { base, files, notes } => conflict(base, files) + &comments(notes),
        Task::Red { failures, round, hint, notes } => red(failures, *round, hint.as_deref(), notes),
        Task::Refused(reasons) => refused(reasons),
    })
}

const PLAN: &str = "Do not change anything yet. Read what you need and say in `finish` how you would do it: which files, which \
    steps, which tests, what could go wrong, what you would leave. A person approves the plan or says what should be different; \
    nothing that you change now is kept.";

/// What is asked, and the issue or pull request it is about; `verb` is what is done with it where nothing more is said.
fn request(verb: &str, about: &About, instruction: &Clean) -> String {
    let title = middle(about.title.as_str(), caps::TITLE);
    let body = middle(about.body.as_str(), caps::BODY);
    let asked = middle(instruction.as_str().trim(), caps::INSTRUCTION);
    let thing = if about.is_pull { "pull request" } else { "issue" };
    let text = if asked.is_empty() {
        format!("{TASK}\n\n{verb} the {thing} below.")
    } else {
        format!("{TASK}\n\nSomebody with write access to the repository asked this of you:\n\n{asked}")
    };
    format!("{text}\n\n{}", told(about, thing, &title, &body))
}

/// The issue or pull request itself: instructions by those who may give them, data by all others.
fn told(about: &About, thing: &str, title: &str, body: &str) -> String {
    let fence = Fence::around(&[title, body]);
    let on_pull = if about.is_pull {
        "\n\nIts branch is checked out; what you change is added to it.".to_owned()
    } else {
        String::new()
    };
    if about.trusted {
        format!("# The {thing}, by somebody with write access\n\n{title}\n\n{body}{on_pull}")
    } else {
        let (title, body) =
            (fence.data(&format!("{thing} title"), title), fence.data(&format!("{thing} text"), body));
        format!("# The {thing}\n\n{}\n\n{title}\n\n{body}{on_pull}", fence.explained())
    }
}

fn planned(plan: &Clean) -> String {
    format!(
        "\n\n# The plan\n\nYou made this plan and a person approved it. Carry it out.\n\n{}",
        middle(plan.as_str(), caps::BODY)
    )
}

/// A review changes nothing; its comments are posted on the lines it names.
fn review(about: &About, diff: &Clean, instruction: &Clean) -> String {
    let (title, body) = (middle(about.title.as_str(), caps::TITLE), middle(about.body.as_str(), caps::BODY));
    let diff = middle(diff.as_str(), caps::DIFF);
    let fence = Fence::around(&[&title, &body, &diff]);
    let asked = middle(instruction.as_str().trim(), caps::INSTRUCTION);
    let asked = if asked.is_empty() {
        String::new()
    } else {
        format!("\n\nSomebody with write access asked you to look at this above all:\n\n{asked}")
    };
    format!(
        "{TASK}: review a pull request\n\nIts branch is checked out. Read the difference below and the code around it; run what \
         shows whether something is wrong. Change nothing: nothing that you change is kept. Look for what is wrong or dangerous, \
         not for taste; say nothing rather than something that you have not checked. End with `finish`: in `summary` what the \
         change does and whether you found anything, in `comments` one entry for each finding on the lines of the difference, with \
         a `suggestion` where a few other lines mend it.{asked}\n\n{}\n\n{}\n\n{}\n\n{}",
        fence.explained(),
        fence.data("pull request title", &title),
        fence.data("pull request text", &body),
        fence.data("difference", &diff),
    )
}

/// The reviewer has write access: what they say is asked of the agent. The lines they say it of are data.
fn feedback(review: &Clean, threads: &[Thread]) -> String {
    let review = middle(review.as_str().trim(), caps::BODY);
    let hunks: Vec<_> = threads.iter().map(|thread| middle(thread.hunk.as_str(), caps::HUNK)).collect();
    let fence = Fence::around(&hunks.iter().map(AsRef::as_ref).collect::<Vec<&str>>());
    let mut text = format!(
        "{TASK}: answer a review\n\nSomebody with write access reviewed your pull request. Do what the review asks, or say why \
         not: for each numbered comment give an entry in `replies` of `finish` (what you did, or the reason why not, in one or two \
         sentences)."
    );
    if !review.is_empty() {
        text = format!("{text}\n\n# The review\n\n{review}");
    }
    if !threads.is_empty() {
        text = format!("{text}\n\n{}", fence.explained());
    }
    for (thread, hunk) in threads.iter().zip(&hunks).take(caps::THREADS) {
        let line = thread.line.map_or(String::new(), |line| format!(", line {line}"));
        let path = middle(thread.path.as_str(), caps::LINE);
        let body = middle(thread.body.as_str(), caps::NOTE);
        let hunk = fence.data("the lines it is about", hunk);
        text = format!("{text}\n\n# Comment {} on {path}{line}\n\n{body}\n\n{hunk}", thread.id);
    }
    if threads.len() > caps::THREADS {
        text = format!("{text}\n\n{} more comments are left out.", threads.len() - caps::THREADS);
    }
    text
}

fn conflict(base: &Clean, files: &[Clean]) -> String {
    let mut text = format!(
        "{TASK}: mend a conflict\n\nThe base branch {} was merged into your branch and does not fit. The files below hold conflict \
         markers (`<<<<<<<`, `|||||||`, `=======`, `>>>>>>>`), or one side was changed and the other removed them. Bring both \
         intentions together, leave no marker, change nothing else, and run what shows that it works.",
        middle(base.as_str(), caps::LINE)
    );
    for file in files.iter().take(caps::FILES) {
        text = format!("{text}\n- {}", middle(file.as_str(), caps::LINE));
    }
    if files.len() > caps::FILES {
        text = format!("{text}\n- and {} more", files.len() - caps::FILES);
    }
    text
}

fn red(failures: &[RedCheck], (round, of): (u32, u32), hint: Option<&str>, notes: &[Clean]) -> String {
    let told: Vec<_> = failures.iter().take(caps::CHECKS).map(check).collect();
    let fence = Fence::around(&told.iter().map(String::as_str).collect::<Vec<_>>());
    let mut text = format!(
        "{TASK}: round {round} of {of}\n\nYour changes were pushed and CI is red. Find out why from what follows and from the code, \
         and mend it; the request still stands.{}",
        if round >= of { " This is the last round: after it a person takes over." } else { "" }
    );
    if let Some(hint) = hint {
        text = format!("{text}\n\n{}", middle(Clean::plain(hint).as_str(), caps::NOTE));
    }
    text = format!("{text}\n\n{}", fence.explained());
    for check in &told {
        text = format!("{text}\n\n{}", fence.data("red check", check));
    }
    if failures.len() > told.len() {
        text = format!("{text}\n\n{} more checks are red.", failures.len() - told.len());
    }
    text + &comments(notes)
}

/// A red check, in lines: all of it is data, its name included.
fn check(check: &RedCheck) -> String {
    let mut lines = vec![
        format!("check: {}", middle(check.name.as_str(), caps::TITLE)),
        format!("in one line: {}", middle(check.line.as_str(), caps::LINE)),
    ];
    if !check.tests.is_empty() {
        lines.push("failing tests:".to_owned());
        lines.extend(
            check
                .tests
                .iter()
                .take(caps::TESTS)
                .map(|test| format!("- {}", middle(test.as_str(), caps::LINE))),
        );
    }
    if check.tests.len() > caps::TESTS {
        lines.push(format!("and {} more", check.tests.len() - caps::TESTS));
    }
    lines.push("from its log:".to_owned());
    lines.push(middle(check.excerpt.as_str(), caps::EXCERPT).into_owned());
    lines.join("\n")
}

fn refused(reasons: &[String]) -> String {
    let reasons: Vec<_> =
        reasons.iter().take(caps::REASONS).map(|reason| one_line(&Clean::plain(reason))).collect();
    format!(
        "{TASK}: mend what was refused\n\nYour change was not accepted and nothing was pushed. The reasons:\n\n{}\n\nChange it so that \
         they no longer hold and call `finish` again. If the request cannot be met without this, undo nothing more and say so in `finish`; \
         it will not be asked again.",
        reasons.join("\n")
    )
}

fn one_line(text: &Clean) -> String {
    let line = text.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    format!("- {}", middle(&line, caps::LINE))
}

pub(super) fn comments(notes: &[Clean]) -> String {
    let mut text = String::new();
    let last = &notes[notes.len().saturating_sub(caps::NOTES)..];
    if !last.is_empty() {
        text.push_str("\n\n# Comments by people with write access");
    }
    for note in last {
        text.push_str("\n\n");
        text.push_str(&middle(note.as_str(), caps::NOTE));
    }
    text
}
