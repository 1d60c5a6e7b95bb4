//! The table of permissions and events for people. `docs/permissions.md` is this text; a test holds that.

use crate::domain::access::{PERMISSIONS, Profile};
use std::fmt::Write as _;

const HEAD: &str = "# Permissions

What the GitHub App asks for, by profile (`fixpoint setup --profile NAME`), and what stops working without it.
`fixpoint setup --explain` prints this page.

";

/// All of it, in Markdown that reads as well in a terminal.
pub(super) fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for profile in Profile::ALL {
        let usual = if profile == Profile::Fix { " (the default)" } else { "" };
        let _ = writeln!(page, "- **{}**{usual}: {}.", profile.name(), profile.meaning());
    }
    page.push_str("\n| permission | observe | fix | full |\n|---|---|---|---|\n");
    for permission in &PERMISSIONS {
        let _ = write!(page, "| {} |", permission.words());
        for profile in Profile::ALL {
            let level = permission.level(profile).map_or("none".to_owned(), |level| level.to_string());
            let _ = write!(page, " {level} |");
        }
        page.push('\n');
    }
    page.push_str(
        "\nNever asked for: administration, members, secrets, workflows.\n\n## Without a permission\n\n",
    );
    for permission in &PERMISSIONS {
        let _ = writeln!(page, "- **{}**: {}.", permission.words(), permission.without);
    }
    page.push_str("\n## Without an event\n\nThe profile observe hears none.\n\n");
    for event in Profile::Fix.events() {
        let _ = writeln!(page, "- `{}`: {}.", event.name, event.without);
    }
    page
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_of_permissions_is_the_table() {
        let kept = include_str!("../../../docs/permissions.md");
        assert_eq!(kept, super::markdown(), "fixpoint setup --explain > docs/permissions.md");
    }
}
