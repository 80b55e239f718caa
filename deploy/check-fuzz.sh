#!/usr/bin/env bash
# Fuzzes every target of tests/fuzz, each for the given number of seconds (default 60), from its corpus. New inputs
# stay in build/fuzz/corpus; a crash ends the script and leaves its input in build/fuzz/artifacts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}

./deploy/setup.sh build test checks
cmake --preset fuzz
cmake --build --preset fuzz --parallel "$(nproc)" --target planwright_fuzz_targets
mkdir -p build/fuzz/artifacts
for seeds in tests/fuzz/corpus/*/; do
  target=$(basename "$seeds")
  mkdir -p "build/fuzz/corpus/$target"
  echo "fuzz: $target for $seconds s" >&2
  "build/fuzz/bin/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/artifacts/$target-" "build/fuzz/corpus/$target" "$seeds"
done
