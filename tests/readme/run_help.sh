#!/usr/bin/env bash
# Runs every example of every `planwright help COMMAND` as printed, in the order of the help and in a folder of its own, and
# expects each to succeed. Only the port of the server is another one, and operations/ID is the last operation submitted.
#   tests/readme/run_help.sh build/release/bin
set -euo pipefail

bin=$(realpath "$1")
# shellcheck source=tests/readme/server.sh
source "$(dirname "${BASH_SOURCE[0]}")/server.sh"
export PATH=$bin:$PATH XDG_STATE_HOME=$folder/state
unset PLANWRIGHT_SERVER
start_server "$bin"
# What the examples of `check` read.
mkdir --parents "$folder/docs/examples"
cp --recursive docs/examples/kubernetes "$folder/docs/examples/"
cd "$folder"

operation=
count=0
run() {
  local command=$1
  command=${command//localhost:50051/127.0.0.1:$port}
  command=${command//operations\/ID/$operation}
  if ! eval "$command" >out 2>err; then
    echo "does not work: $1" >&2
    cat err >&2
    return 1
  fi
  if [[ $command == "planwright submit "* ]]; then operation=$(cat out); fi
  if [[ -n $(awk 'length > 120' err) ]]; then
    echo "has a message with lines of more than 120 characters: $1" >&2
    return 1
  fi
  count=$((count + 1))
}

mapfile -t commands < <(planwright help | sed -n '/^Commands:$/,/^$/{s/^  \([a-z-]*\) .*/\1/p}' | grep -vx -e help -e version)
for command in "${commands[@]}"; do
  mapfile -t examples < <(planwright help "$command" | sed -n '/^Examples:$/,/^$/{s/^  //p}')
  if ((${#examples[@]} == 0)); then
    echo "planwright help $command has no example" >&2
    exit 1
  fi
  for example in "${examples[@]}"; do run "$example"; done
done
echo "$count examples of ${#commands[@]} commands work"
