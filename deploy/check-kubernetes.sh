#!/usr/bin/env bash
# Validates every manifest of deploy/kubernetes against the schemas of Kubernetes, by npm's kubernetes-models, which goes
# into build/kubernetes-models; the test suite does so too from then on. Without npm it says so and leaves with 77 (skipped).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "check-kubernetes: $*" >&2; }

if ! command -v npm >/dev/null; then
  say "skipped, npm is not here (apt-get install npm)"
  exit 77
fi

./deploy/setup.sh build test >&2
mkdir --parents build/kubernetes-models
npm install --prefix build/kubernetes-models --no-audit --no-fund --loglevel=error kubernetes-models@4.5.1 >&2
cmake --preset release -DPLANWRIGHT_BUILD_TESTS=ON >&2
cmake --build --preset release --parallel "$(nproc)" --target planwrightd planwright-webhook planwright >&2
ctest --preset release --tests-regex '^(manifests_test|webhook_schemas_test)$' --output-on-failure
