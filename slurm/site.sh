# shellcheck shell=sh disable=SC2034
# The settings of the cluster. Batch scripts read this file when they start; `--submit` and slurm/chain.sh read it before
# they submit one. To submit one by hand: `. slurm/site.sh && sbatch slurm/maxprob-800-srun.sh`.

# module load python openmpi

PYTHON=.venv/bin/python  # paths are relative to the directory from which a job is submitted
MPIRUN=.venv/bin/mpirun
RUNS=runs                # on a disk that all nodes share

# How srun starts ranks: pmi2 for the MPICH of `make setup`, pmix for most others.
export SLURM_MPI_TYPE=pmi2
# The addresses of UCX, the other choice of that MPICH, are sometimes longer than the 1,024 characters that Slurm reads.
export MPIR_CVAR_CH4_NETMOD=ofi

# Further options of sbatch.
# export SBATCH_PARTITION=... SBATCH_ACCOUNT=...
