#!/usr/bin/env bash
# Makes the whole Python package: the client, and what protoc makes of the protos.
#   client/python/generate.sh FOLDER
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$1
package=$folder/planwright

rm -rf "$package"
mkdir --parents "$package/v1" "$package/copied_rpc"
cp "$root"/client/python/planwright/* "$package"
cd "$root/proto"
protoc -I. --python_out="$folder" --pyi_out="$folder" --grpc_out="$folder" \
  --plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)" planwright/v1/*.proto
# Not below "google": that folder belongs to other packages.
generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
protoc -I. --python_out="$generated" --pyi_out="$generated" google/rpc/status.proto google/rpc/error_details.proto
cp "$generated"/google/rpc/* "$package/copied_rpc"
sed -i 's/^from google\.rpc import/from planwright.rpc import/' "$package"/v1/*.py "$package"/v1/*.pyi
# Services of the files that have none.
for stub in "$package"/v1/*_pb2_grpc.py; do
  grep --quiet Stub "$stub" || rm "$stub"
done
touch "$package/v1/__init__.py" "$package/copied_rpc/__init__.py"
