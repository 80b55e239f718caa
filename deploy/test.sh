#!/usr/bin/env bash
# From a fresh Debian 12 machine to passed tests: installs the packages, builds everything and runs the tests with the
# labels unit, integration, format, structure and tidy. Ends with ctest's summary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test
cmake --preset release -DPLANWRIGHT_BUILD_TESTS=ON -DPLANWRIGHT_BUILD_BENCHMARKS=ON
cmake --build --preset release --parallel "$(nproc)"
ctest --preset release --parallel "$(nproc)"
