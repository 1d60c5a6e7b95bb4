//! One line out of many, and a text within a length: for sentences, titles and lists.

/// At most `limit` characters, the last a `…` where something was cut, at a word's end where one is near.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    if limit == 0 {
        return String::new();
    }
    let kept: String = text.chars().take(limit - 1).collect();
    // A word's end within the last third; a text without spaces is cut where it must be.
    let end = kept.rfind(char::is_whitespace).filter(|end| *end >= kept.len() / 3 * 2);
    format!("{}…", kept[..end.unwrap_or(kept.len())].trim_end_matches([' ', ',', ';', ':', '\n']))
}

/// The text as one line: every run of white space a single space.
pub fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
