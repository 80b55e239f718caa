#!/usr/bin/env bash
# Lints the public contract with buf, which comes by npm; without npm it says so and leaves with 77 (skipped).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v npx >/dev/null; then
  echo "check-proto: skipped, npm is not here (buf comes by npm: apt-get install npm)" >&2
  exit 77
fi
npx --yes @bufbuild/buf@1.75.0 lint
echo "check-proto: the contract is buf-clean" >&2
