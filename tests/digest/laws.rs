//! What holds of every log.

use fixpoint::digest::{Digester, Options};
use proptest::prelude::*;

/// Lines of the kinds that logs are made of.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,120}",
        "error: [a-z ]{1,30}",
        "##\\[(group|error|endgroup)\\][a-z ]{0,20}",
        "\\$ make [a-z]{1,8}",
        "src/[a-z]{1,8}\\.rs:[0-9]{1,3}:[0-9]{1,2}: error: [a-z ]{1,30}",
        "    at [a-z.]{1,40}\\([A-Z][a-z]{1,8}\\.java:[0-9]{1,3}\\)",
        "[a-zäöü✗]{0,300}",
        Just(String::new()),
    ]
}

fn digest(log: &[u8], budget: usize, size: usize) -> String {
    let mut digester = Digester::new(Options { budget, ..Options::default() });
    log.chunks(size).for_each(|chunk| digester.push(chunk));
    serde_json::to_string(&digester.finish()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_split_gives_the_same_digest(lines in prop::collection::vec(line(), 0..60), size in 1_usize..2000) {
        let log = lines.join("\n").into_bytes();
        prop_assert_eq!(digest(&log, 2000, size), digest(&log, 2000, usize::MAX));
    }

    #[test]
    fn the_text_keeps_to_the_budget_and_to_the_log(lines in prop::collection::vec(line(), 0..200), budget in 0_usize..9000) {
        let mut digester = Digester::new(Options { budget, ..Options::default() });
        digester.push(lines.join("\n").as_bytes());
        let digest = digester.finish();
        prop_assert!(digest.text.len() <= budget);
        let last = lines.len().max(1) as u64;
        prop_assert!(digest.ranges.iter().all(|(from, to)| 1 <= *from && from <= to && *to <= last));
        prop_assert!(digest.line.is_none_or(|line| line <= last));
    }
}

#[test]
fn a_large_log_split_anyhow_gives_the_same_digest() {
    let mut log = Vec::new();
    for number in 0..400_000 {
        let line = if number % 1000 == 7 {
            format!("a/b{number}.c:12: error: no {number}\n")
        } else {
            format!("step {number} is done and well\n")
        };
        log.extend_from_slice(line.as_bytes());
    }
    assert!(log.len() > 10 << 20, "larger than what is kept whole");
    assert_eq!(digest(&log, 8000, 4096), digest(&log, 8000, usize::MAX));
}

#[test]
fn what_a_progress_bar_left_of_its_line_is_seen_however_long_the_bar_was() {
    for percents in [10, 10_000, 400_000] {
        let mut log = String::from("$ make\n");
        (0..percents).for_each(|number| log += &format!("{number} of {percents}\r"));
        log += "error: no space left on the device\nmake: *** [all] Error 1\n";
        assert!(digest(log.as_bytes(), 2000, 4096).contains("no space left on the device"), "{percents}");
    }
}
