#!/bin/bash
# Plan, solve, verify and report, each as a job that waits until the one before it has succeeded:
#   slurm/chain.sh JOB STORE NODES RANKS_PER_NODE [more flags of `yahtzee-cluster slurm`]
set -euo pipefail
[ $# -ge 4 ] || {
    echo "usage: slurm/chain.sh JOB STORE NODES RANKS_PER_NODE [more flags of \`yahtzee-cluster slurm\`]" >&2
    exit 2
}
job=$1 store=$2 nodes=$3 ranks_per_node=$4
shift 4
. slurm/site.sh
solver=$("$PYTHON" -m yahtzee_cluster slurm --job "$job" --store "$store" --nodes "$nodes" \
    --ranks-per-node "$ranks_per_node" "$@")

queue() { # name, flags of sbatch; prints the number of the job
    local id
    id=$(sbatch --parsable --job-name="$1" --kill-on-invalid-dep=yes "${@:2}")
    echo "${id%%;*}"
}
small() { # name, a command of the shell, flags of sbatch; as queue
    queue "$1" --ntasks=1 --mem=1G --time=01:00:00 --output=%x-%j.log --wrap ". slurm/site.sh && \"\$PYTHON\" -m $2" "${@:3}"
}
after() { echo "--dependency=afterok:$1"; }

plan=$(small plan "yahtzee_cluster.plan --job ${job@Q} --ranks $((nodes * ranks_per_node))")
solve=$(queue solve "$(after "$plan")" <<<"$solver")
verify=$(small verify "yahtzee_cluster verify --store ${store@Q}" "$(after "$solve")")
# A run that finds everything done computes nothing, and prints the result.
report=$(small report "yahtzee_cluster.run --job ${job@Q} --store ${store@Q}" "$(after "$verify")")
echo "plan $plan, solve $solve, verify $verify, report $report"
