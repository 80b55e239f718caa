#!/usr/bin/env bash
# Checks that every C++ file of ours is formatted as .clang-format says; "--fix" formats them instead.
# Versions of clang-format differ in details, so only version 14 (Debian 12) judges; without it: 77 (skipped).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z "$formatter" ]]; then
  echo "skipped: clang-format is not here; run deploy/setup.sh test"
  exit 77
fi
if ! "$formatter" --version | grep --quiet 'version 14\.'; then
  echo "skipped: needs clang-format 14, found $("$formatter" --version)"
  exit 77
fi
mapfile -t files < <(find core server client tests -name '*.h' -o -name '*.cc' | sort)
if [[ "${1:-}" == --fix ]]; then
  "$formatter" -i "${files[@]}"
fi
wrong=$("$formatter" --dry-run "${files[@]}" 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning: .*//p' | sort --unique)
if [[ -n "$wrong" ]]; then
  printf 'not formatted (tests/format/check_format.sh --fix mends it):\n%s\n' "$wrong"
  exit 1
fi
echo "${#files[@]} files are formatted"
