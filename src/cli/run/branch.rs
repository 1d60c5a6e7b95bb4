//! The branch that a run leaves in the person's repository.

use super::{forge::Forge, place::Place};
use crate::{app::Given, domain::State};

/// The branch in the person's repository; `None`: nothing was committed.
pub(super) async fn taken(state: &State, place: &Place, forge: &Forge) -> anyhow::Result<Option<Given>> {
    let Some(head) = &state.facts.head else { return Ok(None) };
    // `fixpoint/1-slug`: the number is the forge's own.
    let slug = state.facts.branch.split_once('-').map_or("change", |(_, slug)| slug);
    let name = format!("fixpoint/{slug}");
    Ok(Some(place.local.take(&forge.git, (&forge.base, head), &name, reworded).await?))
}

/// A commit's message without what only the forge of the run knows: its issue's number would name another one elsewhere.
fn reworded(message: &str) -> String {
    let of_the_forge = |line: &&str| {
        let number = line.strip_prefix("For #").or(line.strip_prefix("Work on #"));
        number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) || line.starts_with("Requested-by: ")
    };
    let mut kept: Vec<&str> = Vec::new();
    for line in message.lines().filter(|line| !of_the_forge(line)) {
        // No two empty lines where one was taken out.
        if !(line.is_empty() && kept.last().is_some_and(|last| last.is_empty())) {
            kept.push(line);
        }
    }
    let text = kept.join("\n");
    let text = text.trim();
    let has_subject = text.lines().next().is_some_and(|first| !first.starts_with("Assisted-by: "));
    if has_subject { format!("{text}\n") } else { format!("Change by fixpoint\n\n{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_names_no_issue_of_the_forge() {
        let said = "Saturate\n\nIt overflowed.\n\nFor #1\n\nRequested-by: you\nAssisted-by: native, m\nFixpoint-Session: 1\nFixpoint-Round: 2\n";
        assert_eq!(
            reworded(said),
            "Saturate\n\nIt overflowed.\n\nAssisted-by: native, m\nFixpoint-Session: 1\nFixpoint-Round: 2\n"
        );
        let nameless = "Work on #1\n\nFor #1\n\nRequested-by: you\nAssisted-by: m\n";
        assert_eq!(reworded(nameless), "Change by fixpoint\n\nAssisted-by: m\n");
    }
}
