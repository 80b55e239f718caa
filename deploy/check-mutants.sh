#!/usr/bin/env bash
# Changes one operator, constant or condition of core, server or client at a time, and says which changes no test
# noticed. Works on a copy of the last commit below build/mutants, so that the tree may be worked on meanwhile.
#
#   deploy/check-mutants.sh [--count=N] [--seed=N] [FOLDER ...]     default: 200 of core/cost, core/verify, core/model
#                                                                   and server/codec
#   deploy/check-mutants.sh --lines=FILE:LINE,... FOLDER ...        every change of these lines
#
# All changes are compiled at once, so one whole build is made (objects of the release build come from ccache). After
# that, one of them is seen in a debugger as `PLANWRIGHT_MUTANT=17 build/mutants/tree/build/mutants/bin/cost_test`, 17
# being the number at the start of its line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/setup.sh build test
copy=build/mutants/tree
rm -rf "$copy"
mkdir -p "$copy"
git archive HEAD | tar --extract --directory "$copy"
cmake -S "$copy" -B "$copy/build/mutants" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPLANWRIGHT_BUILD_BENCHMARKS=OFF \
  -DPLANWRIGHT_MUTANTS=ON
exec ./deploy/run-mutants.py --tree="$copy" --build="$copy/build/mutants" "$@"
