//! What is never pushed: workflow files, denied paths, links out of the tree, too much, secrets.

use super::{FileDiff, Rules, secrets, secrets::Secrets};
use crate::domain::{Fault, Limits, seeded};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

/// Reasons told at once: more would not be read.
const REASONS: usize = 20;

/// Why nothing of a change may be pushed, one sentence each; empty: it may.
pub(super) fn reasons(files: &[FileDiff], rules: &Rules, limits: &Limits, own: &Secrets) -> Vec<String> {
    let mut reasons = amounts(files, limits);
    let denied = globs(&rules.deny, true, &mut reasons);
    // Whoever denies a path means it however it is written; whoever allows one means that one.
    let allowed = rules.allow.as_ref().map(|allow| globs(allow, false, &mut reasons));
    for file in files {
        for path in std::iter::once(&file.path).chain(&file.old_path) {
            reasons.extend(path_reason(path, rules, &denied, allowed.as_ref()));
        }
        reasons.extend(kind_reason(file));
        reasons.extend(secret_reason(file, own));
    }
    reasons
}

/// Reasons as they are told: each once, and not too many.
pub(super) fn told(mut reasons: Vec<String>, own: &Secrets) -> Vec<String> {
    for reason in &mut reasons {
        // A path is the agent's own word, and a reason is read in public.
        if own.are_in(reason.as_bytes()) {
            "The name of a changed file holds a secret of fixpoint's own; nothing is pushed."
                .clone_into(reason);
        }
    }
    reasons.dedup();
    if reasons.len() > REASONS {
        let more = reasons.len() - REASONS;
        reasons.truncate(REASONS);
        reasons.push(format!("And {more} more reasons of these kinds."));
    }
    reasons
}

fn amounts(files: &[FileDiff], limits: &Limits) -> Vec<String> {
    let mut reasons = Vec::new();
    if files.len() > limits.files {
        reasons.push(format!(
            "The change touches {} files; at most {} are pushed at once: make it smaller, or leave generated files out.",
            files.len(),
            limits.files
        ));
    }
    let size = |file: &FileDiff| file.new.as_ref().map_or(0, Vec::len);
    for file in files.iter().filter(|file| size(file) > limits.file_bytes) {
        reasons.push(format!(
            "`{}` has {} bytes; at most {} are pushed.",
            shown(&file.path),
            size(file),
            limits.file_bytes
        ));
    }
    let total: usize = files.iter().map(size).sum();
    if total > limits.total_bytes {
        reasons.push(format!(
            "The changed files have {total} bytes in all; at most {} are pushed.",
            limits.total_bytes
        ));
    }
    reasons
}

/// Denied or allowed paths. A glob that cannot be read denies everything: a mistake must not open what was meant to be closed.
fn globs(globs: &[String], any_case: bool, reasons: &mut Vec<String>) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        match GlobBuilder::new(glob).literal_separator(true).case_insensitive(any_case).build() {
            Ok(built) => {
                set.add(built);
            }
            Err(error) => reasons.push(format!(
                "The configured path `{}` is not a glob, so nothing is pushed: {error}.",
                shown(glob)
            )),
        }
    }
    set.build().unwrap_or_else(|error| {
        reasons.push(format!("The configured paths cannot be read, so nothing is pushed: {error}."));
        GlobSet::empty()
    })
}

fn path_reason(path: &str, rules: &Rules, denied: &GlobSet, allowed: Option<&GlobSet>) -> Option<String> {
    let first = path.split('/').next().unwrap_or_default();
    if first.eq_ignore_ascii_case(".github") && !rules.workflows && !seeded(Fault::WorkflowsPushed) {
        return Some(format!(
            "The change touches `{}`: `.github/` is pushed only where the base's configuration allows it and the App has \
             the `workflows` permission.",
            shown(path)
        ));
    }
    if denied.is_match(path) {
        return Some(format!("The change touches `{}`, which the configuration denies.", shown(path)));
    }
    if allowed.is_some_and(|allowed| !allowed.is_match(path)) {
        return Some(format!(
            "The change touches `{}`, which is none of the paths that the configuration allows.",
            shown(path)
        ));
    }
    None
}

fn kind_reason(file: &FileDiff) -> Option<String> {
    match (file.new_mode, &file.new) {
        (Some(SUBMODULE), _) => Some(format!(
            "`{}` is a submodule: another repository's commits are not pushed.",
            shown(&file.path)
        )),
        (Some(LINK), Some(target)) => (leaves_the_tree(&file.path, target) && !seeded(Fault::LinksPushed))
            .then(|| format!("The symbolic link `{}` points out of the repository.", shown(&file.path))),
        (Some(_), None) => Some(format!(
            "`{}` could not be read within the limits, so it cannot be checked.",
            shown(&file.path)
        )),
        _ => None,
    }
}

/// Does a link at `path` lead out of the tree, or into git's own folder?
fn leaves_the_tree(path: &str, target: &[u8]) -> bool {
    let Ok(target) = std::str::from_utf8(target) else { return true };
    if target.is_empty() || target.starts_with(['/', '\\', '~']) || target.contains(['\0', ':', '\n']) {
        return true;
    }
    let mut depth = path.split('/').count() - 1;
    for part in target.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            part if part.eq_ignore_ascii_case(".git") => return true,
            _ => depth += 1,
        }
    }
    false
}

fn secret_reason(file: &FileDiff, own: &Secrets) -> Option<String> {
    if seeded(Fault::SecretsUnseen) {
        return None;
    }
    let new = file.new.as_deref().unwrap_or_default();
    if own.are_in(new) || own.are_in(file.path.as_bytes()) {
        return Some(format!("`{}` holds a secret of fixpoint's own; nothing is pushed.", shown(&file.path)));
    }
    let kind = secrets::kind(file.old.as_deref().unwrap_or_default(), new)?;
    Some(format!("`{}` holds what looks like {kind}: take it out, or use a placeholder.", shown(&file.path)))
}

/// A path as it stands in a sentence.
pub(super) fn shown(path: &str) -> String {
    crate::domain::text::shorten(&crate::domain::text::terminal(path).replace(['`', '\n'], "'"), 200)
}
