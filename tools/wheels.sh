#!/bin/sh
# Build a manylinux wheel of the last commit for each of the Pythons in PYTHONS that is here, try it in an empty
# environment, and put it into dist/.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
for python in ${PYTHONS:-python3.11 python3.12 python3.13 python3.14}; do
    "$python" -c '' 2>/dev/null || {
        echo "wheels: no $python here" >&2
        continue
    }
    rm -rf build/wheel
    mkdir -p build/wheel/sources dist
    git archive HEAD | tar -x -C build/wheel/sources
    "$python" -m pip --quiet --disable-pip-version-check wheel --no-deps --wheel-dir build/wheel build/wheel/sources
    auditwheel repair --strip --wheel-dir build/wheel/repaired build/wheel/*.whl
    tools/try-wheel.sh build/wheel/repaired/*.whl "$python"
    mv build/wheel/repaired/*.whl dist
done
