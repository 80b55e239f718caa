#!/usr/bin/env bash
# Makes the Debian packages planwright, planwrightd, libplanwright-dev and python3-planwright, and a wheel of the Python
# client: build/release/debs and build/release/wheels. Installs what that takes, as root or with sudo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build packages
cmake --preset release
rm -rf build/release/debs build/release/wheels
cmake --build --preset release --parallel "$(nproc)" --target installed planwright_wheel
(cd build/release && cpack -G DEB)
ls build/release/debs/*.deb build/release/wheels/*.whl
