#!/usr/bin/env bash
# Installs a build into a folder, and builds programs against what is there, by CMake and by pkg-config. Exit code 77: only
# some of it was built.
#   tests/readme/run_install.sh build/release
set -euo pipefail

build=$1
if [[ ! -e "$build/installed/libplanwright-core.a" || ! -e "$build/installed/completion.fish" ]]; then
  echo "skipped: the target \"installed\" has not been built"
  exit 77
fi
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix/usr" >"$prefix/log"
export PATH=$prefix/usr/bin:$PATH XDG_STATE_HOME=$prefix/state
[[ $(command -v planwright) == "$prefix/usr/bin/planwright" ]]
planwright plan --graph=zoo:gpt-125m --cluster=zoo:pcie:2 | head --lines=1
planwrightd --version
grep --quiet "^ExecStart=$prefix/usr/bin/planwrightd$" "$prefix"/usr/lib/systemd/system/planwrightd.service

mkdir "$prefix/programs"
cp docs/examples/plan.cc tests/readme/installed/* "$prefix/programs"
cmake -S "$prefix/programs" -B "$prefix/programs/build" -DCMAKE_PREFIX_PATH="$prefix/usr" >"$prefix/log"
cmake --build "$prefix/programs/build" --parallel 2
"$prefix/programs/build/use_core"
export PKG_CONFIG_PATH=$prefix/usr/lib/pkgconfig
# shellcheck disable=SC2046  # words
c++ -std=c++20 "$prefix/programs/use_core.cc" -o "$prefix/with_pkg_config" $(pkg-config --cflags --libs planwright-core)
"$prefix/with_pkg_config"
echo '#include "client/library/version.h"
int main() { return *planwright::client::kVersion == 0; }' >"$prefix/version.cc"
# shellcheck disable=SC2046
c++ -std=c++20 "$prefix/version.cc" -o "$prefix/version" $(pkg-config --cflags planwright-client)
"$prefix/version"

# shellcheck source=tests/readme/server.sh
source tests/readme/server.sh
start_server "$prefix/usr/bin" --store=none
"$prefix/programs/build/use_client" "127.0.0.1:$port"
if /usr/bin/python3 -c 'import grpc' 2>/dev/null && [[ -d "$prefix/usr/lib/python3/dist-packages/planwright" ]]; then
  PYTHONPATH=$prefix/usr/lib/python3/dist-packages /usr/bin/python3 "$prefix/programs/use_client.py" "127.0.0.1:$port"
fi
rm -rf "$prefix"
echo "what is installed works"
