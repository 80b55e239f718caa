#!/usr/bin/env bash
# Makes an authority and the hook's certificate with openssl, for clusters without cert-manager, and writes next to this
# script what kustomization.yaml reads: tls.crt, tls.key and authority-patch.yaml. Run it again to renew; the authority's
# key is not kept.
#
#   certificates.sh [DAYS [FOLDER]]      (default: 365, the folder of this script)
set -euo pipefail

days=${1:-365}
folder=${2:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}
readonly name=planwright-webhook.planwright.svc
if [[ ! "$days" =~ ^[1-9][0-9]{0,4}$ ]]; then
  echo "certificates: DAYS must be a whole number from 1 to 99999, is \"$days\"" >&2
  exit 2
fi

umask 077
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# What openssl has to say is of interest only then.
fail() {
  cat "$scratch/log" >&2
  exit 1
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "$days" \
  -keyout "$scratch/ca.key" -out "$scratch/ca.crt" -subj "/CN=planwright-webhook-authority" \
  -addext "keyUsage=critical,keyCertSign,cRLSign" 2>"$scratch/log" || fail
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
  -keyout "$scratch/tls.key" -out "$scratch/tls.csr" -subj "/CN=$name" 2>"$scratch/log" || fail
printf 'subjectAltName=DNS:%s,DNS:%s.cluster.local\nextendedKeyUsage=serverAuth\nbasicConstraints=critical,CA:FALSE\n' \
  "$name" "$name" >"$scratch/extensions"
openssl x509 -req -in "$scratch/tls.csr" -CA "$scratch/ca.crt" -CAkey "$scratch/ca.key" -CAcreateserial -days "$days" \
  -extfile "$scratch/extensions" -out "$scratch/tls.crt" 2>"$scratch/log" || fail

printf -- '- op: add\n  path: /webhooks/0/clientConfig/caBundle\n  value: %s\n' "$(base64 --wrap=0 "$scratch/ca.crt")" \
  >"$scratch/authority-patch.yaml"
mv "$scratch/tls.crt" "$scratch/tls.key" "$scratch/authority-patch.yaml" "$folder/"
echo "certificates: $folder holds a certificate for $name, valid for $days days" >&2
