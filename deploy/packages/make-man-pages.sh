#!/usr/bin/env bash
# Manual pages of the programs and of each command, by help2man from what they print.
#   deploy/packages/make-man-pages.sh FOLDER BIN_FOLDER
set -euo pipefail

folder=$1
bin=$2
rm -rf "$folder"
mkdir --parents "$folder"/planwright/man1 "$folder"/planwrightd/man8
version=$("$bin/planwright" version | cut --delimiter=' ' --fields=2)

# make PROGRAM SECTION NAME HELP_OPTION SUMMARY FILE
make() {
  help2man --no-info --no-discard-stderr --section="$2" --name="$5" --version-string="$3 $version" --help-option="$4" \
    --manual=Planwright --output="$6" "$bin/$1"
  # Names and examples leave lines that cannot be stretched to the margin.
  sed --in-place '/^\.TH /a .ad l' "$6"
  gzip --best --no-name --force "$6"
}

make planwright 1 planwright help "plan how deep networks run on clusters" "$folder/planwright/man1/planwright.1"
while read -r command summary; do
  make planwright 1 "planwright-$command" "help $command" "$summary" "$folder/planwright/man1/planwright-$command.1"
done < <("$bin/planwright" help | sed -n '/^Commands:$/,/^$/{s/^  \([a-z-]*\)  *\(.*\)/\1 \2/p}' | grep --invert-match -E '^(help|version) ')
make planwrightd 8 planwrightd --help "planning service for deep networks on clusters" "$folder/planwrightd/man8/planwrightd.8"
make planwright-webhook 8 planwright-webhook --help "admission hook of Kubernetes that asks planwrightd" \
  "$folder/planwrightd/man8/planwright-webhook.8"
# A build without libonnx has no such program.
if [[ -x "$bin/planwright-onnx" ]]; then
  make planwright-onnx 1 planwright-onnx --help "read ONNX models for planwright" "$folder/planwright/man1/planwright-onnx.1"
fi
touch "$folder/made"
