#!/usr/bin/env bash
# Builds the packages twice, in two folders, compares them byte by byte, and tests them: lintian, the bill of materials, and a clean root in
# which they are installed, upgraded and purged. The second build compiles everything again, without ccache. Usage: tests/packages/run.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/../.."
jobs="${1:-$(nproc)}"
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

echo "== packages: build"
tools/package.sh "$jobs" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
cat build/packages/SHA256SUMS

echo "== packages: lintian"
lintian --allow-root --no-tag-display-limit --fail-on error build/packages/*.deb

echo "== packages: bill of materials"
python3 -B tests/packages/sbom_test.py build/packages

echo "== packages: in a clean root"
skipped=0
python3 -B tests/packages/clean_root_test.py build/packages || skipped=$?
if [[ $skipped -ne 0 && $skipped -ne 77 ]]; then
  exit 1
fi

echo "== packages: built again in another folder, without ccache"
mkdir -p "$scratch/some/other_folder"
git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create --ignore-failed-read |
  tar --extract --directory "$scratch/some/other_folder"
CCACHE_DISABLE=1 "$scratch/some/other_folder/tools/package.sh" "$jobs" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
diff build/packages/SHA256SUMS "$scratch/some/other_folder/build/packages/SHA256SUMS"
echo "the packages are equal"
