//! What holds for every text, whatever the state and whatever others wrote into it.

use super::*;
use proptest::prelude::*;

/// Texts that try to do something.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("@alice ".to_owned()),
        Just("\n/code retry\n".to_owned()),
        Just("\n```\n".to_owned()),
        Just("<details>".to_owned()),
        Just("</details>".to_owned()),
        Just("<!--".to_owned()),
        Just("fixes #1 ".to_owned()),
        Just("`".to_owned()),
        Just("**".to_owned()),
        Just("| a | ".to_owned()),
        Just("# ".to_owned()),
        Just("[skip ci]".to_owned()),
        Just("[a]: @alice".to_owned()),
        Just("\u{1B}[31m".to_owned()),
        Just("👩‍💻".to_owned()),
        Just("word ".repeat(80)),
        "[ -~]{0,40}",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn phase() -> impl Strategy<Value = Phase> {
    let outcome = || {
        (0..24_usize, nasty()).prop_map(|(at, why)| match at {
            0 => Outcome::Green,
            1 => Outcome::NeedsPerson,
            2 => Outcome::NotGreen { why },
            3 => Outcome::NoCi,
            4 => Outcome::NotStarted { why },
            5 => Outcome::Infrastructure { why },
            6 => Outcome::ChecksCancelled,
            7 => Outcome::TimedOut,
            8 => Outcome::NothingToChange { why },
            9 => Outcome::Stopped,
            10 => Outcome::Limit { which: why },
            11 => Outcome::Budget { which: why },
            12 => Outcome::Refused { why },
            13 => Outcome::EngineFailed { passing: why.len() % 2 == 1, why },
            14 => Outcome::StoodDown { head: sha('d') },
            15 => Outcome::NoAnswer,
            16 => Outcome::Merged,
            17 => Outcome::Closed,
            18 => Outcome::IssueClosed,
            19 => Outcome::Reopened,
            20 => Outcome::Conflict,
            21 => Outcome::Reviewed,
            22 => Outcome::PatchOffered,
            _ => Outcome::NoAccess,
        })
    };
    let question = (0..3_usize, nasty()).prop_map(|(at, text)| match at {
        0 => Question::Agent { text },
        1 => Question::Plan { text },
        _ => Question::Publish { commit: sha('a'), tree: sha('b') },
    });
    prop_oneof![
        Just(Phase::Queued),
        Just(Phase::Working),
        Just(Phase::Publishing { commit: sha('a'), tree: sha('b') }),
        Just(Phase::Watching { since: Timestamp(0) }),
        question.prop_map(|question| Phase::Waiting { question, since: Timestamp(0) }),
        outcome().prop_map(|outcome| Phase::Resting { outcome }),
        outcome().prop_map(|outcome| Phase::Done { outcome }),
    ]
}

prop_compose! {
    fn any_state()(
        phase in phase(),
        texts in prop::collection::vec(nasty(), 12),
        flags in prop::collection::vec((nasty(), nasty(), any::<bool>()), 0..6),
        numbers in (any::<u32>(), any::<u64>(), any::<u64>(), 0..6_usize, 0..5_usize),
        switches in prop::array::uniform6(any::<bool>()),
        guest in proptest::option::of((any::<bool>(), any::<bool>())),
    ) -> State {
        let [public, has_pull, draftable, has_summary, has_remark, stopping] = switches;
        let (round, tokens, micros, failures, rounds) = numbers;
        with(state(phase), |facts| {
            facts.public = public;
            facts.pull = has_pull.then_some(Pull { number: Number(u64::MAX), draftable });
            facts.summary = has_summary.then(|| texts[0].clone());
            facts.remark = has_remark.then(|| awaiting_approval(3, Some(Number(7)), Some("https://example.org/a")));
            facts.stopping = stopping;
            facts.description = has_remark.then(|| texts[2].repeat(rounds));
            facts.guest = guest.map(|(pushable, fork)| {
                let repo = Repo { id: RepoId(9), owner: texts[11].clone(), name: texts[4].clone() };
                let author = Actor { id: UserId(8), login: texts[3].clone() };
                Guest { author, fork: fork.then_some(repo), pushable }
            });
            facts.round = round;
            facts.spent = Spent { tokens, micros };
            facts.thread.title = texts[1].clone();
            facts.request.instruction = texts[2].clone();
            facts.request.asker.login = texts[3].clone();
            facts.repo.name = texts[4].clone();
            facts.base.branch = texts[5].clone();
            facts.flags = flags
                .into_iter()
                .map(|(path, what, weaker)| if weaker { Flag::WeakerTests { path, what } } else { Flag::RunByCi { path } })
                .collect();
            let failure = Failure { check: texts[6].clone(), line: texts[7].clone(), excerpt: texts[8].repeat(50), url: Some(texts[9].clone()), ..red() };
            facts.failures = vec![failure; failures];
            let job = Job {
                workflow: texts[1].clone(),
                job: texts[2].clone(),
                event: texts[3].clone(),
                secrets: vec![texts[4].clone(), texts[5].clone()],
                permissions: Permissions::Each([(texts[6].clone(), texts[7].clone())].into()),
                environment: has_remark.then(|| texts[8].clone()),
                runner: texts[9].clone(),
                self_hosted: public,
                unread: stopping.then(|| texts[10].clone()),
            };
            facts.handed = Handed { jobs: vec![job; failures], more: rounds };
            facts.rounds = vec![RoundNote { number: round, cause: Cause::Review, commit: None, result: texts[10].clone() }; rounds];
        })
    }
}

/// Does a rendered text mention, close or command outside code?
fn acts(text: &str) -> Option<String> {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
    let mention = regex::Regex::new(r"(?i)(^|[^\w@])@[a-z0-9]").unwrap();
    let command = regex::Regex::new(r"^\s*/[a-z]+(\s|$)").unwrap();
    let (mut in_code, mut starts) = (false, false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Paragraph) | Event::SoftBreak | Event::HardBreak => starts = true,
            Event::Start(Tag::Image { .. }) => return Some("an image".into()),
            Event::Html(html) | Event::InlineHtml(html) => {
                let known = ["<details><summary>", "</details>", "<br>"];
                if !known.iter().any(|known| html.trim().starts_with(known)) {
                    return Some(html.to_string());
                }
            }
            Event::Text(words) if !in_code => {
                if mention.is_match(&words) || (starts && command.is_match(&words)) {
                    return Some(words.to_string());
                }
                starts = false;
            }
            _ => starts = false,
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_status_keeps_the_contract(state in any_state(), patch in proptest::option::of(nasty())) {
        let limits = Limits::default();
        let context = Context { patch: patch.as_deref(), ..context(&limits) };
        let text = status(&state, &context);
        prop_assert!(text.chars().count() <= text::BODY_LIMIT);
        let lead = text.strip_prefix("**").and_then(|rest| rest.split_once("**")).map(|(lead, _)| lead).unwrap();
        prop_assert!(lead.chars().count() <= 110, "{lead}");
        let above = text.split("<details>").next().unwrap();
        prop_assert!(above.lines().filter(|line| !line.starts_with('>') && !line.is_empty()).count() <= 7, "{above}");
        prop_assert_eq!(text::cut(&text, usize::MAX), text.clone());
        prop_assert_eq!(acts(&text), None, "{}", text);
        if state.facts.public {
            prop_assert!(!text.contains("Rounds and cost") && !text.contains("api.example.com"));
        }
    }

    #[test]
    fn any_check_and_pull_request_keep_the_contract(state in any_state()) {
        let limits = Limits::default();
        let (title, summary) = check(&state, &context(&limits));
        prop_assert!(title.chars().count() <= 110 && !title.contains('\n') && summary.chars().count() <= SUMMARY_LIMIT);
        prop_assert_eq!(acts(&summary), None, "{}", summary);
        let (title, body) = pull(&state, &context(&limits));
        prop_assert!(!title.is_empty() && title.chars().count() <= 72 && !title.contains('\n'));
        prop_assert!(body.chars().count() <= text::BODY_LIMIT);
        prop_assert_eq!(text::cut(&body, usize::MAX), body.clone());
        prop_assert_eq!(acts(&body), None, "{}", body);
        let is_green = matches!(&state.phase, Phase::Resting { outcome: Outcome::Green } | Phase::Done { outcome: Outcome::Merged });
        prop_assert_eq!(body.starts_with("Fixes #481"), is_green);
    }

    #[test]
    fn any_message_is_short_and_names_one_person(state in any_state(), text in nasty()) {
        let limits = Limits::default();
        let url = "https://github.com/acme/pager/issues/481#issuecomment-1";
        for kind in [Message::Answer, Message::Question, Message::Status, Message::CannotFollow { text: text.clone() }] {
            let said = message(&kind, &state, "alice", url, &context(&limits));
            prop_assert!(said.chars().count() <= 400, "{said}");
            prop_assert!(said.ends_with(&format!("@alice: [All of it]({url})")), "{said}");
            prop_assert_eq!(acts(said.split("\n\n@alice: [").next().unwrap()), None, "{}", said);
        }
    }

    #[test]
    fn any_review_keeps_the_contract(state in any_state(), texts in prop::collection::vec(nasty(), 3), times in 1..3_000_usize) {
        let limits = Limits::default();
        let [summary, body, lines] = <[String; 3]>::try_from(texts).unwrap();
        let comment = LineComment { path: "a".into(), line: 1, start_line: None, body: body.repeat(times), suggestion: Some(lines.clone()) };
        let on_line = line_comment(&comment);
        let rest = vec![("src/a.rs:3".to_owned(), on_line.clone()); 30];
        let review = review(&state, &summary.repeat(times), 2, &rest, &context(&limits));
        for text in [on_line, review, reply(Some(&sha('a')), Some(&lines.repeat(times))), reply(None, Some(&summary))] {
            prop_assert!(text.chars().count() <= text::BODY_LIMIT);
            prop_assert_eq!(text::cut(&text, usize::MAX), text.clone());
            prop_assert_eq!(acts(&text), None, "{}", text);
        }
    }

    #[test]
    fn any_commit_skips_and_signs_nothing(state in any_state(), summary in nasty()) {
        let limits = Limits::default();
        let text = commit(&state, &summary, &context(&limits));
        prop_assert!(text.lines().next().unwrap().chars().count() <= 72);
        prop_assert!(!text.contains("[skip ci]"));
        let trailers = text.trim_end().rsplit("\n\n").next().unwrap();
        prop_assert!(trailers.starts_with("Requested-by: ") && trailers.lines().count() == 4, "{trailers}");
    }

    #[test]
    fn any_title_gives_a_branch(title in nasty()) {
        let branch = branch(Number(481), &title);
        let slug = branch.strip_prefix("fixpoint/481-").unwrap();
        prop_assert!(!slug.is_empty() && slug.len() <= 40 && !slug.contains("--") && !slug.ends_with('-'));
        prop_assert!(slug.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
    }
}
