#!/bin/sh
# Unpack Debian packages, with what they need that is not installed, below a folder; nothing is installed.
# Called as: unpack-packages.sh NAME FOLDER WITHOUT PACKAGE…; WITHOUT says what becomes of it where that fails.
set -eu
name=$1 here=$2 without=$3
shift 3

command -v apt-get >/dev/null 2>&1 || {
    echo "$name: nothing of it here, and no apt-get to fetch it; $without" >&2
    exit 1
}
echo "$name: fetching Debian's packages into ${here##*/}" >&2
rm -rf "$here"
mkdir -p "$here/apt/lists/partial" "$here/apt/archives/partial" "$here/root/usr"
for folder in bin sbin lib lib64; do # as on the systems of today, where some packages do not know it yet
    mkdir "$here/root/usr/$folder"
    ln -s "usr/$folder" "$here/root/$folder"
done
apt() {
    timeout 300 apt-get -qq -o Dir::State::Lists="$here/apt/lists" -o Dir::Cache="$here/apt" \
        -o Debug::NoLocking=true -o APT::Sandbox::User="$(id -un)" -o Acquire::http::Timeout=10 "$@" >"$here/log" 2>&1
}
{ apt update && apt -y --no-install-recommends --reinstall --download-only install "$@"; } || {
    echo "$name: the packages cannot be fetched: $(tail -n 1 "$here/log"); $without" >&2
    exit 1
}
for package in "$here"/apt/archives/*.deb; do
    dpkg --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$here/root"
done
rm -rf "$here/apt" "$here/log"
