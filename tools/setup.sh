#!/bin/sh
# Make .venv: an environment with the program, an MPI and everything that tests and checks need.
# PYTHON names the interpreter to use, CC the compiler; MPI is "wheel" (an MPICH from the package index) or "system"
# (mpi4py is compiled against the mpicc on PATH). The environment remembers what it was made for, and where.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
mpi=${MPI:-wheel}

say() { echo "setup: $1" >&2; }
refuse() {
    echo "setup: $1" >&2
    exit 2
}

command -v "$python" >/dev/null 2>&1 ||
    refuse "no $python here; install Python 3.11 or newer, or name one: make setup PYTHON=/path/to/python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    refuse "$python is older than Python 3.11; name a newer one: make setup PYTHON=/path/to/python3"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    refuse "$python cannot make environments; install its venv module (Debian: apt install python3-venv)"
compiler=${CC:-}
if [ -n "$compiler" ]; then
    command -v "${compiler%% *}" >/dev/null 2>&1 || refuse "no C compiler $compiler here; CC names one that is missing"
else
    for compiler in "$("$python" -c 'import sysconfig; print((sysconfig.get_config_var("CC") or "cc").split()[0])')" cc; do
        command -v "$compiler" >/dev/null 2>&1 && break
    done
    command -v "$compiler" >/dev/null 2>&1 ||
        refuse "no C compiler; install one (Debian: apt install gcc libc6-dev) or name one: make setup CC=..."
fi
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$headers/Python.h" ] || refuse "no Python.h in $headers; install Python's headers (Debian: apt install python3-dev)"
echo '#include <stdlib.h>' | ${compiler} -E - >/dev/null 2>&1 ||
    refuse "$compiler does not work; install the C library's headers (Debian: apt install libc6-dev)"
case $mpi in
wheel) extras=mpich,plot,data,shell,search,web,docs,dev,witness ;;
system)
    extras=plot,data,shell,search,web,docs,dev,witness
    command -v "${MPICC:-mpicc}" >/dev/null 2>&1 ||
        refuse "no ${MPICC:-mpicc} for MPI=system; load your cluster's MPI module, or use MPI=wheel"
    ;;
*) refuse "MPI: expected wheel or system, found $mpi" ;;
esac

made_for="$python $mpi $PWD"
[ -x .venv/bin/python ] && [ "$(cat .venv/made-for 2>/dev/null)" = "$made_for" ] || {
    say "making .venv"
    rm -rf .venv
    "$python" -m venv .venv
    echo "$made_for" >.venv/made-for
}
pip() { .venv/bin/python -m pip --quiet --disable-pip-version-check "$@"; }
CC=$compiler
export CC
if [ "$mpi" = system ]; then
    say "mpi4py will be compiled against $(command -v "${MPICC:-mpicc}"), which can take minutes"
    # A wheel, even one that pip built and kept earlier, would belong to another MPI.
    export PIP_NO_BINARY=mpi4py PIP_NO_CACHE_DIR=1
fi
# What builds the kernels is installed first and used as it is: building again needs no network.
say "installing packages and compiling the kernels"
.venv/bin/python - >.venv/build-requires.txt <<'END'
import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")
END
{ pip install --requirement .venv/build-requires.txt && pip install --no-build-isolation --editable ".[$extras]"; } ||
    refuse "the environment could not be completed; the lines above say why"
touch .venv/ready
