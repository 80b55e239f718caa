#!/usr/bin/env bash
# Clients of other languages against a real planwrightd: @grpc/grpc-js and `buf curl`, both by npm. (Python is in the
# default test run.) Without npm it says so and leaves with 77 (skipped).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "check-clients: $*" >&2; }

if ! command -v npm >/dev/null; then
  say "skipped, npm is not here (apt-get install npm)"
  exit 77
fi

work=$(mktemp -d)
daemon=
finish() {
  [[ -z "$daemon" ]] || kill "$daemon" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

./deploy/setup.sh build >&2
cmake --preset release -DPLANWRIGHT_BUILD_TESTS=OFF -DPLANWRIGHT_BUILD_BENCHMARKS=OFF >&2
cmake --build --preset release --parallel "$(nproc)" --target planwrightd >&2
cp tests/foreign/* "$work"
(cd "$work" && npm install --no-audit --no-fund --loglevel=error) >&2

build/release/bin/planwrightd --listen_address=127.0.0.1:0 --metrics_address=127.0.0.1:0 --store=none --enable_reflection \
  --log_format=json 2>"$work/log" &
daemon=$!
address=
for _ in $(seq 100); do
  address=$(grep '"serving grpc"' "$work/log" | sed 's/.*"address":"\([^"]*\)".*/\1/' || true)
  [[ -z "$address" ]] || break
  sleep 0.1
done
[[ -n "$address" ]] || { cat "$work/log" >&2; say "planwrightd did not start"; exit 1; }

say "@grpc/grpc-js"
(cd "$work" && PLANWRIGHT_ADDRESS=$address PLANWRIGHT_PROTO=$OLDPWD/proto node --test client_test.mjs) >&2

# By reflection: without the protos.
say "buf curl"
service=http://$address/planwright.v1.PlanningService
answer=$("$work/node_modules/.bin/buf" curl --http2-prior-knowledge --protocol grpc \
  --data '{"graph_reference": "zoo:bert-large", "cluster_reference": "zoo:pcie:4"}' "$service/CreatePlan")
grep -q '"provenOptimal": *true\|"proven_optimal": *true' <<<"$answer" || { say "buf curl: not a proven plan"; exit 1; }
if "$work/node_modules/.bin/buf" curl --http2-prior-knowledge --protocol grpc \
  --data '{"graph_reference": "zoo:none", "cluster_reference": "zoo:pcie:4"}' "$service/CreatePlan" 2>"$work/error"; then
  say "buf curl: an unknown model was planned"
  exit 1
fi
grep -q not_found "$work/error" || { cat "$work/error" >&2; say "buf curl: not NOT_FOUND"; exit 1; }
say "every client was answered as the contract says"
