#!/bin/sh
# Run the kernel tests on kernels that check themselves: tools/checked-kernels.sh debug|sanitize
# Comparing with another solver, solving whole games, or the same in more small games would check nothing here that the
# plain tests do not.
# A sanitized build has all checks of a debug build, so CI runs that alone.
# The build is a tree of its own under build/, put before the checkout's on Python's path.
set -eu
cd "$(dirname "$0")/.."
mode=$1
tree=$PWD/build/$mode
YAHTZEE_CLUSTER_BUILD=$mode .venv/bin/python setup.py --quiet build --build-lib "$tree" --build-temp "$tree-objects"
if [ "$mode" = sanitize ]; then
    preload=$(${CC:-cc} -print-file-name=libasan.so)
    # Python itself never frees everything, and its allocator hides overruns from the sanitizer.
    set -- env LD_PRELOAD="$preload" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc
else
    set -- env
fi
which="not end_of_a_real_game and not samples_are_judged and not plausible and not (every_state and not two-sixes)"
which="$which and not (first_rule_that_matches and not two-sixes) and not (objectives and instruction_sets)"
echo "== kernel tests, $mode build"
PYTHONPATH=$tree YAHTZEE_CLUSTER_EXPECT=$tree "$@" .venv/bin/pytest -q --no-header -p no:cacheprovider -m "not witness and not whole" \
    -k "$which" \
    tests/kernels tests/storage/test_digest.py tests/objectives/test_expected.py tests/objectives/test_probabilities.py \
    tests/objectives/test_race_from_here.py tests/analysis/test_games.py tests/analysis/test_statistics.py
