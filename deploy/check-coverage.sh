#!/usr/bin/env bash
# Runs the unit and integration tests with counted lines and branches, and with the sanitizers of check-asan.sh, so that
# one build and one run serve both. Prints lines and branches by folder and the files below 90 % of lines; the lines
# themselves are in build/coverage/report. What a killed process has run is not counted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test checks
cmake --preset coverage
cmake --build --preset coverage --parallel "$(nproc)"
rm -rf build/coverage/profiles
result=0
ctest --preset coverage --parallel "$(nproc)" || result=$?

llvm-profdata-19 merge --sparse --output=build/coverage/all.profdata build/coverage/profiles/*.profraw
programs=()
for program in build/coverage/bin/*; do
  programs+=(--object "$program")
done
llvm-cov-19 export --summary-only --instr-profile=build/coverage/all.profdata "${programs[@]}" \
  | ./deploy/report-coverage.py
llvm-cov-19 show --format=html --output-dir=build/coverage/report --show-branches=count \
  --instr-profile=build/coverage/all.profdata "${programs[@]}" --sources "$PWD"/{core,server,client}
exit "$result"
