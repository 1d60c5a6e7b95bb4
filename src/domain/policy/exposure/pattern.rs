//! GitHub's patterns of branches and paths. Source: "Workflow syntax", the filter pattern cheat sheet.

/// Longest pattern that is read, in bytes.
const LONGEST: usize = 1_000;

/// Does a list of patterns take this name? Later ones win, `!` takes back. `None`: a pattern cannot be read.
pub(super) fn takes(patterns: &[String], name: &str) -> Option<bool> {
    // A list that only takes back is an error to GitHub; here it takes all the rest.
    let mut taken = patterns.first().is_some_and(|first| first.starts_with('!'));
    for pattern in patterns {
        let (wanted, pattern) = match pattern.strip_prefix('!') {
            Some(rest) => (false, rest),
            None => (true, pattern.as_str()),
        };
        if matches(pattern, name)? {
            taken = wanted;
        }
    }
    Some(taken)
}

/// Does any of these patterns fit? In a list of what is ignored nothing is taken back.
pub(super) fn any(patterns: &[String], name: &str) -> Option<bool> {
    let fits: Option<Vec<bool>> = patterns.iter().map(|pattern| matches(pattern, name)).collect();
    Some(fits?.contains(&true))
}

fn matches(pattern: &str, name: &str) -> Option<bool> {
    if pattern.len() > LONGEST || pattern.contains("${{") {
        return None;
    }
    let expression = regex::RegexBuilder::new(&expression(pattern)).size_limit(1 << 20).build().ok()?;
    Some(expression.is_match(name))
}

fn expression(pattern: &str) -> String {
    let mut out = String::from(r"(?s)\A");
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let (piece, length) = match c {
            _ if rest.starts_with("**/") => ("(?:.*/)?".to_owned(), 3),
            _ if rest.starts_with("**") => (".*".to_owned(), 2),
            '*' => ("[^/]*".to_owned(), 1),
            '?' | '+' | '[' | ']' => (c.to_string(), 1),
            // Between the brackets of a class a range is meant, and outside it means itself.
            '-' => ("-".to_owned(), 1),
            '\\' => {
                let next = rest[1..].chars().next().unwrap_or('\\');
                (regex::escape(&next.to_string()), 1 + next.len_utf8().min(rest.len() - 1))
            }
            c => (regex::escape(&c.to_string()), c.len_utf8()),
        };
        out.push_str(&piece);
        rest = &rest[length..];
    }
    out + r"\z"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the cheat sheet, and what lies beside them.
    #[test]
    fn patterns_are_githubs() {
        let cases = [
            ("feature/*", "feature/my-branch", true),
            ("feature/*", "feature/a/b", false),
            ("feature/**", "feature/beta-a/my-branch", true),
            ("releases/mona-the-octocat", "releases/mona-the-octocat", true),
            ("*", "main", true),
            ("*", "fixpoint/7-sum", false),
            ("**", "fixpoint/7-sum", true),
            ("*feature", "ver-10-feature", true),
            ("v2*", "v2.9", true),
            ("v[12].[0-9]+.[0-9]+", "v1.10.1", true),
            ("v[12].[0-9]+.[0-9]+", "v3.1.1", false),
            ("fixpoint/**", "fixpoint/7-sum", true),
            ("fixpoint", "fixpoint/7-sum", false),
            ("*.jsx?", "page.js", true),
            ("**.js", "src/js/app.js", true),
            ("docs/*", "docs/a/b.md", false),
            ("**/docs/**", "docs/hello.md", true),
            ("**/docs/**", "dir/docs/my-file.txt", true),
            ("**/README.md", "README.md", true),
            ("**/*-post.md", "their/my-post.md", true),
            ("**/migrate-*.sql", "db/sept/migrate-v1.sql", true),
            ("main.x", "mainax", false),
            (r"a\*b", "a*b", true),
        ];
        for (pattern, name, fits) in cases {
            assert_eq!(matches(pattern, name), Some(fits), "{pattern} on {name}");
        }
        assert_eq!(matches("[", "x"), None);
        assert_eq!(matches("${{ vars.BRANCH }}", "x"), None);
        let list = |patterns: &[&str]| patterns.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>();
        assert_eq!(takes(&list(&["**", "!fixpoint/**"]), "fixpoint/7-sum"), Some(false));
        assert_eq!(takes(&list(&["**", "!fixpoint/**", "fixpoint/7*"]), "fixpoint/7-sum"), Some(true));
        assert_eq!(any(&list(&["main", "dev"]), "dev"), Some(true));
    }
}
