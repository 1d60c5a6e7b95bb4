//! The check that a second person has looked: the App opens the pull request, so whoever asked for the change could approve
//! it alone.

use crate::domain::{UserId, repo_config::SecondPerson, session::Facts};
use std::collections::BTreeSet;

/// The check's name, by which a rule of the repository requires it.
pub const SECOND_PERSON: &str = "fixpoint/second-person";

/// Title and summary on a person's own pull request, where GitHub's own rules say who may approve.
pub const PERSONS_OWN: (&str, &str) = (
    "A person's own pull request",
    "fixpoint did not open it, so the repository's own rules for approvals are enough.",
);

/// Whether the wanted approvals of the live head are there, with a title and a summary. `None`: nothing is wanted.
pub fn second_person(wanted: SecondPerson, facts: &Facts) -> Option<(bool, String, String)> {
    let head = facts.head.as_ref()?;
    let approving: BTreeSet<UserId> =
        facts.approvals.iter().filter(|a| a.head == *head).map(|a| a.by).collect();
    let others = approving.iter().filter(|by| !facts.askers.contains(by)).count();
    let (enough, wants) = match wanted {
        SecondPerson::Off => return None,
        SecondPerson::OtherThanAsker => {
            (others >= 1, "an approval by somebody who did not ask for any of it")
        }
        SecondPerson::Two => (approving.len() >= 2, "approvals by two people"),
    };
    let title = if enough { "Approved by a second person".to_owned() } else { format!("Waits for {wants}") };
    let summary = format!(
        "fixpoint opened this pull request, so whoever asked for the change could approve it. This repository wants {wants}, \
         for `{}`: a new commit needs it anew.",
        head.short()
    );
    Some((enough, title, summary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Sha, session::Approval};

    fn facts(approvals: &[(u64, char)]) -> Facts {
        let sha = |digit: char| Sha::parse(&digit.to_string().repeat(40)).unwrap();
        let mut facts = crate::domain::say::tests::state(crate::domain::Phase::Queued).facts;
        facts.head = Some(sha('4'));
        facts.approvals =
            approvals.iter().map(|(by, head)| Approval { by: UserId(*by), head: sha(*head) }).collect();
        facts
    }

    #[test]
    fn only_others_and_only_the_live_head_count() {
        let passes =
            |wanted, approvals: &[(u64, char)]| second_person(wanted, &facts(approvals)).map(|(ok, ..)| ok);
        assert_eq!(passes(SecondPerson::Off, &[(9, '4')]), None);
        let other = SecondPerson::OtherThanAsker;
        assert_eq!(passes(other, &[]), Some(false));
        assert_eq!(passes(other, &[(3, '4')]), Some(false), "the asker");
        assert_eq!(passes(other, &[(9, '1')]), Some(false), "an older head");
        assert_eq!(passes(other, &[(9, '4')]), Some(true));
        assert_eq!(passes(SecondPerson::Two, &[(9, '4')]), Some(false));
        assert_eq!(passes(SecondPerson::Two, &[(9, '4'), (9, '4')]), Some(false), "one person twice");
        assert_eq!(passes(SecondPerson::Two, &[(9, '4'), (3, '4')]), Some(true));
    }
}
