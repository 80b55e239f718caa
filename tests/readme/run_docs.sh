#!/usr/bin/env bash
# Runs the planwright commands of the bash blocks of some documents as printed, in a temporary folder, and expects each to
# succeed. Only the port of the server is another one, and `planwright` is that of the given folder.
# A text block right behind a bash block shows what its commands print. Prose may be worded otherwise there: compared are the
# numbers, ranges, paths and --flags of each line that is shown, which have to follow each other in what was printed. Behind
# " ..." nothing is compared.
#   tests/readme/run_docs.sh build/release/bin docs/store.md ...
set -euo pipefail

bin=$(realpath "$1")
root=$PWD
documents=("${@:2}")
# shellcheck source=tests/readme/server.sh
source "$(dirname "${BASH_SOURCE[0]}")/server.sh"
export PATH=$bin:$PATH XDG_STATE_HOME=$folder/state
unset PLANWRIGHT_SERVER
start_server "$bin"

# What is compared of lines on standard input: the words with digits but those of letters that have some, such as 1F1B or
# ZeRO-1, and --flags; each between two blanks.
words_of() {
  awk '{
    sub(/ ?[.][.][.].*/, "")
    for (i = 1; i <= NF; ++i) {
      word = $i
      gsub(/^[(]+|[),;:]+$/, "", word)
      if (word ~ /^--/ || (word ~ /[0-9]/ && word !~ /^[A-Za-z0-9_-]*[A-Za-z][A-Za-z0-9_-]*$/)) printf " %s", word
    }
    print " "
  }'
}

commands=0
run() {
  echo "--- $1"
  local command=${1//build\/release\/bin\/planwright/planwright}
  command=${command//localhost:50051/127.0.0.1:$port}
  eval "${command//127.0.0.1:50051/127.0.0.1:$port}" >>out
  commands=$((commands + 1))
}

compared=0
compare() {
  local printed shown
  printed=" $(words_of <out | tr --delete '\n' | tr --squeeze-repeats ' ') "
  while IFS= read -r shown; do
    if [[ $shown == " " ]]; then continue; fi
    if [[ $printed != *"$shown"* ]]; then
      echo "$1 shows what no command prints:$shown" >&2
      return 1
    fi
    compared=$((compared + 1))
  done < <(words_of)
}

cd "$folder"
mkdir build
ln --symbolic "$root/docs" docs
for document in "${documents[@]}"; do
  block=
  shown=
  before=$commands
  while IFS= read -r line; do
    case $block:$line in
      :'```bash') block=bash && rm --force out ;;
      :'```text') block=text && shown= ;;
      :'```'*) block=other ;;
      text:'```')
        if [[ -f out ]]; then compare "$document" <<<"$shown"; fi
        block=
        rm --force out
        ;;
      *:'```') block= ;;
      bash:planwright\ * | bash:build/release/bin/planwright\ *) run "$line" ;;
      text:*) shown+=$line$'\n' ;;
      :?*) rm --force out ;; # prose: what is shown next is of no command
    esac
  done < <(sed -e ':a' -e '/\\$/{N;s/ *\\\n */ /;ba' -e '}' "$root/$document")
  if ((commands < before + 2)); then
    echo "only $((commands - before)) commands were found in $document" >&2
    exit 1
  fi
done
echo "$commands commands work, and print the $compared lines that are shown"
