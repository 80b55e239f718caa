#!/usr/bin/env bash
# Changes one operator, constant or condition of core, server or client at a time, and says which changes no test
# noticed. Works on a copy of the last commit below build/mutants, so that the tree may be worked on meanwhile.
#
#   deploy/check-mutants.sh [--count=N] [--seed=N] [FOLDER ...]     default: 200 of core/cost, core/verify, core/model
#                                                                   and server/codec
#   deploy/check-mutants.sh --lines=FILE:LINE,... FOLDER ...        every change of these lines
#
# All changes are compiled at once, so one whole build is made. What is not changed is compiled as in the release build,
# so that its objects come from ccache where that has been built before. After that, one of them is seen in a debugger as
# `PLANWRIGHT_MUTANT=17 build/mutants/tree/build/mutants/bin/cost_test`, 17 being the number at the start of its line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test
copy=build/mutants/tree
rm -rf "$copy"
mkdir -p "$copy"
git archive HEAD | tar --extract --directory "$copy"
# A change that does not compile is told by the object of its source.
folders=()
for argument in "$@"; do [[ $argument == --* ]] || folders+=("$argument"); done
[[ ${#folders[@]} -gt 0 ]] || folders=(core/cost core/verify core/model server/codec)
cmake -S "$copy" -B "$copy/build/mutants" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPLANWRIGHT_BUILD_BENCHMARKS=OFF \
  -DPLANWRIGHT_MUTANTS=ON -DPLANWRIGHT_UNITY=ON -DPLANWRIGHT_UNITY_EXCEPT="$(IFS=';'; echo "${folders[*]}")"
exec ./deploy/run-mutants.py --tree="$copy" --build="$copy/build/mutants" "$@"
