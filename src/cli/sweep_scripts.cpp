#include "cli/sweep_scripts.h"

namespace assay::cli {

// The time limit has a signal of its own, so that a job that was cancelled is not started again.
const char* const kSlurmJob = R"sh(#!/bin/bash
# Written by 'assay sweep submit'. One job measures one shard, with a node for itself.
#SBATCH --job-name=assay-sweep
#SBATCH --array=@ARRAY@
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output="@OUTPUT@/slurm/%A_%a.log"
#SBATCH --chdir="@HERE@"
#SBATCH --signal=B:USR1@60
@ARGUMENTS@
folder=@FOLDER@
journal=$folder/journal/@JOURNAL@
bytes_done() { stat -c %s "$journal" 2>/dev/null || echo 0; }
bytes_before=$(bytes_done)

echo "shard $SLURM_ARRAY_TASK_ID of @SHARDS@ on ${SLURMD_NODENAME:-$(hostname)}, start $((${SLURM_RESTART_COUNT:-0} + 1))"
@ASSAY@ sweep worker "$folder" --shard "$SLURM_ARRAY_TASK_ID/@SHARDS@"@RETRY@ &
worker=$!
time_is_up=no
# The worker finishes the version that it is measuring, and ends.
stop_worker() { signalled=yes; kill -TERM "$worker" 2>/dev/null; }
trap 'time_is_up=yes; stop_worker' USR1
trap stop_worker TERM INT
signalled=yes
while [ $signalled = yes ]; do
  signalled=no
  wait "$worker"
  status=$?
done
if [ $status -eq 0 ] || [ $time_is_up = no ]; then exit $status; fi

# The job goes on later with what is left of its shard, unless its time is too short for a single task.
if [ "$(bytes_done)" -gt "$bytes_before" ] || [ "${SLURM_RESTART_COUNT:-0}" -lt 3 ]; then
  exec scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
echo "no task was finished within the time limit; submit again with a longer --time" >&2
exit 1
)sh";

const char* const kDriveHosts = R"sh(#!/bin/sh
# Written by 'assay sweep submit'. Copies the bundle to each host, measures there, and brings journals back.
here=@HERE@
journals=@JOURNALS@
work=@WORK@            # for the shell of a host
needs=@NEEDS@          # the processor that the bundle is for; empty: any
# Hosts with a common home folder wait for each other.
unpack='if command -v flock >/dev/null; then flock .copy tar -xzf -; else tar -xzf -; fi'
tab=$(printf '\t')
run=$(date -u +run-%Y%m%dT%H%M%S)-$$
mkdir -p "$journals"

# for_each_host WORK: at the same time for all; logins of those it succeeded for are in WORK.done.
for_each_host() {
  : > "$here/$1.done"
  while IFS=$tab read -r name login command; do
    ("$1" "$name" "$command" && echo "1/$login" >> "$here/$1.done") &
  done < "$here/hosts.tsv"
  wait
}

# Adds lines of a host's journals to the copies that were made before, also if that host was set up anew since.
collect() {
  fresh=$(mktemp -d "$here/collect.XXXXXX") || return 1
  $2 "cd $work/plan/journal 2>/dev/null || exit 0; ls | grep -v ^known | tar -cf - -T -" \
    < /dev/null > "$fresh/all.tar" || { rm -r "$fresh"; return 1; }
  if [ -s "$fresh/all.tar" ]; then tar -C "$fresh" -xf "$fresh/all.tar"; fi
  for file in "$fresh"/*.jsonl; do
    [ -e "$file" ] || continue
    known=$journals/$1.$(basename "$file")
    touch "$known"
    awk '!seen[$0]++' "$known" "$file" > "$fresh/both" && mv "$fresh/both" "$known"
  done
  rm -r "$fresh"
}

copy() {
  machine=$($2 'uname -m' < /dev/null) || { echo "$1: cannot be reached; it is left out" >&2; return 1; }
  if [ -n "$needs" ] && [ "$machine" != "$needs" ]; then
    echo "$1: is $machine, and this program is for $needs; install assay there and use --remote-assay" >&2
    return 1
  fi
  $2 "mkdir -p $work && cd $work && $unpack" < "$here/bundle.tar.gz" ||
    { echo "$1: cannot be copied to; it is left out" >&2; return 1; }
}

trap : INT TERM   # parallel stops; what was measured is still brought back
for_each_host collect 2>/dev/null   # what an earlier run left there
cat "$journals"/*.jsonl > "$here/known.jsonl" 2>/dev/null
mv "$here/known.jsonl" "$here/bundle/plan/journal/known.jsonl"
tar -C "$here/bundle" --exclude='*.lock' -czhf "$here/bundle.tar.gz" . || exit 1
for_each_host copy
if [ ! -s "$here/copy.done" ]; then echo "no host can be used" >&2; exit 1; fi

parallel --will-cite --sshloginfile "$here/copy.done" --jobs 1 --retries 3 --joblog "$here/$run.joblog" \
  --results "$journals/$run-{}.jsonl" "sh $work/run_shard {} @SHARDS@" ::: @LEFT@ > /dev/null
status=$?
for_each_host collect
# Where all hosts gave back what they hold, these copies are not needed.
if [ "$(wc -l < "$here/collect.done")" -eq "$(wc -l < "$here/hosts.tsv")" ]; then rm -f "$journals/$run"-*.jsonl; fi
rm -f "$journals/$run"-*.err "$journals/$run"-*.seq
exit $status
)sh";

// The journal is its output, so that it comes back without another connection.
const char* const kRunShard = R"sh(#!/bin/sh
# run_shard I N: measures shard I of N, and prints its journal.
cd "$(dirname "$0")" || exit 1
@ASSAY@ sweep worker plan --shard "$1/$2"@RETRY@ >&2
status=$?
journal=plan/journal/shard-$1-of-$2.jsonl
[ "$2" -eq 1 ] && journal=plan/journal/results.jsonl
[ -e "$journal" ] && cat "$journal"
exit $status
)sh";

}  // namespace assay::cli
