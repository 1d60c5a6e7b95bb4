//! What somebody probably meant by a word that is not known.

/// How alike a known word must be (Jaro-Winkler, 1 is the same) to be offered.
const ALIKE: f64 = 0.85;

/// ` (did you mean "rounds"?)`, where something known is alike; else nothing.
pub fn meant(given: &str, known: &[&str]) -> String {
    let alike = known.iter().map(|k| (strsim::jaro_winkler(given, k), k));
    let best = alike.filter(|(score, _)| *score >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or_else(String::new, |(_, known)| format!(" (did you mean \"{known}\"?)"))
}
