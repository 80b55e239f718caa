#!/usr/bin/env bash
# Kills servers with SIGKILL while they work on operations, on both stores, and counts what was lost; then the other
# faults: a full disk, a PostgreSQL that is stopped or hangs, certificates rotated under load, a thousand clients:
#
#   deploy/check-faults.sh [CYCLES]        (default: 20 on each store)
#
# Takes about ten seconds a cycle; the default test run has one and two.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test
cmake --preset release -DPLANWRIGHT_BUILD_TESTS=ON
cmake --build --preset release --parallel "$(nproc)" --target integration_test
PLANWRIGHT_KILL_CYCLES=${1:-20} build/release/bin/integration_test \
  --gtest_filter='*LosesNothingWhenServersDie*:*Fault*:*Rotated*:*AThousandClients*'
