# shellcheck shell=sh disable=SC2034
# All that changes from cluster to cluster. Batch scripts read it when they start, and whatever submits them reads it
# before: `--submit` and slurm/chain.sh do, by hand it is `. slurm/site.sh && sbatch slurm/maxprob-800-srun.sh`.

# module load python openmpi

PYTHON=.venv/bin/python  # as all paths, from where the job is submitted
MPIRUN=.venv/bin/mpirun
RUNS=runs                # on a disk that all nodes share

# How srun starts ranks: pmi2 for the MPICH of `make setup`, pmix for many another.
export SLURM_MPI_TYPE=pmi2
# UCX, that MPICH's other choice, now and then says its address in more than the 1,024 characters that Slurm reads.
export MPIR_CVAR_CH4_NETMOD=ofi

# Whatever sbatch should be told besides.
# export SBATCH_PARTITION=... SBATCH_ACCOUNT=...
