//! The pull request: what the agent says, what was seen, who asked.

use super::{Context, MARKER, handed, looks, voice::Voice, words};
use crate::domain::{Phase, State, egress::Refusals, session::Outcome, text};

/// Longest title: what GitHub's lists show on one line.
const TITLE: usize = 72;
/// Longest account by the agent.
const ACCOUNT: usize = 600;
/// Longest account where the repository has a template for it.
const TEMPLATE: usize = 8_000;
/// Refused destinations that are named.
const NAMED_REFUSALS: usize = 5;
/// Changed lines above which a reviewer is told that it is much.
const MUCH: usize = 400;

/// Title and body of the pull request. The body is edited as the work goes on, so it mentions nobody.
pub fn pull(state: &State, context: &Context<'_>) -> (String, String) {
    let voice = Voice { state, context };
    let parts =
        [issue(&voice), account(&voice), first_looks(&voice), size(&voice), table(&voice), try_it(&voice)];
    let body: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    (title(&voice), text::cut(&(body.join("\n\n") + "\n"), text::BODY_LIMIT - MARKER))
}

fn title(voice: &Voice<'_>) -> String {
    let summary = voice.facts().summary.as_deref().unwrap_or_default();
    let first =
        summary.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(&voice.facts().thread.title);
    let title = text::line(&text::harmless_plain(first.trim_start_matches(['#', ' ']))).replace('`', "");
    let title = text::shorten(title.trim_end_matches('.'), TITLE);
    if title.is_empty() { format!("Work on {}", voice.thread()) } else { title }
}

/// `Fixes` closes the issue at the merge: said only once the checks agree.
fn issue(voice: &Voice<'_>) -> String {
    let facts = voice.facts();
    if facts.pull.as_ref().is_some_and(|pull| pull.number == facts.thread.number) {
        return String::new();
    }
    match &voice.state.phase {
        Phase::Resting { outcome: Outcome::Green } | Phase::Done { outcome: Outcome::Merged } => {
            format!("Fixes {}", voice.thread())
        }
        _ => format!("For {}", voice.thread()),
    }
}

fn account(voice: &Voice<'_>) -> String {
    if let Some(filled) = voice.facts().description.as_deref() {
        let filled = text::harmless(&text::cut(filled.trim(), TEMPLATE));
        return format!("By this repository's template, in the agent's words:\n\n{}", filled.trim_end());
    }
    let summary = voice.facts().summary.as_deref().map(str::trim).filter(|summary| !summary.is_empty());
    // Its first line is the title, which is the first round's.
    let titled = voice.facts().request_no == 1 && voice.facts().round <= 1;
    let beside_title = |summary: &'_ str| match summary.split_once("\n\n") {
        Some((first, rest)) if titled && first.chars().count() <= TITLE && !rest.trim().is_empty() => {
            rest.trim().to_owned()
        }
        _ => summary.to_owned(),
    };
    match summary.map(beside_title) {
        Some(summary) => format!(
            "**What and why**, in the agent's words:\n\n{}",
            words::quote(&summary, ACCOUNT).trim_end()
        ),
        None => "**What and why**: the agent gave no account.".to_owned(),
    }
}

fn first_looks(voice: &Voice<'_>) -> String {
    let looks = looks::looks(voice);
    if looks.is_empty() { String::new() } else { format!("**Look here first:** {}", looks.join("; ")) }
}

fn size(voice: &Voice<'_>) -> String {
    match voice.context.survey.map(crate::domain::policy::Survey::lines) {
        Some(lines) if lines > MUCH => format!(
            "**{lines} changed lines** are more than one review holds. {} with a smaller part first would split it.",
            voice.command("<text>")
        ),
        _ => String::new(),
    }
}

fn table(voice: &Voice<'_>) -> String {
    let (facts, context) = (voice.facts(), voice.context);
    let cell = |text: &str| words::inline(text, 400).replace('|', "\\|");
    let mut rows = format!(
        "| | |\n|---|---|\n| asked | by {} in {} |\n",
        words::code(&facts.request.asker.login, 60).replace('|', "\\|"),
        voice.thread()
    );
    let checks = facts.tally.map(|(green, all)| format!("{green} of {all} green on {}", voice.head()));
    let checks = checks.unwrap_or_else(|| "not known yet".to_owned());
    let red: Vec<String> =
        facts.failures.iter().take(5).map(|f| words::code(&f.check, 60).replace('|', "\\|")).collect();
    let red = if red.is_empty() { String::new() } else { format!("; red: {}", red.join(", ")) };
    rows.push_str(&format!("| checks | {checks}{red} |\n"));
    // Fewer are all named above.
    if facts.flags.len() > looks::NAMED_FLAGS {
        let flags: Vec<String> = facts.flags.iter().take(10).map(looks::named).collect();
        rows.push_str(&format!("| flagged | {} |\n", flags.join("<br>").replace('|', "\\|")));
    }
    if let Some(hidden) = voice.hidden() {
        rows.push_str(&format!(
            "| hidden text | {hidden} of {} that nobody sees, left out of what the model is shown |\n",
            voice.thread()
        ));
    }
    let handed = handed::things(voice);
    if !handed.is_empty() {
        rows.push_str(&format!("| CI hands it | {} |\n", handed.replace('|', "\\|")));
    }
    rows.push_str(&format!("| sandbox | {}{} |\n", cell(context.sandbox), refused(&facts.refused)));
    let host =
        context.host.filter(|_| !facts.public).map_or(String::new(), |host| format!(" at {}", cell(host)));
    rows.push_str(&format!("| engine | {}{host} |\n", cell(context.engine)));
    rows.push_str(&format!("| session | {}, {} |", words::code(context.session, 60), voice.round()));
    rows
}

/// What the sandbox was refused: the host's own record, of words that the agent chose.
fn refused(refusals: &Refusals) -> String {
    if refusals.is_empty() {
        return String::new();
    }
    let mut named: Vec<String> = Vec::new();
    for refused in &refusals.all {
        let name = words::code(&refused.to, 60).replace('|', "\\|");
        if !named.contains(&name) {
            named.push(name);
        }
    }
    let more = named.len().saturating_sub(NAMED_REFUSALS) + refusals.more as usize;
    named.truncate(NAMED_REFUSALS);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("; refused {}{more}", named.join(", "))
}

fn try_it(voice: &Voice<'_>) -> String {
    voice
        .facts()
        .pull
        .as_ref()
        .map_or(String::new(), |pull| format!("Try it: `gh pr checkout {}`", pull.number))
}
