//! Cutting: always the middle, since the start says what it is and the end says how it went.

use super::SHOWN;

/// The text within [`SHOWN`] bytes.
pub(in crate::toolbox) fn shown(text: String) -> String {
    if text.len() <= SHOWN {
        return text;
    }
    let (head, tail) = (
        &text[..text.floor_char_boundary(SHOWN / 2)],
        &text[text.ceil_char_boundary(text.len() - SHOWN / 2)..],
    );
    join(head, tail, text.len() - head.len() - tail.len())
}

/// Head and tail with the gap between them named.
fn join(head: &str, tail: &str, missing: usize) -> String {
    format!("{head}\n[… {missing} bytes left out …]\n{tail}")
}

/// A line within `most` bytes.
pub(in crate::toolbox) fn line(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}[… {} bytes]", &text[..text.floor_char_boundary(most)], text.len())
}

/// Keeps the head and the tail of a stream in constant memory.
#[derive(Debug, Default)]
pub(in crate::toolbox) struct Ends {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    seen: usize,
}

impl Ends {
    /// Takes the next bytes.
    pub(in crate::toolbox) fn push(&mut self, bytes: &[u8]) {
        self.seen += bytes.len();
        let room = (SHOWN / 2).saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(SHOWN / 2)..];
        self.tail.extend(rest);
        self.tail.drain(..self.tail.len().saturating_sub(SHOWN / 2));
    }

    /// What is left of it, as text.
    pub(in crate::toolbox) fn text(mut self) -> String {
        let missing = self.seen - self.head.len() - self.tail.len();
        if missing == 0 {
            self.head.extend(self.tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let tail: Vec<u8> = self.tail.into();
        join(&String::from_utf8_lossy(&self.head), &String::from_utf8_lossy(&tail), missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ends_keep_both_ends_and_count_the_gap(
            pieces in prop::collection::vec((any::<u8>(), 0usize..9000), 0..20),
        ) {
            let (mut ends, mut whole) = (Ends::default(), Vec::new());
            for (byte, length) in pieces {
                let piece = vec![b'a' + byte % 26; length];
                ends.push(&piece);
                whole.extend(piece);
            }
            let whole = String::from_utf8(whole).unwrap();
            let kept = ends.text();
            prop_assert_eq!(&kept, &shown(whole.clone()));
            prop_assert!(kept.len() <= SHOWN + 60);
        }

        #[test]
        fn cutting_never_splits_a_character(text in "[aä€😀]{0,30}", most in 0usize..40) {
            let cut = line(&text, most);
            prop_assert!(text.starts_with(cut.split("[…").next().unwrap()));
        }
    }
}
