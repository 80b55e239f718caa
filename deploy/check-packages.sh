#!/usr/bin/env bash
# Makes the packages, asks lintian about them, installs them on a clean Debian 12 (debootstrap, in a chroot) and uses them
# there: the programs, a program in C++ by CMake and one by pkg-config, a program in Python, the wheel. Needs root and
# Debian's archive; takes some five minutes.
#   deploy/check-packages.sh [FOLDER_OF_A_CLEAN_DEBIAN]
# shellcheck disable=SC2016  # what runs inside expands there
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh chroot
./deploy/make-packages.sh
lintian --allow-root --fail-on error build/release/debs/*.deb

# With a folder named, that of an earlier run may be used again: it is copied, never changed.
clean=${1:-$(mktemp -d)/debian}
[[ -d "$clean/etc" ]] || debootstrap --variant=minbase --include=ca-certificates bookworm "$clean"
chroot=$(mktemp -d)
server=
finish() {
  [[ -z "$server" ]] || kill -TERM "$server" 2>/dev/null || true
  umount "$chroot/proc" 2>/dev/null || true
  rm -rf --one-file-system "$chroot"
}
trap finish EXIT
cp --archive "$clean/." "$chroot"
cp /etc/resolv.conf "$chroot/etc/resolv.conf"
echo 'Dpkg::Use-Pty "0";' >"$chroot/etc/apt/apt.conf.d/no-terminal"
mount -t proc proc "$chroot/proc"
mkdir "$chroot/packages" "$chroot/programs"
cp build/release/debs/*.deb build/release/wheels/*.whl "$chroot/packages"
cp docs/examples/plan.cc docs/examples/plan.py tests/readme/installed/* "$chroot/programs"

inside() {
  echo "--- $*"
  chroot "$chroot" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    bash -euo pipefail -c "$*"
}

inside 'apt-get update && apt-get install --yes --no-install-recommends /packages/*.deb' >"$chroot/log" ||
  { cat "$chroot/log" && exit 1; }
inside 'planwright version && planwrightd --version'
inside 'planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --time_limit=10s | head --lines=3'
inside 'test -s /usr/share/bash-completion/completions/planwright'
inside 'test -s /lib/systemd/system/planwrightd.service || test -s /usr/lib/systemd/system/planwrightd.service'
inside 'test -s /usr/share/man/man1/planwright-plan.1.gz'
chroot "$chroot" planwrightd --listen_address=127.0.0.1:45051 --metrics_address= --store=none 2>/dev/null &
server=$!
inside 'for _ in $(seq 100); do planwright server-info --server=127.0.0.1:45051 >/dev/null 2>&1 && exit; sleep 0.1; done; exit 1'

inside 'python3 /programs/plan.py 127.0.0.1:45051'
inside 'python3 /programs/use_client.py 127.0.0.1:45051'
inside 'apt-get install --yes --no-install-recommends g++ cmake make pkg-config python3-pip' >"$chroot/log" ||
  { cat "$chroot/log" && exit 1; }
inside 'cmake -S /programs -B /programs/build -DCMAKE_BUILD_TYPE=Release >/dev/null && cmake --build /programs/build'
inside '/programs/build/use_client 127.0.0.1:45051 && /programs/build/use_core'
inside 'cd /programs && g++ -std=c++20 plan.cc -o with_pkg_config $(pkg-config --cflags --libs planwright-client) &&
  ./with_pkg_config 127.0.0.1:45051'
inside 'cd /programs && g++ -std=c++20 use_core.cc -o core_with_pkg_config $(pkg-config --cflags --libs planwright-core) &&
  ./core_with_pkg_config'
# The wheel instead of the package.
inside 'apt-get remove --yes python3-planwright >/dev/null
  python3 -m pip install --quiet --break-system-packages --no-deps --no-index /packages/*.whl
  cd / && python3 /programs/use_client.py 127.0.0.1:45051'
kill -TERM "$server"
wait "$server"
server=
inside 'apt-get purge --yes planwright planwrightd libplanwright-dev >/dev/null && ! command -v planwright'
echo "the packages work"
