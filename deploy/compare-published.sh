#!/usr/bin/env bash
# Prints the baselines of device-placement beside our plans, on the published workloads (docs/benchmarks.md).
#
#   deploy/compare-published.sh [PLANWRIGHT [WORKLOADS]]
#
# PLANWRIGHT: the program, by default build/release/bin/planwright. WORKLOADS: by default
# ../shared/workloads/device-placement. Takes about a minute.
set -euo pipefail

program=${1:-build/release/bin/planwright}
workloads=${2:-../shared/workloads/device-placement}

compare() {
  "$program" compare "$@" 2>/dev/null || true
}

for graph in "$workloads"/throughput/*.json; do
  echo "== Table 1, contiguous"
  compare --graph="$graph" --algorithms=auto,linearized_dp,single_device,greedy,pipedream
  echo "== Table 1, non-contiguous"
  compare --graph="$graph" --split=non_contiguous --algorithms=auto,local_search,scotch
  echo "== Table 3, whole layers"
  compare --graph="$graph" --granularity=layer --algorithms=auto
done
echo "== Table 1, expert"
"$program" evaluate --graph="$workloads/throughput/layer_bert24_inference.json" \
  --plan="$workloads/expert_bert24_inference.json" 2>/dev/null | sed -n 2p
for graph in "$workloads"/latency/*.json; do
  echo "== Table 4, latency"
  compare --graph="$graph" --objective=min_latency --algorithms=auto,greedy,max_load,scotch
done
