#!/bin/bash
#SBATCH --job-name=maxprob-800
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=384M
#SBATCH --time=00:05:00
#SBATCH --signal=B:USR1@60
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log

# Printed by: yahtzee-cluster slurm --job jobs/maxprob-800.toml --nodes 4 --ranks-per-node 1 --threads 8

. slurm/site.sh || { echo "the site file's last command failed, with code $?" >&2; exit 2; }

srun --kill-on-bad-exit --cpus-per-task=8 "$PYTHON" -m yahtzee_cluster.run --job jobs/maxprob-800.toml --threads 8 --store "$RUNS"/yahtzee-maxprob-800-G5 &
run=$!

# Slurm's warning, or a cancellation: have the ranks commit what they have begun, and leave.
stopped=
trap 'stopped=yes; trap "" USR1 TERM; kill -USR1 "$run"' USR1 TERM
wait "$run"
code=$?
if [ -n "$stopped" ]; then # only the wait is over, not the run
    wait "$run"
    code=$?
fi

# The same script goes on from what was committed. 75 is a stop on request; 2 is wrong usage, and would be wrong again;
# other failures are tried again while the job was restarted less than three times.
case $code in
0 | 2) exit "$code" ;;
75) ;;
*) [ -n "$stopped" ] || [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ] || exit "$code" ;;
esac
# A job that was cancelled is not running any more, and stays cancelled.
if [ "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%T)" = RUNNING ]; then
    echo "exit code $code: requeued, to go on from there" >&2
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
