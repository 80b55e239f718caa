#!/usr/bin/env bash
# Builds the Dockerfile to its end with buildah, on a Debian of our own (debootstrap, without what debian:bookworm-slim
# leaves out), and runs the image as Kubernetes would: as 65532, on a read-only root. As root; leaves with 77 (skipped) where
# buildah cannot work. Objects come from the caller's ccache, where there is one.
#
#   deploy/check-image.sh [FOLDER]
#
# With a FOLDER (build/release/bin) its programs stand for those that the first stage would compile: a minute instead of an
# hour, for changes of what is around them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly max_megabytes=320
readonly base=docker.io/library/debian:bookworm-slim image=localhost/planwright:check$# programs=${1:-}
folder=$PWD/build/image
readonly folder
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot

say() { echo "check-image: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

if [[ "$(id -u)" != 0 ]]; then
  say "skipped, only root can mount and change its root"
  exit 77
fi
./deploy/setup.sh image
mkdir --parents "$folder"
if ! buildah --root "$folder/storage" --runroot "$folder/run" images >"$folder/log" 2>&1; then
  say "skipped, buildah does not work here: $(tail --lines=1 "$folder/log")"
  exit 77
fi
buildah() { command buildah --root "$folder/storage" --runroot "$folder/run" "$@"; }

# The base, once.
if [[ -z "$(buildah images --quiet "$base" 2>/dev/null)" ]]; then
  if [[ ! -e "$folder/base/etc/debian_version" || -e "$folder/base/debootstrap" ]]; then
    say "making a Debian 12"
    rm -rf "$folder/base"
    debootstrap --variant=minbase bookworm "$folder/base" >"$folder/log" 2>&1 || fail "debootstrap failed: $folder/log"
  fi
  (cd "$folder/base" && rm -rf usr/share/{doc,info,man,locale}/* var/cache/apt/archives/*.deb var/lib/apt/lists/*)
  container=$(buildah from scratch)
  cp --archive "$folder/base/." "$(buildah mount "$container")"
  buildah commit --quiet --rm "$container" "$base" >"$folder/log"
fi

readonly log=$folder/build$#.log
say "building, with the output in $log"
cache=${CCACHE_DIR:-${HOME:?}/.cache/ccache}
mkdir --parents "$cache"
instead=()
if [[ -n "$programs" ]]; then
  mkdir --parents "$folder/stage/programs"
  for program in planwrightd planwright planwright-webhook planwright-onnx; do
    strip -o "$folder/stage/programs/$program" "$programs/$program"
  done
  instead=(--build-context "build=$folder/stage")
fi
buildah bud --pull-never --layers --volume "$cache:/root/.cache/ccache" --build-arg "SOURCE=$PWD" "${instead[@]}" \
  --tag "$image" . >"$log" 2>&1 || fail "the build failed: $log"

container=$(buildah from --pull-never "$image")
root=$(buildah mount "$container")
work=$(mktemp --directory)
daemon=
# Ends what the subshell of in_image waits for; its exit code.
stop_daemon() {
  local subshell=$daemon
  daemon=
  pkill --parent "$subshell"
  wait "$subshell"
}
finish() {
  [[ -z "$daemon" ]] || stop_daemon || true
  buildah rm "$container" >/dev/null
  rm -rf "$work"
}
trap finish EXIT

megabytes=$(($(du --summarize --bytes "$root" | cut --fields=1) / 1000000))
say "the image takes $megabytes MB"
((megabytes <= max_megabytes)) || fail "that is more than $max_megabytes MB"
user=$(buildah inspect --type image --format '{{.OCIv1.Config.User}}' "$image")
[[ "$user" == 65532:65532 ]] || fail "it runs as \"$user\", not as 65532:65532"

# in_image COMMAND...: as that user, on a read-only root, with a writable /tmp only; /etc/planwright is $work/etc.
mkdir "$work/etc"
mkdir --parents "$root/etc/planwright"
in_image() {
  # shellcheck disable=SC2016  # variables of the inner shell
  unshare --mount --propagation=private bash -c '
    mount --bind "$1" "$1" && mount --bind "$2" "$1/etc/planwright" && mount -t proc proc "$1/proc" &&
    mount -t tmpfs tmpfs "$1/tmp" && mount --bind /dev "$1/dev" && mount -o remount,ro,bind "$1" &&
    exec chroot --userspec=65532:65532 --groups= "$1" /usr/bin/env --ignore-environment PATH=/usr/local/bin:/usr/bin:/bin \
      PLANWRIGHT_STORE=none "${@:3}"' in_image "$root" "$work/etc" "$@"
}

if in_image touch /usr/local/bin/x 2>/dev/null; then fail "the root can be written"; fi
[[ "$(in_image id --user)" == 65532 ]] || fail "not 65532"

# address_of MESSAGE LOG: of the line that tells of it, once it is there.
address_of() {
  for _ in $(seq 100); do
    if grep --quiet "\"$1\"" "$2"; then
      sed --quiet "s/.*\"message\":\"$1\".*\"address\":\"\([^\"]*\)\".*/\1/p; s/.*\"address\":\"\([^\"]*\)\".*\"message\":\"$1\".*/\1/p" "$2"
      return
    fi
    sleep 0.1
  done
  cat "$2" >&2
  fail "no line \"$1\""
}

deploy/kubernetes/webhook-plain-certificates/certificates.sh 2 "$work/etc"
cp docs/examples/kubernetes/* "$work/etc/"
chmod --recursive a+rX "$work/etc"
in_image planwrightd --listen_address=127.0.0.1:0 --metrics_address=127.0.0.1:0 --log_format=json 2>"$work/daemon" &
daemon=$!
service=$(address_of "serving grpc" "$work/daemon")
http=$(address_of "serving http" "$work/daemon")
for probe in livez readyz; do
  in_image curl --silent --show-error --fail "http://$http/$probe" >&2 || fail "/$probe is not 200"
done
plan=(planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4)
alone=$(in_image "${plan[@]}" --local | head --lines=1)
asked=$(in_image "${plan[@]}" --server="$service" | head --lines=1)
[[ "$alone" == "$asked" && "$alone" == *"proven optimal"* ]] || fail "\"$alone\" alone, \"$asked\" from the server"
in_image planwright check /etc/planwright/job.yaml --pools_file=/etc/planwright/pools.yaml >&2 || fail "check fails"
in_image planwright-webhook --validate_config --pools_file=/etc/planwright/pools.yaml --tls_cert_file=/etc/planwright/tls.crt \
  --tls_key_file=/etc/planwright/tls.key >&2 || fail "the hook does not start"
# What it calls is there; no service account is.
if in_image /usr/local/lib/planwright/inventory.sh /etc/planwright/inventory.json 2>"$work/inventory"; then
  fail "the inventory needs no account"
fi
grep --quiet "service account's token" "$work/inventory" || fail "the inventory says: $(cat "$work/inventory")"
in_image planwright-onnx </dev/null >/dev/null 2>"$work/onnx" && fail "planwright-onnx reads nothing"
grep --quiet "error while loading" "$work/onnx" && fail "planwright-onnx: $(cat "$work/onnx")"
stop_daemon || fail "planwrightd ended with $?"
say "the image works"
