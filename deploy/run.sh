#!/usr/bin/env bash
# From a fresh Debian 12 machine to a plan: installs the packages, builds the two programs (planwright, planwrightd) and
# runs planwright with the given arguments. Everything but the program's own output goes to stderr.
#
#   deploy/run.sh plan --graph=zoo:bert-large --cluster=zoo:pcie:4
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

(
  cd "$root"
  ./deploy/setup.sh build
  echo "run: building build/release/bin/planwright and planwrightd"
  cmake --preset release -DPLANWRIGHT_BUILD_TESTS=OFF -DPLANWRIGHT_BUILD_BENCHMARKS=OFF --log-level=WARNING
  cmake --build --preset release --parallel "$(nproc)" --target planwright planwrightd
) >&2
exec "$root/build/release/bin/planwright" "$@"
