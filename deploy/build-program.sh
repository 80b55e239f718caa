#!/usr/bin/env bash
# Installs the packages and builds one program into build/release/bin. Everything it says goes to stderr.
#
#   deploy/build-program.sh planwright|planwrightd
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec >&2

./deploy/setup.sh build
echo "${0##*/}: building build/release/bin/$1"
# What was configured with tests stays so.
if [[ ! -e build/release/build.ninja ]]; then
  cmake --preset release -DPLANWRIGHT_BUILD_TESTS=OFF -DPLANWRIGHT_BUILD_BENCHMARKS=OFF --log-level=WARNING
fi
cmake --build --preset release --parallel "$(nproc)" --target "$1"
