#!/bin/sh
# The whole bench: peers in a plain and a native caller, rates at 2e8 keys, the command against awk, guard serve.
# Usage: bench/run.sh BUILD_DIR
# LARGE=1 adds 2e8 keys (20 minutes, 8 GB); BENCH_STRICT=1 fails when a peer is missing; BENCH_CPU=1 pins to a CPU.
# Tables on stdout; TSVs, and their summary for docs/benchmarks.md, in BUILD_DIR/results.
set -eu

build=${1:?usage: bench/run.sh BUILD_DIR}
here=$(dirname "$0")
results=$build/results
mkdir -p "$results"

commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git -C "$here" status --porcelain -- ../mankai 2>/dev/null)" ] || commit=$commit+changes
workloads=int-1e5,int-1e7,url-1e7
[ "${LARGE:-0}" != 1 ] || workloads=$workloads,int-2e8
pin=
[ -z "${BENCH_CPU:-}" ] || pin="taskset -c $BENCH_CPU"

status=0
for caller in plain native; do
  # shellcheck disable=SC2086
  $pin "$build/bin/peers_$caller" --workloads "$workloads" --out "$results" --commit "$commit" || status=1
done

echo
echo "measured rates at 2e8 keys"
# shellcheck disable=SC2086
$pin "$build/bin/fpr_large" >"$results/fpr.tsv" || status=1
expand -t 14 "$results/fpr.tsv"

echo
"$here/command.sh" "$build/bin/mankai" "$results" || status=1

echo
"$here/guard_serve.py" "$build/bin/mankai" "$results" || status=1

"$here/summarise.py" "$results" >"$results/summary.md"
echo
echo "tables in $results, as Markdown in $results/summary.md"
exit $status
