"""Every table of the paper as a grid of papermill runs; see docs/reproduce.md.

    snakemake --cores 2 --config table=5 profile=smoke
"""

import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from dicebook.reproduce import grid, runs, tables

TABLE = int(config.get("table", 5))
PROFILE = config.get("profile", "default")
WORK = f"runs/grid/{PROFILE}/table{TABLE}"
OUT = config.get("out", f"results/reproduced/{PROFILE}")

try:
    JOBS = {job.name: job for job in grid.jobs(TABLE, PROFILE)}
    grid.check(JOBS.values(), Path(os.environ.get("DICEBOOK_DATA", "data")))
except grid.GridError as error:
    raise WorkflowError(str(error)) from None


def records():
    """The record of every job."""
    return [f"{WORK}/{job.name}/{job.record}" for job in JOBS.values()]


def job_of(wildcards):
    """The job that a folder belongs to."""
    return JOBS[f"{wildcards.corpus}/{wildcards.loss}/{wildcards.seed}"]


localrules:
    table,


wildcard_constraints:
    corpus="[^/]+",
    loss="[^/]+",
    seed="[0-9]+",


rule table:
    """The table beside the paper's."""
    input:
        records(),
    output:
        expand("{out}/table{table}.{suffix}", out=OUT, table=TABLE, suffix=["jsonl", "md", "csv", "html"]),
    run:
        tables.write_table(runs.read_records(*input), TABLE, Path(OUT))
        print(Path(output[1]).read_text())


rule run_chapter:
    """One loss, one corpus, one seed. A killed one goes on from its last checkpoint."""
    input:
        lambda wildcards: f"notebooks/{job_of(wildcards).chapter}.ipynb",
    output:
        f"{WORK}/{{corpus}}/{{loss}}/{{seed}}/{{name}}/record.json",
    log:
        notebook=f"{WORK}/{{corpus}}/{{loss}}/{{seed}}/{{name}}.ipynb",
    params:
        arguments=lambda wildcards: job_of(wildcards).arguments(
            f"{WORK}/{job_of(wildcards).name}"
        ),
        python=sys.executable,
    resources:
        gpu=1,
    threads: 1
    shell:
        "OMP_NUM_THREADS={threads} {params.python} -m papermill --no-progress-bar --cwd . "
        "{input} {log.notebook} {params.arguments:q} > /dev/null"
