#!/usr/bin/env bash
# Runs the tests of everything that does not touch gRPC under the thread sanitizer, with oneTBB and
# absl_synchronization instrumented as well (deploy/tsan-libraries.sh says why). Debian's uninstrumented libgrpc would
# fill the rest with false reports. Arguments: folders of tests to run instead, e.g. tests/core/base.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ $# == 0 ]]; then
  set -- tests/core tests/property tests/reference tests/server/serving tests/server/store tests/server/engine tests/server/codec
fi

./deploy/setup.sh build test checks
./deploy/tsan-libraries.sh
cmake --preset tsan
cmake --build --preset tsan --parallel "$(nproc)" --target "${@/%//all}"
export LD_LIBRARY_PATH=$PWD/.tsan/lib TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1"
for folder in "$@"; do
  ctest --test-dir "build/tsan/$folder" --output-on-failure --no-tests=error --parallel "$(nproc)"
done
