#!/usr/bin/env bash
# Checks all sources, or those of the given folders and files, with clang-tidy 19; every finding is an error. The suite
# does so with what the last commit changed (label tidy).
#
#   deploy/check-tidy.sh [FOLDER|FILE ...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test checks
cmake --preset release -DPLANWRIGHT_BUILD_TESTS=ON -DPLANWRIGHT_BUILD_BENCHMARKS=ON
# What is generated of the contract.
cmake --build --preset release --parallel "$(nproc)" \
  --target planwright_proto planwright_health_proto planwright_echo_proto planwright_commit
exec ./deploy/run-tidy.py "$@"
