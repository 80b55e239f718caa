#!/usr/bin/env bash
# From a fresh Debian 12 machine to a server: installs the packages, builds planwrightd and runs it with the given
# flags, until SIGINT or SIGTERM.
#
#   deploy/serve.sh --listen_address=127.0.0.1:50051
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/deploy/build-program.sh" planwrightd
exec "$root/build/release/bin/planwrightd" "$@"
