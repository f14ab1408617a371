#!/bin/sh
# Unpack a Chromium out of Debian's packages into .browser/, for the tests of the page; nothing is installed, and root is
# not needed.
set -eu
cd "$(dirname "$0")/.."

command -v chromium >/dev/null 2>&1 || [ -e .browser/ready ] || {
    tools/unpack-packages.sh browser "$PWD/.browser" "the tests of the page are skipped" chromium fonts-dejavu-core
    touch .browser/ready
}
