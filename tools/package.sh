#!/usr/bin/env bash
# Builds the Debian packages, their SBOM and their checksums into build/packages. The same commit gives the same bytes in any folder.
# Usage: tools/package.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH

# A ccache with a base_dir gives the compiler paths relative to build-deb, of which the preset's -ffile-prefix-map=../= makes the same
# names as of whole paths.
cmake --preset package >/dev/null
cmake --build --preset package --parallel "${1:-$(nproc)}"
rm -rf build/packages build-deb/cpack
mkdir -p build/packages
cpack --config build-deb/CPackConfig.cmake -B build-deb/cpack >build-deb/cpack.log || {
  cat build-deb/cpack.log >&2
  exit 1
}
mv build-deb/cpack/*.deb build/packages
tools/sbom.py build-deb build/packages
cd build/packages
sha256sum -- *.deb *.json | tee SHA256SUMS
