#!/usr/bin/env bash
# Runs the unit and integration tests under the address, leak and undefined behaviour sanitizers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test checks
cmake --preset asan-ubsan
cmake --build --preset asan-ubsan --parallel "$(nproc)"
ctest --preset asan-ubsan --parallel "$(nproc)"
