#!/usr/bin/env bash
# Checks every shell script of ours with shellcheck; 77 (skipped) where shellcheck is not installed.
set -euo pipefail

if ! command -v shellcheck >/dev/null; then
  echo "skipped: shellcheck is not here; run deploy/setup.sh test"
  exit 77
fi
mapfile -t scripts < <(find .ci deploy tests -name '*.sh' -o -path './.ci/run' -o -path '.ci/run' | sort)
shellcheck "${scripts[@]}"
echo "${#scripts[@]} scripts are clean"
