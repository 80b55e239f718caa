#!/usr/bin/env bash
# Builds oneTBB and absl_synchronization from Debian's own source with clang's thread sanitizer into .tsan/lib.
#
# Why: the sanitizer knows nothing of what uninstrumented libraries synchronise. With Debian's builds race-free code
# gets hundreds of reports, and suppressing oneTBB's frames hides real races in our loop bodies. These two libraries
# have the same soname and ABI as the packaged ones, so LD_LIBRARY_PATH swaps them in at run time.
#
# Cached by the installed package versions; needs no root: apt works in a folder of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cache=$PWD/.tsan
source_version() { dpkg-query --show --showformat='${source:Version}' "$1"; }
tbb_version=$(source_version libtbb-dev)
absl_version=$(source_version libabsl-dev)
stamp="clang=19 onetbb=$tbb_version abseil=$absl_version"
if [[ -f "$cache/stamp" && "$(cat "$cache/stamp")" == "$stamp" ]]; then
  echo "tsan-libraries: $stamp are in $cache/lib" >&2
  exit 0
fi

echo "tsan-libraries: building $stamp into $cache/lib" >&2
./deploy/setup.sh checks
rm -rf "$cache"
mkdir -p "$cache"/{apt/lists/partial,apt/cache/archives/partial,source,lib}
cat >"$cache/apt/sources.list" <<'SOURCES'
deb-src http://deb.debian.org/debian bookworm main
deb-src http://deb.debian.org/debian-security bookworm-security main
SOURCES
apt_options=(-qq -o Dir::Etc::SourceList="$cache/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o Dir::State::Lists="$cache/apt/lists" -o Dir::Cache="$cache/apt/cache" -o APT::Sandbox::User=root)
apt-get "${apt_options[@]}" update
(cd "$cache/source" && apt-get "${apt_options[@]}" source "onetbb=$tbb_version" "abseil=$absl_version")

cmake -S "$cache"/source/onetbb-* -B "$cache/tbb" -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DTBB_TEST=OFF -DTBB_SANITIZE=thread -DTBB_STRICT=OFF
cmake --build "$cache/tbb" --parallel "$(nproc)"
cmake -S "$cache"/source/abseil-* -B "$cache/absl" -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_STANDARD=17 -DABSL_PROPAGATE_CXX_STD=ON -DBUILD_TESTING=OFF -DBUILD_SHARED_LIBS=ON \
  -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
  -DCMAKE_CXX_FLAGS="-fsanitize=thread -fclang-abi-compat=17"
cmake --build "$cache/absl" --parallel "$(nproc)" --target synchronization

find "$cache/tbb" "$cache/absl" \( -name 'libtbb.so.*' -o -name 'libabsl_synchronization.so.*' \) \
  -exec cp --no-dereference {} "$cache/lib/" \;
rm -rf "$cache"/{apt,source,tbb,absl}
echo "$stamp" >"$cache/stamp"
