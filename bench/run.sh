#!/bin/sh
# The whole bench: peers in a plain and a native caller, rates at 2e8 keys, layers, commands, guard serve, and, if their
# libraries are given, RedisBloom and bitly's dablooms.
# Usage: bench/run.sh BUILD_DIR
# REDISBLOOM=…/redisbloom.so and DABLOOMS=…/libdablooms.so add these. LARGE=1 adds 2e8 keys (20 minutes, 8 GB);
# BENCH_STRICT=1 fails when a peer is missing; BENCH_CPU=1 pins what has one thread to a CPU.
# Tables on stdout, that of all targets last; results, and their summary for docs/benchmarks.md, in BUILD_DIR/results.
set -eu
trap 'exit 130' INT
trap 'exit 143' TERM

build=$(realpath "${1:?usage: bench/run.sh BUILD_DIR}")
here=$(dirname "$0")
results=$build/results
rm -rf "$results"
mkdir -p "$results"

commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git -C "$here" status --porcelain -- ../mankai 2>/dev/null)" ] || commit=$commit+changes
workloads=${BENCH_WORKLOADS:-int-1e5,int-1e7,url-1e7}
[ "${LARGE:-0}" != 1 ] || workloads=$workloads,int-2e8
pin=
[ -z "${BENCH_CPU:-}" ] || pin="taskset -c $BENCH_CPU"

status=0
exec 3>&1
# part TITLE COMMAND...: its own output may go to a file.
part() {
  printf '\n%s\n' "$1" >&3
  shift
  "$@" || status=1
}
missing() {
  printf 'MISSING\t%s\n' "$1"
  [ "${BENCH_STRICT:-0}" != 1 ] || status=1
}

for caller in plain native; do
  # shellcheck disable=SC2086
  part "peers, $caller caller" $pin "$build/bin/peers_$caller" --workloads "$workloads" --out "$results" \
    --commit "$commit"
done
# shellcheck disable=SC2086
part "measured rates at 2e8 keys" $pin "$build/bin/fpr_large" >"$results/fpr.tsv"
expand -t 14 "$results/fpr.tsv"
# shellcheck disable=SC2086
part "layers" $pin "$build/bin/layers" --benchmark_out="$results/layers.json" \
  --benchmark_filter='^decay/(memcpy|pass/[a-z]+8|skip/.*/epochs:1000)/|^guard/check/unlisted' \
  --benchmark_repetitions=5 --benchmark_min_time=0.1 --benchmark_enable_random_interleaving=true \
  --benchmark_display_aggregates_only=true
part "commands" "$here/commands.py" "$build/bin/mankai" "$results"
part "guard serve" "$here/guard_serve.py" "$build/bin/mankai" "$results"
if [ -n "${REDISBLOOM:-}" ]; then
  part "BF.* beside RedisBloom" "$here/redis/compare.py" --peer "$REDISBLOOM" --only single,engine,grown,memory \
    --module "$build/lib/mankai-redis.so" --json "$results/redis.json"
else
  missing "RedisBloom: set REDISBLOOM"
fi
if [ -n "${DABLOOMS:-}" ]; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  part "durable dablooms.h beside the original" "$build/bin/dablooms_calls" \
    "$build/lib/libmankai_dablooms.so" "$DABLOOMS" "$scratch" 1e5 4e6 >"$results/dablooms.tsv"
  expand -t 14 "$results/dablooms.tsv"
else
  missing "bitly's dablooms: set DABLOOMS"
fi

"$here/summarise.py" "$results" >"$results/summary.md"
echo
sed -n '/^### Targets/,/^### Peers/p' "$results/summary.md" | grep '^|'
echo
echo "tables in $results, as Markdown in $results/summary.md"
exit $status
