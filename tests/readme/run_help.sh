#!/usr/bin/env bash
# Runs every example of every `planwright help COMMAND` as printed, in the order of the help and in an empty folder, and
# expects each to succeed. Only the port of the server is another one, and operations/ID is the last operation submitted.
#   tests/readme/run_help.sh build/release/bin
set -euo pipefail

bin=$(realpath "$1")
port=$((20000 + RANDOM % 6000))
folder=$(mktemp -d)
export PATH=$bin:$PATH XDG_STATE_HOME=$folder/state
unset PLANWRIGHT_SERVER

planwrightd --listen_address="127.0.0.1:$port" --metrics_address="127.0.0.1:$((port + 6000))" 2>"$folder/log" &
server=$!
finish() {
  kill -TERM "$server"
  wait "$server"
  rm -rf "$folder"
}
trap finish EXIT

cd "$folder"
for _ in $(seq 100); do
  kill -0 "$server"
  planwright server-info --server="127.0.0.1:$port" >/dev/null 2>&1 && break
  sleep 0.1
done

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
