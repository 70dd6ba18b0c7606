"""Every table of the paper as a grid of runs; see docs/reproduce.md.

    snakemake --cores 2 --config table=5 profile=smoke
"""

import os
import shutil
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from dicebook.reproduce import grid, runs, tables

TABLE = int(config.get("table", 9))
PROFILE = config.get("profile", "default")
CORPORA = [name for name in str(config.get("corpora", "")).split(",") if name]
WORK = f"runs/grid/{PROFILE}/table{TABLE}"
OUT = config.get("out", f"results/reproduced/{PROFILE}")
DATA = Path(os.environ.get("DICEBOOK_DATA", "data"))
# What frozen layers say of an input is the same for every loss; gone when the table is there.
STATES = Path(WORK) / "states"
# What carries a job out: `python -m RUNNER JOB RECORD [RATES] --states STATES`.
RUNNER = config.get("runner", "dicebook.reproduce.systems")

try:
    ALL = grid.jobs(TABLE, PROFILE)
    JOBS = {job.name: job for job in grid.runnable(ALL, DATA, CORPORA)}
except grid.GridError as error:
    raise WorkflowError(str(error)) from None
ABSENT = [] if CORPORA else grid.missing(ALL, DATA)
if ABSENT:
    print(f"Left out, for they are not in {DATA}:\n{grid.how_to_get(ABSENT, DATA)}", file=sys.stderr)
SEARCHES = {job.searched: job for job in reversed(JOBS.values()) if job.searched}
# A machine's threads are divided among the runs that go on at a time.
GPUS = int(config.get("gpus", 0))
CORES = workflow.resource_settings.cores or 1  # a cluster has no number of its own
AT_A_TIME = min(GPUS or CORES, len(JOBS))
THREADS = max(1, CORES // AT_A_TIME)


RECORDS = [f"{WORK}/{name}/record.json" for name in JOBS]
TABLES = expand("{out}/table{table}.{suffix}", out=OUT, table=TABLE, suffix=["jsonl", "md", "csv"])


localrules:
    all,
    table,


onsuccess:
    shutil.rmtree(STATES, ignore_errors=True)


wildcard_constraints:
    name=".+/[0-9]+",
    searched=".+",


rule all:
    """The runs, too, for a table may have come with the project and its runs have not."""
    input:
        RECORDS,
        TABLES,


rule table:
    """The table beside the paper's."""
    input:
        RECORDS,
    output:
        TABLES,
    run:
        tables.write_table(runs.read_records(*input), TABLE, Path(OUT), PROFILE)
        print(Path(output[1]).read_text())


rule search:
    """The learning rate of one loss, by the validation split."""
    output:
        f"{WORK}/{{searched}}/rates.json",
    log:
        f"{WORK}/{{searched}}/search.log",
    params:
        job=lambda wildcards: SEARCHES[wildcards.searched].text,
    resources:
        gpu=1,
    threads: THREADS
    shell:
        "OMP_NUM_THREADS={threads} {sys.executable} -m {RUNNER} {params.job:q} {output} --states {STATES} > {log} 2>&1"


rule run_system:
    """One system, one corpus, one loss, one seed. A killed one goes on from its last checkpoint."""
    input:
        lambda wildcards: [f"{WORK}/{s}/rates.json" for s in [JOBS[wildcards.name].searched] if s],
    output:
        f"{WORK}/{{name}}/record.json",
    log:
        f"{WORK}/{{name}}/run.log",
    params:
        job=lambda wildcards: JOBS[wildcards.name].text,
    resources:
        gpu=1,
    threads: THREADS
    shell:
        "OMP_NUM_THREADS={threads} {sys.executable} -m {RUNNER} {params.job:q} {output} {input} --states {STATES} > {log} 2>&1"
