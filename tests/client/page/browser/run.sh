#!/usr/bin/env bash
# Opens pages of real plans in Debian's chromium, by playwright-core, without a network. Exit code 77: skipped, where one of
# them is missing; deploy/setup.sh pages browser installs what it takes.
#   tests/client/page/browser/run.sh build/release/bin/planwright build/release/bin/planwrightd FOLDER
set -euo pipefail

planwright=$(realpath "$1")
planwrightd=$(realpath "$2")
folder=$3/browser
source=$(dirname "${BASH_SOURCE[0]}")

skip() {
  echo "skipped: $*"
  exit 77
}

for program in node npm chromium; do
  command -v "$program" >/dev/null || skip "$program is not installed; run deploy/setup.sh pages browser"
done
mkdir --parents "$folder"
rm --force "$folder"/plans.db*
cp "$source"/package.json "$source"/package-lock.json "$source"/*.mjs "$folder"
cd "$folder"
"$planwright" plan --graph=zoo:bert-large --cluster=zoo:pcie:4 --explain --save=bert.json >/dev/null
if ! "$planwright" export --plan=bert.json --to=html --graph=zoo:bert-large --cluster=zoo:pcie:4 \
  --output_file=bert.html 2>errors; then
  grep --quiet "makes no pages" errors || { cat errors && exit 1; }
  skip "this build makes no pages"
fi
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-timeout=20000 >/dev/null 2>errors ||
  skip "npm cannot fetch playwright-core: $(head --lines=1 errors)"
exec node page_test.mjs "$planwright" "$planwrightd"
