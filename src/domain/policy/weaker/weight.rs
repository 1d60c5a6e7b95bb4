//! Whether one demand asks as much as another.

use super::{
    Moved,
    demands::{tokens, without},
    squeezed,
};
use crate::domain::text::pattern::pattern;

/// Does the new demand ask at least what the old one asked?
pub(super) fn keeps(old: &str, new: &str, moved: &Moved) -> bool {
    // The words of the assertion itself are weighed by their strength.
    let own = pattern!(
        r"(?i)^(?:assert|expect|to|be|self|t|is|that|equals?|eq|same|true|should|must|check|require)\w*$"
    );
    let (before, after) = (tokens(old), tokens(new));
    let lost = without(&before, &after);
    let come = without(&after, &before);
    let is_kept = |token: &String| moved.lost_names.contains(token) || own.is_match(token);
    lost.iter().all(is_kept)
        && !come.iter().any(|token| is_soft(token))
        && strength(new) >= strength(old)
        && !is_trivial(new)
}

/// Words and signs that make a demand weaker when they come into it.
fn is_soft(token: &str) -> bool {
    pattern!(
        r"(?i)^(?:or|any|anything|approx\w*|isclose|closeto|tobecloseto|almost\w*|round|floor|ceil|int|lower\w*|upper\w*|strip|trim\w*|sorted|sort|set|len|length|size|count|startswith|starts_with|endswith|contains|in|not|if|else|matches|ignore\w*|is_ok|is_some|typeof|isinstance|bool|catch|unwrap_or\w*|abs|places|delta|rel|tolerance|skip|environ|env|getenv)$|^(?:\|\||\?|>=|<=|!=|>|<|\*|\+|-|/|%)$"
    )
    .is_match(token)
}

/// How much an assertion asks: 3 a value, 2 a relation, 1 that there is something.
fn strength(demand: &str) -> u8 {
    let weak = pattern!(
        r"(?i)is\s*not\s*none|notnone|not_?null|not_?nil|tobedefined|tobetruthy|not\.tothrow|isinstance|isok\b|noerror|not_?empty|tohavebeencalled\(\)|be_truthy|not_?be_nil|is_some\(\)|is_ok\(\)|!==?\s*(?:null|undefined)"
    );
    let relation = pattern!(
        r"(?i)assertin\b|tocontain|contains|include|tomatch|regex|greater|less|>=|<=|!=|notequal|_ne!|almost|close|approx|startswith|instanceof|\bin\b"
    );
    let value = pattern!(
        r"(?i)==|equal|_eq|\beq\b|tobe\(|\bis\(|same|shouldbe|must_equal|raises|throw|should_panic|snapshot|compare"
    );
    match demand {
        d if is_trivial(d) => 0,
        d if weak.is_match(d) => 1,
        d if relation.is_match(d) => 2,
        d if value.is_match(d) => 3,
        _ => 2,
    }
}

/// A demand that is always met.
fn is_trivial(demand: &str) -> bool {
    let squeezed = squeezed(demand);
    let constant = pattern!(
        r"(?i)^(?:self\.|this\.|assert\.|t\.)?(?:debug_)?assert(?:_?true|\.ok|\.istrue|that)?!?\(?(?:true|1|!false|notfalse)\)?;?$|(?:expect|assert(?:that)?)\((?:true|1|!0)\)\.?(?:to)?\.?(?:be|equal|eq|istrue|toequal|tobe|tobetruthy)?|(?:len\([^)]*\)|\.length|\.len\(\)|\.size\(\))>=0|\bortrue\b|\|\|true"
    );
    let sides = pattern!(r"^(?:[\w.:]*(?:eq|equal|equals|same|strictequal|areequal)!?\()(.*)\)[;,]?$");
    let compared = pattern!(r"^(?:[\w.:]*assert[\w.]*!?\(?)(.*?)===?(.*?)\)?;?$");
    let twins = |found: Option<regex::Captures<'_>>| {
        found.is_some_and(|found| {
            let inner = found.get(1).map_or("", |m| m.as_str());
            match found.get(2) {
                Some(second) => inner == second.as_str(),
                None => {
                    let half = inner.len() / 2;
                    inner.len() % 2 == 1
                        && inner.is_char_boundary(half)
                        && inner.as_bytes().get(half) == Some(&b',')
                        && inner[..half] == inner[half + 1..]
                }
            }
        })
    };
    constant.is_match(&squeezed)
        || twins(sides.captures(&squeezed.to_lowercase()))
        || twins(compared.captures(&squeezed))
}
