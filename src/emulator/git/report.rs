//! Refusing single references of a push in GitHub's words.
//!
//! git lets a server refuse a reference only through a hook, and then tells the client "hook declined". So
//! the hook notes its reason in a file, and the reason is put into git's report on its way out.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// For each reference: refuse what the server named beforehand, then workflow files without the permission.
const UPDATE_HOOK: &str = r#"#!/bin/sh
ref=$1 old=$2 new=$3
refuse() { printf '%s\t%s\n' "$ref" "$1" >>"$EMULATOR_REFUSALS"; exit 1; }
case " $EMULATOR_PROTECTED " in
*" $ref "*)
    echo "error: GH006: Protected branch update failed for $ref." >&2
    refuse "protected branch hook declined" ;;
esac
if [ -n "$EMULATOR_ONLY" ]; then
    case " $EMULATOR_ONLY " in *" $ref "*) ;; *) refuse "permission denied" ;; esac
fi
case $new in *[!0]*) ;; *) exit 0 ;; esac
if [ "$EMULATOR_WORKFLOWS" != allowed ]; then
    case $old in *[!0]*) base=$old ;; *) base=$(git merge-base "$new" HEAD) || base=$(git hash-object -t tree /dev/null) ;; esac
    file=$(git diff --name-only "$base" "$new" -- .github/workflows | head -n 1)
    [ -z "$file" ] || refuse "refusing to allow a GitHub App to create or update workflow \`$file\` without \`workflows\` permission"
fi
exit 0
"#;

pub(super) fn install_hook(repository: &Path) -> io::Result<()> {
    let hooks = repository.join("hooks");
    std::fs::create_dir_all(&hooks)?;
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o755)
        .open(hooks.join("update"))?;
    file.write_all(UPDATE_HOOK.as_bytes())
}

/// The hook's notes: reference → reason.
pub(super) fn refusals(file: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    pairs.map(|(reference, reason)| (reference.into(), reason.into())).collect()
}

/// Puts the reasons in place of "hook declined" in what `receive-pack` answered.
pub(super) fn with_reasons(answer: &[u8], reasons: &BTreeMap<String, String>) -> Vec<u8> {
    if reasons.is_empty() {
        return answer.to_vec();
    }
    let mut rewritten = Vec::new();
    for packet in packets(answer) {
        match packet.split_first() {
            // Band 1 carries the report: packets inside a packet.
            Some((1, report)) => {
                let mut inner = vec![1];
                packets(report).for_each(|line| write_packet(&mut inner, &with_reason(line, reasons)));
                write_packet(&mut rewritten, &inner);
            }
            _ => write_packet(&mut rewritten, &with_reason(packet, reasons)),
        }
    }
    rewritten
}

fn with_reason(line: &[u8], reasons: &BTreeMap<String, String>) -> Vec<u8> {
    let text = String::from_utf8_lossy(line);
    let reason = text
        .strip_prefix("ng ")
        .and_then(|rest| rest.split_once(' '))
        .and_then(|(name, _)| reasons.get(name).map(|reason| format!("ng {name} {reason}\n")));
    reason.map_or_else(|| line.to_vec(), String::into_bytes)
}

/// The payloads of a row of pkt-lines; a flush is an empty payload.
pub(super) fn packets(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_at_checked(4)?;
        let length = usize::from_str_radix(std::str::from_utf8(length).ok()?, 16).ok()?;
        let (payload, rest) = rest.split_at_checked(length.saturating_sub(4))?;
        bytes = rest;
        Some(payload)
    })
}

pub(super) fn write_packet(out: &mut Vec<u8>, payload: &[u8]) {
    if payload.is_empty() {
        out.extend_from_slice(b"0000");
        return;
    }
    out.extend_from_slice(format!("{:04x}", payload.len() + 4).as_bytes());
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_replaces_gits_own_words_inside_the_side_band() {
        let mut report = Vec::new();
        write_packet(&mut report, b"unpack ok\n");
        write_packet(&mut report, b"ng refs/heads/x hook declined\n");
        write_packet(&mut report, b"");
        let mut answer = Vec::new();
        write_packet(&mut answer, &[&[1], report.as_slice()].concat());
        write_packet(&mut answer, b"");
        let reasons = BTreeMap::from([("refs/heads/x".to_owned(), "not you".to_owned())]);
        let rewritten = String::from_utf8(with_reasons(&answer, &reasons)).unwrap();
        assert_eq!(rewritten, "0033\u{1}000eunpack ok\n001cng refs/heads/x not you\n00000000");
    }
}
