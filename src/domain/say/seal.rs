//! Which text of a pull request is ours to replace.
//!
//! A maintainer ticks a box in it, or adds what reviewers should know. So our text ends with a hidden comment that holds
//! its hash: while the hash fits, whoever wrote it (a late request of ours too) nobody has touched it since.

use sha2::{Digest, Sha256};

const BEGIN: &str = "<!-- fixpoint:text:";
const END: &str = " -->";

/// Digits of the hash: it must tell texts apart, not withstand anybody.
const DIGITS: usize = 16;

/// Our text with its seal.
pub fn sealed(text: &str) -> String {
    let text = text.trim_end();
    format!("{text}\n\n{BEGIN}{}{END}", hash(text))
}

/// Does a text of ours end with a seal?
pub fn is_sealed(text: &str) -> bool {
    text.trim_end()
        .rsplit_once(BEGIN)
        .is_some_and(|(_, rest)| rest.split_once(END).is_some_and(|(_, more)| more.is_empty()))
}

/// What is to stand where `live` stands: `text` with its seal, and below it what people wrote below ours. Where they
/// changed ours, or took it away, `live` stands.
pub fn renewed(live: &str, text: &str) -> String {
    // The last one: what a quoted text says of itself counts for nothing.
    let ours = live.rsplit_once(BEGIN).and_then(|(ours, rest)| {
        let (seal, theirs) = rest.split_once(END)?;
        (seal == hash(ours)).then_some(theirs)
    });
    match ours {
        Some(theirs) => sealed(text) + theirs,
        None => live.to_owned(),
    }
}

/// GitHub's editor writes other line ends than we do.
fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.replace('\r', "").trim_end());
    let mut digits = hex::encode(digest);
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_nobody_touched_is_replaced_and_what_stands_below_is_kept(
            old in "\\PC{0,40}", new in "\\PC{0,40}", below in "[^<]{0,20}",
        ) {
            let live = sealed(&old).replace('\n', "\r\n") + &below;
            prop_assert_eq!(renewed(&live, &new), sealed(&new) + &below);
        }

        #[test]
        fn what_somebody_changed_stands(old in "[a-z \n]{1,40}", at in any::<prop::sample::Index>(), new in "\\PC{0,40}") {
            let mut live = sealed(&old);
            live.insert(at.index(old.trim_end().len() + 1), '!');
            prop_assert_eq!(renewed(&live, &new), live);
        }
    }

    #[test]
    fn a_text_without_a_seal_or_with_a_quoted_one_stands() {
        let quoted = format!("{}\n\n{}", sealed("Ours."), "> <!-- fixpoint:text:0123456789abcdef -->");
        for live in ["", "Mine.", quoted.as_str(), "<!-- fixpoint:text:"] {
            assert_eq!(renewed(live, "New."), live);
        }
    }
}
