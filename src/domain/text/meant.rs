//! What somebody probably meant by a word that is not known.

/// How alike a known word must be (Jaro-Winkler, 1 is the same) to be offered.
const ALIKE: f64 = 0.85;

/// ` (did you mean "rounds"?)`, where something known is alike; else nothing.
pub fn meant(given: &str, known: &[&str]) -> String {
    let alike = known.iter().filter(|known| strsim::jaro_winkler(given, known) >= ALIKE);
    // Among those the fewest slips of a finger: a likeness counts what begins alike for more than what a slip leaves.
    let best = alike.min_by_key(|known| strsim::osa_distance(given, known));
    best.map_or_else(String::new, |known| format!(" (did you mean \"{known}\"?)"))
}
