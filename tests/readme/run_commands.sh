#!/usr/bin/env bash
# Runs every command of README.md's bash blocks as printed, but with the programs of the given folder and a port of its
# own, and expects each to succeed; then the commands in its table that need no file of the reader. What README.md shows
# as output has to be in the output of the first command, line by line.
#   tests/readme/run_commands.sh build/release/bin
# shellcheck disable=SC2016  # backticks are README's, not ours
set -euo pipefail

bin=$1
port=$((20000 + RANDOM % 6000))
export PLANWRIGHT_LISTEN_ADDRESS=127.0.0.1:$port PLANWRIGHT_METRICS_ADDRESS=127.0.0.1:$((port + 6000))
XDG_STATE_HOME=$(mktemp -d)
export XDG_STATE_HOME
server=

stop_server() {
  if [[ -n "$server" ]]; then
    kill -TERM "$server"
    wait "$server"
    server=
  fi
}
finish() {
  stop_server
  rm -rf "$XDG_STATE_HOME"
}
trap finish EXIT

start_server() {
  "$bin/planwrightd" &
  server=$!
  for _ in $(seq 100); do
    kill -0 "$server"
    if "$bin/planwright" server-info --server="127.0.0.1:$port" >/dev/null 2>&1; then
      return
    fi
    sleep 0.1
  done
  echo "planwrightd does not answer" >&2
  return 1
}

run() {
  echo "--- $1"
  local command=$1
  command=${command//build\/release\/bin/$bin}
  command=${command/#.\/deploy\/run.sh/$bin\/planwright}
  command=${command//127.0.0.1:50051/127.0.0.1:$port}
  case $1 in
    ./deploy/test.sh) ;; # runs this very test
    ./deploy/serve.sh)
      # What it builds is there already, where these are the programs that it builds.
      if [[ "$bin" -ef build/release/bin ]]; then ./deploy/serve.sh --version; fi
      start_server
      ;;
    *--to=html* | *.onnx*)
      if ! eval "$command" >/dev/null 2>"$XDG_STATE_HOME/errors"; then
        grep -E "makes no pages|cannot read any" "$XDG_STATE_HOME/errors"
      fi
      ;;
    ./deploy/run.sh\ * | build/release/bin/planwright\ *) eval "$command" >/dev/null ;;
    *) echo "README.md has a command that this test does not know" >&2 && return 1 ;;
  esac
}

check_shown_output() {
  local output line
  output=$("$bin/planwright" plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --runnable_on=megatron)
  while IFS= read -r line; do
    if ! grep --quiet --fixed-strings --line-regexp -e "$line" <<<"$output"; then
      echo "README.md shows a line that the program does not print: $line" >&2
      return 1
    fi
  done < <(sed -n '/^```text$/,/^```$/{/^```/d;/^ *[.][.][.]$/d;p}' README.md)
}

mapfile -t commands < <(
  sed -n '/^```bash$/,/^```$/{/^```/d;p}' README.md
  grep '^|' README.md | grep -o '`build/release/bin/planwright [^`]*`' | tr -d '`' | grep -v FILE
)
if [[ ${#commands[@]} -lt 6 ]]; then
  echo "only ${#commands[@]} commands were found in README.md" >&2
  exit 1
fi
for command in "${commands[@]}"; do
  run "$command"
done
check_shown_output
stop_server
echo "${#commands[@]} commands work"
