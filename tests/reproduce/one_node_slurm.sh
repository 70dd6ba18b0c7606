#!/usr/bin/env bash
# A SLURM cluster of one node with two pretended GPUs, in a folder of its own, until this ends.
#
#     one_node_slurm.sh FOLDER COMMAND...     runs the command with SLURM_CONF set
set -euo pipefail
folder=$1
shift
PATH=$PATH:/usr/sbin
host=$(hostname -s)
user=$(id -un)
mkdir -p "$folder"/{state,spool,log}
touch "$folder"/gpu{0,1}

cat > "$folder/slurm.conf" << END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${SLURM_TEST_PORT:-16817}
SlurmdPort=$((${SLURM_TEST_PORT:-16817} + 1))
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/slurmd
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
MinJobAge=86400
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 RealMemory=64000 Gres=gpu:2
PartitionName=main Nodes=$host Default=YES State=UP
END
echo "Name=gpu File=$folder/gpu[0-1]" > "$folder/gres.conf"
echo "CgroupAutomount=no" > "$folder/cgroup.conf"

head -c 1024 /dev/urandom > "$folder/munge.key"
chmod 600 "$folder/munge.key"
export SLURM_CONF=$folder/slurm.conf
munged --foreground --force --num-threads=2 --key-file="$folder/munge.key" \
    --socket="$folder/munge.socket" --pid-file="$folder/munge.pid" \
    --seed-file="$folder/munge.seed" --log-file="$folder/log/munged" &
# A job step of Snakemake drops SLURM_CONF, so the file must lie where SLURM looks for it.
default=/etc/slurm/slurm.conf
ln -s "$SLURM_CONF" $default
trap 'rm -f $default; kill $(jobs -p) 2> /dev/null; wait' EXIT
until [ -S "$folder/munge.socket" ]; do sleep 0.1; done
slurmctld -D > "$folder/log/slurmctld.out" 2>&1 &
slurmd -D -N "$host" > "$folder/log/slurmd.out" 2>&1 &
for _ in $(seq 300); do
    [ "$(sinfo --noheader --format=%t 2> /dev/null)" = idle ] && break
    sleep 0.1
done
[ "$(sinfo --noheader --format=%t)" = idle ] || { cat "$folder"/log/* >&2; exit 70; }
"$@"
