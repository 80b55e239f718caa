#!/usr/bin/env bash
# To be sourced: a planwrightd for scripts that run documented commands. Sets `port`, that of its own, and `folder`, a
# temporary one; both and the server go when the script ends.
#   start_server build/release/bin [FLAG...]
set -euo pipefail

port=$((20000 + RANDOM % 6000))
folder=$(mktemp -d)

start_server() {
  local bin=$1
  "$bin/planwrightd" --listen_address="127.0.0.1:$port" --metrics_address="127.0.0.1:$((port + 6000))" "${@:2}" \
    2>"$folder/log" &
  server=$!
  trap stop_server EXIT
  for _ in $(seq 100); do
    kill -0 "$server"
    if "$bin/planwright" server-info --server="127.0.0.1:$port" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  echo "planwrightd does not answer" >&2
  return 1
}

stop_server() {
  kill -TERM "$server"
  wait "$server"
  rm -rf "$folder"
}
