#!/usr/bin/env bash
# Go packages of the protos, by Debian's generator (golang-go, golang-google-grpc-dev, protoc-gen-go-1-3): FOLDER/src is for
# GOPATH. That generator knows no optional fields of proto3, so they are plain in what it makes: zero is not set.
#   docs/examples/make-go.sh FOLDER
set -euo pipefail

folder=$(realpath --canonicalize-missing "$1")
protos=$(mktemp -d)
trap 'rm -rf "$protos"' EXIT
cp --recursive "$(dirname "${BASH_SOURCE[0]}")"/../../proto/. "$protos"
cd "$protos"
sed -i 's/^\( *\)optional /\1/' planwright/v1/*.proto
places=plugins=grpc
for proto in planwright/v1/*.proto; do places+=,M$proto=planwright/v1; done
places+=,Mgoogle/rpc/status.proto=google.golang.org/genproto/googleapis/rpc/status
places+=,Mgoogle/protobuf/duration.proto=github.com/golang/protobuf/ptypes/duration
places+=,Mgoogle/protobuf/timestamp.proto=github.com/golang/protobuf/ptypes/timestamp
mkdir --parents "$folder/src"
protoc -I. --go_out="$places:$folder/src" planwright/v1/*.proto
