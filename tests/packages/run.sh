#!/usr/bin/env bash
# Builds the packages twice, in two folders, compares them byte by byte, and tests them: lintian, the bill of materials, and a clean root in
# which they are installed, upgraded and purged. The packages for Python and Node.js, where they are built, are compared as a wheel and as a
# .tgz too. The second build compiles everything again, without ccache. Usage: tests/packages/run.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/../.."
jobs="${1:-$(nproc)}"
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# build TREE SUMS: makes all packages of a tree and writes their sums.
build() {
  "$1/tools/package.sh" "$jobs" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
  if [[ -e $1/build-deb/python/mankai/_core.abi3.so ]]; then
    python3 -B "$1/bindings/python/wheel_backend.py" "$1/build-deb/python/mankai/_core.abi3.so" "$1/build/packages" >/dev/null
  fi
  if [[ -e $1/build-deb/node/mankai.node ]]; then
    "$1/bindings/node/pack.sh" "$1/build-deb/node" "$1/build/packages"
  fi
  (cd "$1/build/packages" && sha256sum -- *.*) >"$2"
}

echo "== packages: build"
build . "$scratch/sums"
cat "$scratch/sums"

echo "== packages: lintian"
lintian --allow-root --tag-display-limit 0 --fail-on error build/packages/*.deb

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
CCACHE_DISABLE=1 build "$scratch/some/other_folder" "$scratch/sums_again"
diff "$scratch/sums" "$scratch/sums_again"
echo "the packages are equal"
