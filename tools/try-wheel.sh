#!/bin/sh
# Install a wheel into an empty environment, without an MPI and then with one, and run it there as a user would:
#   tools/try-wheel.sh WHEEL [PYTHON]
set -eu
wheel=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"${2:-python3}" -m venv "$place/env"
cd "$place"
PATH=$place/env/bin:$PATH
unset PYTHONPATH MPI4PY_LIBMPI
fail() {
    echo "try-wheel: $1" >&2
    exit 1
}
install() { python -m pip --quiet --disable-pip-version-check install "$1"; }
table() { # a directory, what to start the run with; prints the hash of a small table
    store=$1
    shift
    "$@" yahtzee-cluster run --rules yacht --target 300 --store "$store" 2>log | sed -n 's/^sha256 *//p'
}
expected=30d493d74b7ce708ade9d65a3e95f326601c53e5a5377a71cb641e68840e65b6

install "$wheel"
[ "$(table alone env)" = "$expected" ] || fail "one process: $(cat log)"
table refused env MPI4PY_LIBMPI=/nowhere PMI_SIZE=2 PMI_RANK=0
grep -q 'pip install "yahtzee_cluster\[mpich\]"' log || fail "two ranks without an MPI: $(cat log)"
[ ! -e refused ] || fail "two ranks without an MPI have begun a table"
[ "$(yahtzee-cluster jobs maxprob-800 | grep -c '^target = 800$')" = 1 ] || fail "no job maxprob-800"
yahtzee-cluster plan --job maxprob-800 >log 2>&1 || fail "plan: $(cat log)"
yahtzee-cluster jobs site.sh >here.sh
yahtzee-cluster slurm --job maxprob-800 --nodes 2 --ranks-per-node 2 --site here.sh >log 2>&1 || fail "slurm: $(cat log)"
python -m yahtzee_cluster.examples.held_karp burma14 2>/dev/null | grep -q '^length *3323$' || fail "held_karp"

install "${wheel}[mpich]"
[ "$(table ranks mpirun -n 3)" = "$expected" ] || fail "three ranks: $(cat log)"
grep -q ' ranks=3 ' log || fail "three ranks: $(cat log)"
echo "$(python --version), $(basename "$wheel"): works alone and on three ranks"
