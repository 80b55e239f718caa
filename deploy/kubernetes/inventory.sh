#!/usr/bin/env bash
# Counts the nodes of pools and writes the numbers into the ConfigMap that planwright-webhook reads (docs/kubernetes.md).
#
#   inventory.sh SETTINGS.json
#
# Lists nodes page by page with the service account's token, registers each pool as a cluster at planwrightd, patches the
# ConfigMap and prints what changed. Calls planwright, curl and jq. Environment, with what a pod has by default:
#   KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT  the API server
#   PLANWRIGHT_ACCOUNT    folder of token, ca.crt and namespace (/var/run/secrets/kubernetes.io/serviceaccount)
#   PLANWRIGHT_CONFIGMAP  the ConfigMap (planwright-pools)
#   PLANWRIGHT_PAGE       nodes of one page (500)
#   PLANWRIGHT_SERVER, PLANWRIGHT_CA_FILE, PLANWRIGHT_TOKEN_FILE  planwrightd; without the first nothing is registered
# Exit codes: 0; 1: the API server cannot be reached, or refuses; 2: wrong settings.
set -euo pipefail

readonly account=${PLANWRIGHT_ACCOUNT:-/var/run/secrets/kubernetes.io/serviceaccount}
readonly config_map=${PLANWRIGHT_CONFIGMAP:-planwright-pools}
readonly page_size=${PLANWRIGHT_PAGE:-500}
readonly service=${PLANWRIGHT_SERVER:-}
# A list that is out of date before its end is begun again so often.
readonly attempts=5
library=$(dirname "$(readlink --canonicalize "${BASH_SOURCE[0]}")")
readonly library

say() { echo "inventory: $*"; }

# fail CODE WORD...
fail() {
  say "${@:2}" >&2
  exit "$1"
}

# make FUNCTION [JQ-ARGUMENT...]: what a function of inventory.jq makes of a file, or of standard input.
make() { jq -L "$library" --raw-output --compact-output "include \"inventory\"; $1" "${@:2}"; }

# call METHOD PATH OUTPUT [CURL-ARGUMENT...]: prints the HTTP code. The token is read each time, since it is renewed, and
# stands on no command line.
call() {
  curl --silent --show-error --cacert "$account/ca.crt" --max-time 60 --retry 3 --retry-connrefused \
    --header @<(printf 'Authorization: Bearer %s\n' "$(<"$account/token")") --header "Accept: application/json" \
    --write-out '%{http_code}' --output "$3" --request "$1" "${@:4}" "$api$2" ||
    fail 1 "the API server at $api does not answer"
}

# What went wrong, from the Status that the API server sent.
message_of() { jq --raw-output '.message // "no message"' "$1" 2>/dev/null || head --bytes=200 "$1"; }

# Lists all nodes into $work/nodes, one a line. 1: what had been listed is out of date (410).
list_nodes() {
  local continue='' code
  : >"$work/nodes"
  while true; do
    code=$(call GET "/api/v1/nodes?limit=$page_size${continue:+&continue=$continue}" "$work/page") || exit 1
    case $code in
      200) ;;
      410) return 1 ;;
      *) fail 1 "nodes cannot be listed: $code, $(message_of "$work/page")" ;;
    esac
    # shellcheck disable=SC2016  # dollars are those of jq
    make 'page($settings[0])' --slurpfile settings "$settings" "$work/page" >"$work/lines" ||
      fail 1 "the API server sent something else than a list of nodes"
    head --lines=-1 "$work/lines" >>"$work/nodes"
    continue=$(tail --lines=1 "$work/lines")
    [[ -n "$continue" ]] || return 0
  done
}

list_nodes_anew() {
  local attempt=1
  until list_nodes; do
    ((attempt++ < attempts)) || fail 1 "the list of nodes was out of date $attempts times"
    say "the list of nodes is out of date, it is begun again"
  done
}

# Registers the counted pool in the file and prints clusters/DIGEST; says why not where it cannot be.
register() {
  local flags=()
  mapfile -t flags < <(make '.entry | register_flags' "$1")
  make node_list "$1" >"$work/list.json"
  planwright register --cluster="$work/list.json" --cluster_format=kubernetes "${flags[@]}" --server="$service" \
    ${PLANWRIGHT_CA_FILE:+--tls_ca_file="$PLANWRIGHT_CA_FILE"} \
    ${PLANWRIGHT_TOKEN_FILE:+--token_file="$PLANWRIGHT_TOKEN_FILE"} 2>"$work/errors" |
    grep --only-matching 'clusters/[^ ]*' ||
    say "pool $(jq --raw-output .entry.name "$1") is not registered: $(grep --max-count=1 error "$work/errors")" >&2
}

# The entry of a counted pool for the ConfigMap.
entry_of() {
  local cluster=
  if [[ -n "$service" ]] && jq --exit-status '.entry.nodes > 0' "$1" >/dev/null; then cluster=$(register "$1"); fi
  jq --compact-output --arg cluster "$cluster" '.entry + (if $cluster == "" then {} else {cluster: $cluster} end)' "$1"
}

# Counts the pools of the settings: $work/new is what the ConfigMap shall hold.
count_pools() {
  local line
  # shellcheck disable=SC2016  # dollars are those of jq
  make '. as $nodes | $settings[0].pools[] as $pool | $nodes | counted_pool($pool)' --slurp --slurpfile settings "$settings" \
    "$work/nodes" >"$work/counted"
  : >"$work/entries"
  while IFS= read -r line; do
    printf '%s\n' "$line" >"$work/pool.json"
    say "$(make summary "$work/pool.json")"
    entry_of "$work/pool.json" >>"$work/entries"
  done <"$work/counted"
  jq --slurp --compact-output --arg updated "$(date --utc +%Y-%m-%dT%H:%M:%SZ)" --slurpfile settings "$settings" \
    '{updated: $updated} + ($settings[0] | del(.pools)) + {pools: .}' "$work/entries" >"$work/new"
}

# The hook would refuse pools that it cannot read, so they are read here as it does, for a job that asks for nothing.
check_pools() {
  echo '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "none"}}' >"$work/job.json"
  planwright check "$work/job.json" --pools_file="$work/new" >/dev/null 2>"$work/errors" ||
    fail 2 "$settings: $(sed "s|$work/new: ||" "$work/errors")"
}

print_changes() {
  # What was written by hand, as YAML, cannot be compared.
  jq --compact-output '.data["pools.yaml"] // "{}" | try fromjson catch {}' "$work/map" >"$work/old"
  make differences --slurp "$work/old" "$work/new" >"$work/differences"
  if [[ -s "$work/differences" ]]; then
    sed 's/^/inventory: changed: /' "$work/differences"
  else
    say "nothing changed"
  fi
}

write_pools() {
  local path code
  path="/api/v1/namespaces/$(<"$account/namespace")/configmaps/$config_map"
  code=$(call GET "$path" "$work/map")
  [[ "$code" == 200 ]] || fail 1 "ConfigMap $config_map cannot be read: $code, $(message_of "$work/map")"
  print_changes
  jq --null-input --compact-output --rawfile text "$work/new" '{data: {"pools.yaml": $text}}' >"$work/patch"
  (($(stat --format=%s "$work/patch") < 1000000)) || fail 2 "the pools take more than a ConfigMap holds (1 MiB)"
  code=$(call PATCH "$path" "$work/answer" --header "Content-Type: application/merge-patch+json" \
    --data-binary "@$work/patch")
  [[ "$code" == 200 ]] || fail 1 "ConfigMap $config_map cannot be written: $code, $(message_of "$work/answer")"
}

[[ $# == 1 && -r "$1" ]] || fail 2 "usage: inventory.sh SETTINGS.json, a file that can be read"
readonly settings=$1
mistakes=$(make mistakes "$settings" 2>&1) || fail 2 "$settings: $mistakes"
[[ -z "$mistakes" ]] || fail 2 "$settings: ${mistakes//$'\n'/; }"
[[ "$page_size" =~ ^[1-9][0-9]*$ ]] || fail 2 "PLANWRIGHT_PAGE must be a whole number >= 1, is \"$page_size\""
for file in token ca.crt namespace; do
  [[ -r "$account/$file" ]] || fail 2 "$account/$file cannot be read: is this a pod with a service account's token?"
done
readonly api="https://${KUBERNETES_SERVICE_HOST:?}:${KUBERNETES_SERVICE_PORT:?}"
work=$(mktemp --directory)
readonly work
trap 'rm -rf "$work"' EXIT

list_nodes_anew
count_pools
check_pools
write_pools
