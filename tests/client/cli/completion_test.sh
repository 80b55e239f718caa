#!/usr/bin/env bash
# Lets bash complete command lines of planwright, and the other shells read their scripts where they are installed.
#   tests/client/cli/completion_test.sh build/release/bin/planwright
set -euo pipefail

planwright=$1
scripts=$(mktemp -d)
trap 'rm -rf "$scripts"' EXIT
for shell in bash zsh fish; do "$planwright" completion "$shell" >"$scripts/$shell"; done
# shellcheck source=/dev/null
source "$scripts/bash"
# Only where there is a line to complete.
compopt() { :; }

# expect WANTED WORD...: what the last of these words, as bash splits lines, can become; "..." stands for more.
expect() {
  local wanted=$1 got
  COMP_WORDS=("${@:2}")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _planwright
  got=${COMPREPLY[*]}
  # shellcheck disable=SC2053  # a pattern
  if [[ $got != $wanted ]]; then
    echo "${*:2}: \"$got\", not \"$wanted\"" >&2
    exit 1
  fi
}

expect "plan plans" planwright pla
expect "plan plans" planwright help pla
expect "--objective=" planwright plan --obj
expect "max_throughput" planwright plan --objective = max_t
expect "contiguous non_contiguous" planwright plan --split = ""
expect "contiguous non_contiguous" planwright plan --split =
expect "inference" planwright plan --workload inf
expect "text json trace svg html yaml" planwright plan --output = ""
expect "--graph= --graph_format=" planwright evaluate --graph
expect "README.md" planwright plan --graph = READ
expect "*--schedule=*" planwright simulate --
expect "" planwright plan --max_devices = ""
expect "*megatron*" planwright export --to = ""

for shell in bash zsh fish; do
  if command -v "$shell" >/dev/null; then
    "$shell" --no-execute "$scripts/$shell" 2>&1 || "$shell" -n "$scripts/$shell"
  else
    echo "$shell is not installed, so its script was not read"
  fi
done
echo "completions work"
