#!/usr/bin/env bash
# Makes the pictures of docs/concepts.md from real plans and from docs/pictures/periods.csv, which
# planwright_periodic_benchmark writes (docs/benchmarks.md): docs/pictures/*.svg.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh pictures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

planwright() { ./deploy/run.sh "$@" 2>>"$work/log" || { cat "$work/log" >&2; return 1; }; }

planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --output=json --output_file="$work/loads.json"
planwright export --plan="$work/loads.json" --to=svg --output_file=docs/pictures/loads.svg

planwright plan --graph=docs/examples/two-branches.json --output=json --output_file="$work/stages.json"
planwright export --plan="$work/stages.json" --graph=docs/examples/two-branches.json --to=dot \
  --output_file="$work/stages.dot"
dot -Tsvg "$work/stages.dot" >docs/pictures/stages.svg

/usr/bin/python3 deploy/plot-periods.py docs/pictures/periods.csv docs/pictures/periods.svg
echo "make-pictures: docs/pictures/loads.svg docs/pictures/periods.svg docs/pictures/stages.svg" >&2
