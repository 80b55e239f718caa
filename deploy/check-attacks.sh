#!/usr/bin/env bash
# Attacks a real server on the loopback as a hostile review of the service did (docs/threats.md), each attack bounded in
# count and time, with an ordinary client beside it whose calls must all end in time.
#
#   deploy/check-attacks.sh [NUMBER...]        (default: all, then ten minutes of all mixed)
#   deploy/check-attacks.sh --list
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test
cmake --preset release
cmake --build --preset release --parallel "$(nproc)" --target planwrightd planwright
attack() { /usr/bin/python3 tests/attacks/run.py --daemon build/release/bin/planwrightd "$@"; }
if [[ $# == 0 ]]; then
  attack && attack --mixed=600
else
  attack "$@"
fi
