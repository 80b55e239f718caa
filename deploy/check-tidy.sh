#!/usr/bin/env bash
# Compiles the whole tree with clang-tidy beside the compiler; every finding is an error. Only what changed since the
# last run is checked again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test checks
cmake --preset tidy
cmake --build --preset tidy --parallel "$(nproc)" -- -k 0
