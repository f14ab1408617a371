#!/bin/sh
# Unpack a Slurm out of Debian's packages into .slurm/, for the tests; nothing is installed, and root is not needed.
set -eu
cd "$(dirname "$0")/.."
here=$PWD/.slurm

[ -x /usr/sbin/slurmctld ] || [ -e "$here/ready" ] || {
    command -v apt-get >/dev/null 2>&1 || {
        echo "slurm: no Slurm here, and no apt-get to fetch one; the tests go without" >&2
        exit 1
    }
    echo "slurm: fetching Debian's packages into .slurm" >&2
    rm -rf "$here"
    mkdir -p "$here/apt/lists/partial" "$here/apt/archives/partial" "$here/root"
    apt() {
        timeout 120 apt-get -qq -o Dir::State::Lists="$here/apt/lists" -o Dir::Cache="$here/apt" \
            -o Debug::NoLocking=true -o APT::Sandbox::User="$(id -un)" -o Acquire::http::Timeout=10 "$@" >"$here/log" 2>&1
    }
    { apt update && apt -y --no-install-recommends --download-only install slurm-wlm munge; } || {
        echo "slurm: the packages cannot be fetched: $(tail -n 1 "$here/log"); the tests go without" >&2
        exit 1
    }
    for package in "$here"/apt/archives/*.deb; do
        dpkg -x "$package" "$here/root"
    done
    rm -rf "$here/apt" "$here/log"
    touch "$here/ready"
}
