#!/usr/bin/env bash
# Runs the commands of docs/clients.md as printed, in the root of the sources, but with the programs of the given folder, a
# server on a port of its own and a temporary folder for build/python. Exit code 77: the plugin of gRPC is not installed.
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

plans=0
# shellcheck disable=SC2016  # backticks are the document's
while IFS= read -r command; do
  command=${command//build\/python/$folder\/python}
  command=${command//build\/release\/bin/$bin}
  command=${command//127.0.0.1:50051/127.0.0.1:$port}
  echo "--- $command"
  output=$(eval "$command")
  if grep --quiet "ms per micro-batch, at least" <<<"$output"; then plans=$((plans + 1)); fi
done < <(sed -n '/^```bash$/,/^```$/{/^```/d;p}' docs/clients.md)
if ((plans != 2)); then
  echo "$plans programs made a plan, not 2" >&2
  exit 1
fi
echo "all clients work"
