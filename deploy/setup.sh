#!/usr/bin/env bash
# Installs the Debian 12 packages that Planwright needs, by purpose, as root or with sudo.
#
#   deploy/setup.sh [build] [pages] [packages] [test] [browser] [image] [chroot] [pictures] [checks]      (default: build)
#
# Does nothing where everything is installed already, and starts no daemon.
set -euo pipefail

declare -A packages=(
  # Compiling the programs.
  [build]="g++ cmake ninja-build ccache mold pkg-config libgrpc++-dev protobuf-compiler protobuf-compiler-grpc
           libprotobuf-dev libabsl-dev libtbb-dev prometheus-cpp-dev nlohmann-json3-dev libyaml-cpp-dev libpugixml-dev libzip-dev libonnx-dev
           libboost-dev
           libssl-dev libcurl4-openssl-dev zlib1g-dev libmicrohttpd-dev libgnutls28-dev libjemalloc-dev libsqlite3-dev libpqxx-dev libscotch-dev coinor-libcbc-dev"
  # Building pages of plans: npm fetches what they are drawn with. An npm from elsewhere will do.
  [pages]="nodejs npm"
  # Compiling and passing the tests; promtool is in prometheus; Python is the client in another language; Graphviz
  # reads the pictures, cbc the integer programs; the tests start a PostgreSQL of their own
  # and make certificates with openssl; kubectl renders the manifests, curl and jq count nodes.
  [test]="libgtest-dev libgmock-dev openssl clang-format shellcheck prometheus python3 python3-grpcio python3-protobuf
          grpc-proto graphviz coinor-cbc postgresql python3-jsonpatch python3-jsonschema
          python3-yaml python3-onnx
          kubernetes-client curl jq"
  # Building the image where there is no daemon and no registry.
  [image]="buildah debootstrap"
  # Making packages: manual pages, Debian packages, a wheel.
  [packages]="help2man dpkg-dev file python3 python3-pip python3-setuptools python3-wheel"
  # Checking packages, and installing them on a clean Debian.
  [chroot]="debootstrap lintian"
  # Tests of pages in a browser, which are skipped without it.
  [browser]="chromium"
  # Pictures of the docs.
  [pictures]="graphviz python3-matplotlib"
  # Sanitizers, clang-tidy, fuzzing, coverage, and the sources of libraries for the thread sanitizer.
  [checks]="clang clang-19 clang-tidy-19 libclang-rt-dev libclang-rt-19-dev llvm-19 dpkg-dev git"
)

say() { echo "setup: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

# Prints those of the given packages that are not installed.
missing_of() {
  local package
  for package in "$@"; do
    # Others package kubectl too, in the same place.
    if [[ "$package" == kubernetes-client ]] && command -v kubectl >/dev/null; then continue; fi
    [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || echo "$package"
  done
}

# Forbids package scripts to start daemons now, until this script ends, and masks the services that prometheus and
# postgresql would start at every boot: only their programs are wanted.
start_no_daemons() {
  local policy=/usr/sbin/policy-rc.d
  if [[ ! -e "$policy" ]]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod +x "$policy"
    trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  if command -v systemctl >/dev/null; then
    as_root systemctl mask --quiet prometheus.service postgresql.service
  fi
}

as_root() {
  if [[ "$(id -u)" == 0 ]]; then
    "$@"
  else
    sudo "$@"
  fi
}

wanted=()
for purpose in "${@:-build}"; do
  [[ -n "${packages[$purpose]:-}" ]] || fail "unknown purpose \"$purpose\"; there are: build, pages, packages, test, browser, image, chroot, pictures, checks"
  if [[ "$purpose" == pages ]] && command -v npm >/dev/null; then continue; fi
  read -r -d '' -a list <<<"${packages[$purpose]}" || true
  wanted+=("${list[@]}")
done

command -v dpkg-query >/dev/null || fail "this is not Debian; install the like of: ${wanted[*]}"
mapfile -t missing < <(missing_of "${wanted[@]}")
if [[ ${#missing[@]} == 0 ]]; then
  say "all packages for ${*:-build} are installed"
  exit 0
fi
if [[ "$(id -u)" != 0 ]] && ! command -v sudo >/dev/null; then
  fail "neither root nor sudo here; as root run: apt-get install --no-install-recommends ${missing[*]}"
fi

say "installing ${missing[*]}"
if [[ " ${missing[*]} " == *" prometheus "* || " ${missing[*]} " == *" postgresql "* ]]; then
  start_no_daemons
fi
log=$(mktemp)
if ! { as_root apt-get update &&
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}"; } \
  </dev/null >"$log" 2>&1; then
  cat "$log" >&2
  fail "apt-get failed; its output is above and in $log"
fi
rm -f "$log"
say "installed ${#missing[@]} packages and what they depend on"
