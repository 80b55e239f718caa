#!/usr/bin/env bash
# Kills servers with SIGKILL while they work on operations, on both stores, and counts what was lost; then the other
# faults: a PostgreSQL that is stopped, hangs or is read-only, a full disk, damaged rows, clocks that jump, two releases
# on one store, certificates rotated under load, a thousand clients, a reader that does not read. Each prints what was
# sent, what came back and what was lost.
#
#   deploy/check-faults.sh [CYCLES]        (default: 20 on each store)
#
# Takes about ten seconds a cycle; the default test run has one and two.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test
cmake --preset release -DPLANWRIGHT_BUILD_TESTS=ON
cmake --build --preset release --parallel "$(nproc)" --target integration_test store_test engine_test
build/release/bin/store_test --gtest_filter='*Jumps*:*Damage*:*RollingUpgrade*:*FullDisk*'
build/release/bin/engine_test --gtest_filter='StoredPlansTest*'
PLANWRIGHT_KILL_CYCLES=${1:-20} build/release/bin/integration_test \
  --gtest_filter='*LosesNothingWhenServersDie*:*FaultTest*:*Rotated*:*AThousandClients*:*ThatDoesNotRead*'
