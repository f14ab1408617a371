#!/bin/sh
# Unpack a Slurm out of Debian's packages into .slurm/, for the tests; nothing is installed, and root is not needed.
set -eu
cd "$(dirname "$0")/.."

[ -x /usr/sbin/slurmctld ] || [ -e .slurm/ready ] || {
    tools/unpack-packages.sh slurm "$PWD/.slurm" "the tests go without" slurm-wlm munge
    touch .slurm/ready
}
