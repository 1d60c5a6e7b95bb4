//! The demo's repository, and what the recorded model says in it.

use crate::emulator::{Ci, Emulator, Error, NewRepository, Play};
use serde_json::json;

/// The repository.
pub(super) const REPOSITORY: &str = "acme/calendar";

/// The one issue.
pub(super) const ISSUE: u64 = 1;

/// What alice wants.
pub(super) const TITLE: &str = "February has 29 days in leap years";

/// What CI runs.
pub(super) const CHECK: &str = "sh ci/test.sh";

const LEAP: &str = "\
# days_in_february YEAR
days_in_february() {
    echo 28
}
";

const TEST: &str = "\
. lib/leap.sh

failed=0
check() {
    got=$(days_in_february \"$1\")
    [ \"$got\" = \"$2\" ] && return
    echo \"test/leap_test.sh:$4: $3: expected $2 days in $1, got $got\"
    failed=1
}

check 2023 28 '2023 is a common year' 11
check 2024 29 '2024 is a leap year' 12
check 1900 28 '1900 is not a leap year' 13
check 2000 29 '2000 is a leap year' 14
exit $failed
";

const CI: &str = "\
set -e
sh test/leap_test.sh
echo 'all tests passed'
";

const README: &str = "# calendar\n\nHow many days a month has. Tests: `sh ci/test.sh`\n";

/// Makes the repository with its failing test; CI really runs it.
pub(super) fn repository(emulator: &Emulator) -> Result<(), Error> {
    let files =
        [("README.md", README), ("lib/leap.sh", LEAP), ("test/leap_test.sh", TEST), ("ci/test.sh", CI)];
    emulator.create_repository(NewRepository::new(REPOSITORY, &files).ci(Ci::command("test", CHECK)))?;
    Ok(())
}

/// The recorded replies: a first fix that forgets the centuries, then one that does not.
pub(super) fn replies() -> Vec<Play> {
    let every_fourth = "    [ $(($1 % 4)) -eq 0 ] && echo 29 || echo 28";
    let but_centuries = "    if [ $(($1 % 400)) -eq 0 ]; then echo 29\n    elif [ $(($1 % 100)) -eq 0 ]; then echo 28\n    \
         elif [ $(($1 % 4)) -eq 0 ]; then echo 29\n    else echo 28\n    fi";
    let edit =
        |old: &str, new: &str| Play::call("edit", json!({ "path": "lib/leap.sh", "old": old, "new": new }));
    let finish = |summary: &str| Play::call("finish", json!({ "summary": summary }));
    vec![
        Play::call("read", json!({ "path": "lib/leap.sh" })),
        edit("    echo 28", every_fourth),
        finish("Give February 29 days in every fourth year"),
        edit(every_fourth, but_centuries),
        Play::call("shell", json!({ "command": CHECK })),
        finish("Give February 29 days in leap years, centuries included"),
    ]
}
