#!/usr/bin/env bash
# From a fresh Debian 12 machine to a plan: installs the packages, builds planwright and runs it with the given
# arguments. Everything but the program's own output goes to stderr.
#
#   deploy/run.sh plan --graph=zoo:bert-large --cluster=zoo:pcie:4
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/deploy/build-program.sh" planwright
exec "$root/build/release/bin/planwright" "$@"
