#!/bin/sh
# `mankai dedup` against awk '!seen[$0]++' on generated URLs: throughput and peak memory, interleaved, medians.
# Usage: bench/command.sh MANKAI RESULTS_DIR [COUNT]
# Writes RESULTS_DIR/command.tsv and prints it. BENCH_RUNS=3; BENCH_STRICT=1 fails when a program is missing.
set -eu

mankai=${1:?usage: bench/command.sh MANKAI RESULTS_DIR [COUNT]}
results=${2:?usage: bench/command.sh MANKAI RESULTS_DIR [COUNT]}
count=${3:-5000000}
runs=${BENCH_RUNS:-3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

missing() {
  printf 'MISSING\t%s\n' "$1" | tee -a "$results/command.tsv"
  [ "${BENCH_STRICT:-0}" != 1 ] || status=1
}

# once NAME COMMAND...: seconds, kilobytes at most and lines written, appended to the name's samples.
once() {
  name=$1
  shift
  command time -f '%e %M' -o "$scratch/time" "$@" <"$scratch/urls" >"$scratch/out" || return 1
  printf '%s %s\n' "$(cat "$scratch/time")" "$(wc -l <"$scratch/out")" >>"$scratch/$name"
}

# median NAME COLUMN
median() {
  cut -d ' ' -f "$2" "$scratch/$1" | sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

: >"$results/command.tsv"
if [ ! -x "$mankai" ]; then
  missing "$mankai is not built"
  exit $status
fi
"$mankai" gen urls --count "$count" --seed 1 >"$scratch/urls"
printf '# %s URLs, %s bytes, %s different; medians of %s runs\n' "$count" "$(wc -c <"$scratch/urls")" \
  "$(LC_ALL=C sort -u "$scratch/urls" | wc -l)" "$runs" | tee -a "$results/command.tsv"

awks=
for awk in mawk gawk; do
  if command -v $awk >/dev/null; then
    awks="$awks $awk"
  else
    missing $awk
  fi
done
for run in $(seq "$runs"); do
  once mankai "$mankai" dedup --keys 10M || { missing "mankai dedup failed in run $run"; exit 1; }
  for awk in $awks; do
    once "$awk" "$awk" '!seen[$0]++'
  done
done

printf 'program\tseconds\tlines_per_second\tpeak_kb\tlines_out\tthroughput_ratio\tmemory_share\toutcome\n' \
  >>"$results/command.tsv"
for name in mankai $awks; do
  awk -v name="$name" -v count="$count" -v seconds="$(median "$name" 1)" -v kb="$(median "$name" 2)" \
    -v lines="$(median "$name" 3)" -v our_seconds="$(median mankai 1)" -v our_kb="$(median mankai 2)" 'BEGIN {
      faster = seconds / our_seconds
      share = our_kb / kb
      outcome = name == "mankai" ? "" : faster >= 5 && share <= 0.1 ? "met" : "MISSED"
      printf "%s\t%.2f\t%d\t%d\t%d\t%.2f\t%.3f\t%s\n", name, seconds, count / seconds, kb, lines, faster, share, outcome
    }' >>"$results/command.tsv"
done
echo "dedup against awk: wanted 5 times the throughput in a tenth of the memory"
grep -v '^#' "$results/command.tsv" | expand -t 18
exit $status
