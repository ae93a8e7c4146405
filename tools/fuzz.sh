#!/usr/bin/env bash
# Searches with every fuzz target for FUZZ_SECONDS (60), starting from its committed corpus.
# Usage: tools/fuzz.sh BUILD_DIR
# Targets are the programs NAME_fuzz in BUILD_DIR/fuzz or BUILD_DIR/bin, corpora the folders fuzz/corpus/NAME. New inputs go to
# BUILD_DIR/corpus/NAME, failing ones to BUILD_DIR/failures. `canary_fuzz` hides a bug and must be caught.
set -uo pipefail
cd "$(dirname "$0")/.."
build="$1"
seconds="${FUZZ_SECONDS:-60}"
failures="$build/failures"
mkdir -p "$failures"
failed=0

shopt -s nullglob
targets=("$build"/{fuzz,bin}/*_fuzz)
if [[ ${#targets[@]} -eq 0 ]]; then
  echo "fuzz: no targets in $build: nothing was searched"
  exit 1
fi
for target in "${targets[@]}"; do
  name="$(basename "$target" _fuzz)"
  found="$build/corpus/$name"
  mkdir -p "$found"
  committed=()
  if [[ -d "fuzz/corpus/$name" ]]; then
    committed=("fuzz/corpus/$name")
  fi
  log="$build/$name.log"
  "$target" "$found" "${committed[@]}" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$failures/$name-" >"$log" 2>&1 </dev/null
  status=$?
  runs="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  if [[ "$name" == canary ]]; then
    if [[ $status -eq 0 ]]; then
      echo "fuzz: canary: its bug was NOT found: the fuzzing is blind"
      failed=1
    else
      rm -f "$failures"/canary-*
      echo "fuzz: canary: its bug was found, as it must be"
    fi
  elif [[ $status -ne 0 ]]; then
    echo "fuzz: $name: FAILED; inputs in $failures, log in $log"
    tail -n 30 "$log"
    failed=1
  else
    echo "fuzz: $name: ${runs:-?} runs, nothing found"
  fi
done
exit "$failed"
