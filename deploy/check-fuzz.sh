#!/usr/bin/env bash
# Fuzzes every target of tests/fuzz from its corpus, each for a number of seconds (default 60) or of runs:
#
#   deploy/check-fuzz.sh [SECONDS | RUNSruns]        deploy/check-fuzz.sh 1000000runs
#
# New inputs stay in build/fuzz/corpus; a crash ends the script and leaves its input in build/fuzz/artifacts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
amount=${1:-60}
if [[ "$amount" == *runs ]]; then
  limit=-runs=${amount%runs}
else
  limit=-max_total_time=$amount
fi

./deploy/setup.sh build test checks
cmake --preset fuzz
cmake --build --preset fuzz --parallel "$(nproc)" --target planwright_fuzz_targets
mkdir -p build/fuzz/artifacts
for seeds in tests/fuzz/corpus/*/; do
  target=$(basename "$seeds")
  mkdir -p "build/fuzz/corpus/$target"
  echo "fuzz: $target, $limit" >&2
  "build/fuzz/bin/fuzz_$target" "$limit" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/artifacts/$target-" "build/fuzz/corpus/$target" "$seeds"
done
