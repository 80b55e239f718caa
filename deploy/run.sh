#!/usr/bin/env bash
# From a fresh Debian 12 machine to a plan: installs the packages, builds the planwright program and runs it with the
# given arguments. Everything but the program's own output goes to stderr.
#
#   deploy/run.sh plan --graph=zoo:bert-large --cluster=zoo:pcie:4
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

{
  "$root/deploy/setup.sh" build
  cd "$root"
  echo "run: building planwright in build/release"
  cmake --preset release -DPLANWRIGHT_BUILD_TESTS=OFF -DPLANWRIGHT_BUILD_BENCHMARKS=OFF --log-level=WARNING
  cmake --build --preset release --parallel "$(nproc)" --target planwright
  cd "$OLDPWD"
} >&2
exec "$root/build/release/bin/planwright" "$@"
