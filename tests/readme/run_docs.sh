#!/usr/bin/env bash
# Runs the planwright commands of the bash blocks of some documents as printed, in a temporary folder, and expects each to
# succeed. Only the port of the server is another one.
#   tests/readme/run_docs.sh build/release/bin docs/store.md ...
set -euo pipefail

bin=$(realpath "$1")
documents=("${@:2}")
# shellcheck source=tests/readme/server.sh
source "$(dirname "${BASH_SOURCE[0]}")/server.sh"
export PATH=$bin:$PATH XDG_STATE_HOME=$folder/state
unset PLANWRIGHT_SERVER
start_server "$bin"

# shellcheck disable=SC2016  # backticks are the documents'
mapfile -t commands < <(
  sed -n '/^```bash$/,/^```$/{/^```/d;p}' "${documents[@]}" | sed -e ':a' -e '/\\$/{N;s/ *\\\n */ /;ba' -e '}' | grep '^planwright '
)
cd "$folder"
for command in "${commands[@]}"; do
  echo "--- $command"
  eval "${command//localhost:50051/127.0.0.1:$port}" >out
done
if ((${#commands[@]} < 2 * ${#documents[@]})); then
  echo "only ${#commands[@]} commands were found in ${documents[*]}" >&2
  exit 1
fi
echo "${#commands[@]} commands work"
