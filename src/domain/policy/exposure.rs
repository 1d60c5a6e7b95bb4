//! What CI would hand to a pushed change: pushed code runs there with whatever the workflows give it.
//!
//! A careful reading of the workflows' text, not of their meaning: any mention of something worth having counts, whichever
//! job it is for. Whether a repository gives its token more than reading where a workflow says nothing stands in settings
//! that only administrators see, so that is not known here.

use std::sync::LazyLock;

/// Where GitHub Actions looks for workflows.
pub const WORKFLOWS: &str = ".github/workflows";

/// Files there that are looked at: nobody keeps more.
pub const MOST_WORKFLOWS: usize = 1_000;

/// A workflow file is read so far: longer ones are generated, and say the same again.
pub const WORKFLOW: usize = 256 << 10;

#[expect(clippy::expect_used, reason = "a fixed expression; a test builds it")]
static WORTH_HAVING: LazyLock<regex::Regex> = LazyLock::new(|| {
    regex::Regex::new(
        r"(?im)^[^#\n]*(\bsecrets\s*(\.|\[|:\s*inherit)|\bself-hosted\b|\benvironment\s*:|\bid-token\s*:\s*write|\bwrite-all\b|^\s*(contents|packages|actions|deployments|pages)\s*:\s*write)",
    )
    .expect("an expression")
});

/// Is this file one that GitHub Actions reads?
pub fn is_workflow(path: &str) -> bool {
    let name = path.strip_prefix(WORKFLOWS).and_then(|rest| rest.strip_prefix('/')).unwrap_or_default();
    !name.contains('/') && (name.ends_with(".yml") || name.ends_with(".yaml"))
}

/// Would one of these workflows hand a change something worth having: a secret, an environment, a writing token, a runner
/// of the owner's own?
pub fn is_exposed<'a>(workflows: impl IntoIterator<Item = &'a str>) -> bool {
    workflows.into_iter().any(|text| WORTH_HAVING.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worth_having_is_found() {
        for text in [
            "env:\n  KEY: ${{ secrets.DEPLOY }}\n",
            "    secrets: inherit\n",
            "with: { key: \"${{ secrets['X'] }}\" }",
            "runs-on: [self-hosted, linux]",
            "    environment: production",
            "permissions:\n  contents: write\n",
            "permissions: write-all",
            "  id-token: write",
        ] {
            assert!(is_exposed([text]), "{text}");
        }
        for text in [
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: cargo test\n",
            "# secrets.DEPLOY was here\npermissions:\n  contents: read\n",
            "permissions: {}\n",
        ] {
            assert!(!is_exposed([text]), "{text}");
        }
        assert!(is_workflow(".github/workflows/ci.yml") && !is_workflow(".github/workflows/a/b.yml"));
    }
}
