#!/usr/bin/env bash
# Runs the commands of docs/clients.md as printed, in the root of the sources, but with the programs of the given folder, a
# server on a port of its own and temporary folders for build/python and build/go. Exit code 77: the plugin of gRPC is not
# installed. Without Go its commands are left out.
#   tests/readme/run_clients.sh build/release/bin
set -euo pipefail

bin=$1
if [[ ! -x /usr/bin/grpc_python_plugin ]] || ! /usr/bin/python3 -c 'import grpc'; then
  echo "skipped: protobuf-compiler-grpc or python3-grpcio is not installed"
  exit 77
fi
# shellcheck source=tests/readme/server.sh
source tests/readme/server.sh
start_server "$bin" --store=none

programs=3
if ! command -v go >/dev/null || [[ ! -d /usr/share/gocode/src/google.golang.org/grpc || ! -x /usr/bin/protoc-gen-go ]]; then
  echo "Go's commands are left out: golang-go, golang-google-grpc-dev or protoc-gen-go-1-3 is not installed"
  programs=2
fi
plans=0
# shellcheck disable=SC2016  # backticks are the document's
while IFS= read -r command; do
  if [[ $programs == 2 && $command == *build/go* ]]; then continue; fi
  command=${command//build\/python/$folder\/python}
  command=${command//\$PWD\/build\/go/$folder\/go}
  command=${command//build\/go/$folder\/go}
  command=${command//build\/release\/bin/$bin}
  command=${command//127.0.0.1:50051/127.0.0.1:$port}
  echo "--- $command"
  # What is exported is for the commands after it.
  if [[ $command == export\ * ]]; then eval "$command" && continue; fi
  output=$(eval "$command")
  if grep --quiet "ms per micro-batch, at least" <<<"$output"; then plans=$((plans + 1)); fi
done < <(sed -n '/^```bash$/,/^```$/{/^```/d;p}' docs/clients.md)
if ((plans != programs)); then
  echo "$plans programs made a plan, not $programs" >&2
  exit 1
fi
echo "$programs clients and the shell work"
