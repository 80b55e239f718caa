#!/usr/bin/env bash
# Runs the commands of docs/tutorial.md as printed, in a folder with its files. What the tutorial shows as output has to be in
# that of the commands, line by line.
#   tests/readme/run_tutorial.sh build/release/bin
# shellcheck disable=SC2016  # backticks are the document's
set -euo pipefail

bin=$(realpath "$1")
tutorial=$(realpath docs/tutorial.md)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp docs/examples/tutorial/* "$folder"
cd "$folder"
export PATH=$bin:$PATH
unset PLANWRIGHT_SERVER

mapfile -t commands < <(sed -n '/^```bash$/,/^```$/{/^```/d;p}' "$tutorial")
if ((${#commands[@]} < 7)); then
  echo "only ${#commands[@]} commands were found" >&2
  exit 1
fi
for command in "${commands[@]}"; do
  echo "--- $command"
  eval "$command" >>output 2>>notes
done
while IFS= read -r line; do
  if ! grep --quiet --fixed-strings --line-regexp -e "$line" output; then
    echo "the tutorial shows a line that no command prints: $line" >&2
    exit 1
  fi
done < <(sed -n '/^```text$/,/^```$/{/^```/d;p}' "$tutorial")
echo "${#commands[@]} commands work"
