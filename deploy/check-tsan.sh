#!/usr/bin/env bash
# Runs tests under the thread sanitizer, with oneTBB and absl_synchronization instrumented as well
# (deploy/tsan-libraries.sh says why). Without arguments: everything that does not touch gRPC, which Debian's
# uninstrumented libgrpc would fill with false reports. Arguments go to ctest instead, e.g. -L integration.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test
./deploy/tsan-libraries.sh
cmake --preset tsan
cmake --build --preset tsan --parallel "$(nproc)"
if [[ $# == 0 ]]; then
  set -- --tests-regex '^(core|serving)_'
fi
ctest --preset tsan "$@"
