#!/usr/bin/env bash
# Runs the unit and integration tests with counted lines and branches; the report is build/coverage/report.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test checks
cmake --preset coverage
cmake --build --preset coverage --parallel "$(nproc)"
find build/coverage -name '*.gcda' -delete
ctest --preset coverage --parallel "$(nproc)"
mkdir -p build/coverage/report
gcovr --root . --filter 'core/' --filter 'server/' --filter 'client/' --exclude-throw-branches \
  --html-details build/coverage/report/index.html --print-summary build/coverage
