#!/bin/bash
# Plan, solve, verify and report, each as a job that waits until the one before it has succeeded:
#   slurm/chain.sh JOB STORE NODES RANKS_PER_NODE [more flags of `yahtzee-cluster slurm`]
# All four are submitted or none: if sbatch refuses one, those before it are cancelled. SITE names another site file.
set -euo pipefail
shopt -s inherit_errexit
[ $# -ge 4 ] || {
    echo "usage: slurm/chain.sh JOB STORE NODES RANKS_PER_NODE [more flags of \`yahtzee-cluster slurm\`]" >&2
    exit 2
}
job=$1 store=$2 nodes=$3 ranks_per_node=$4 site=${SITE:-slurm/site.sh}
shift 4
for flag; do # all four jobs must be about the same run; argparse takes a flag for its beginning
    for known in --job --store --nodes --ranks-per-node --site --submit; do
        if [[ $flag == --?* && $known == "${flag%%=*}"* ]]; then
            echo "slurm/chain.sh: $flag: not here; JOB, STORE, NODES, RANKS_PER_NODE and SITE say it for all four jobs" >&2
            exit 2
        fi
    done
done
case $site in */*) ;; *) site=./$site ;; esac # the shell looks for plain names on PATH
[ -f "$site" ] || {
    echo "slurm/chain.sh: $site: no such site file; SITE names another" >&2
    exit 2
}
# shellcheck source=slurm/site.sh
. "$site" || {
    echo "slurm/chain.sh: $site: its last command failed, with code $?" >&2
    exit 2
}
command -v sbatch >/dev/null || {
    echo "slurm/chain.sh: no sbatch on PATH; submit where Slurm is" >&2
    exit 2
}
command -v "${PYTHON:-}" >/dev/null || {
    echo "slurm/chain.sh: $site: PYTHON names no program, but '${PYTHON:-}'" >&2
    exit 2
}
solver=$("$PYTHON" -m yahtzee_cluster slurm --job "$job" --store "$store" --nodes "$nodes" \
    --ranks-per-node "$ranks_per_node" --site "$site" "$@")
ranks=$((10#$nodes * 10#$ranks_per_node)) # by now they are whole numbers, perhaps with zeros before them

submitted=()
refuse() { # a reason; cancels what was submitted
    local cancelled=
    if [ ${#submitted[@]} -gt 0 ]; then
        cancelled="; cancelled ${submitted[*]}"
        scancel "${submitted[@]}" 2>/dev/null || cancelled="; cancel ${submitted[*]} with scancel"
    fi
    echo "slurm/chain.sh: $1$cancelled" >&2
    exit 2
}
queue() { # name, flags of sbatch
    local said code=0 line numbers=()
    said=$(sbatch --parsable --job-name="$1" --kill-on-invalid-dep=yes "${@:2}" 2>&1) || code=$?
    while read -r line; do # a line of its own, among what sbatch may remark; the name of a cluster may follow
        [[ $line =~ ^([1-9][0-9]*)(\;.*)?$ ]] && numbers+=("${BASH_REMATCH[1]}")
    done <<<"$said"
    said=${said//[^[:print:]]/ }
    [ "$code" = 0 ] || refuse "$1: sbatch fails with code $code: $said"
    [[ ${#numbers[@]} = 1 && " ${submitted[*]} " != *" ${numbers[0]} "* ]] ||
        refuse "$1: sbatch gives no number of a job: $said"
    submitted+=("${numbers[0]}")
}
small() { # name, a command of the shell, flags of sbatch; as queue
    queue "$1" --ntasks=1 --mem=1G --time=01:00:00 --output=%x-%j.log --wrap ". ${site@Q} && \"\$PYTHON\" -m $2" "${@:3}"
}
after() { echo "--dependency=afterok:${submitted[-1]}"; }

trap 'refuse interrupted' INT TERM
small plan "yahtzee_cluster.plan --job ${job@Q} --ranks $ranks"
queue solve "$(after)" <<<"$solver"
small verify "yahtzee_cluster verify --store ${store@Q}" "$(after)"
# A run that finds everything done computes nothing, and prints the result.
small report "yahtzee_cluster.run --job ${job@Q} --store ${store@Q}" "$(after)"
echo "plan ${submitted[0]}, solve ${submitted[1]}, verify ${submitted[2]}, report ${submitted[3]}"
