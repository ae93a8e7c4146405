#!/usr/bin/env bash
# Cross-builds the layers base, hash and kernel for 64-bit ARM and runs their tests under qemu-user, so that the NEON
# kernels are held to the same answers.  Usage: tools/test_neon.sh [JOBS]
# Compiler and emulator come from section [neon] of tools/apt-packages.txt. The arm64 libraries are unpacked below
# build/neon, through an apt of its own: this machine's package state is left alone and no root is needed.
# MANKAI_NEON_BUILD names another folder; MANKAI_NEON_TESTS a regular expression of the tests to run.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs="${1:-$(nproc)}"
build="$(realpath -m "${MANKAI_NEON_BUILD:-build/neon}")"
tests="${MANKAI_NEON_TESTS:-^(base|hash|kernel)_test$}"
sysroot="$build/sysroot"
packages=(libhwy-dev libhwy1 libxxhash-dev libxxhash0 libsodium-dev libsodium23 libgtest-dev
  libidn2-dev libidn2-0 libpsl-dev libpsl5 libunistring-dev libunistring2
  libisal-dev libisal2 zlib1g-dev zlib1g libzstd-dev libzstd1 liblzma-dev liblzma5
  libsqlite3-dev libsqlite3-0 libpq-dev libpq5 libhiredis-dev libhiredis0.14 libssl-dev libssl3)

for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  if ! command -v "$tool" >/dev/null; then
    echo "test_neon: $tool is missing: tools/install_dependencies.sh neon" >&2
    exit 1
  fi
done

if [[ "$(cat "$sysroot/complete" 2>/dev/null)" != "${packages[*]}" ]]; then
  apt="$build/apt"
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$sysroot"
  : >"$apt/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" \
    >"$apt/sources.list"
  options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
    -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::State::lists="$apt/lists"
    -o Dir::Cache="$apt" -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null)
  apt-get "${options[@]}" update </dev/null
  (cd "$apt/archives" && apt-get "${options[@]}" download "${packages[@]}" </dev/null)
  for archive in "$apt"/archives/*.deb; do
    dpkg-deb --extract "$archive" "$sysroot"
  done
  echo "${packages[*]}" >"$sysroot/complete"
fi

# zlib1g and liblzma5 put their libraries in /lib, the linker's names point there.
libraries="$sysroot/usr/lib/aarch64-linux-gnu:$sysroot/lib/aarch64-linux-gnu"
export PKG_CONFIG_LIBDIR="$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR="$sysroot" PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
export MANKAI_NEON_SYSROOT="$sysroot"
cmake -S . -B "$build/tree" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/tools/aarch64.cmake" -DCMAKE_BUILD_TYPE=Release \
  -DMANKAI_BUILD_APPS=OFF -DMANKAI_BUILD_TESTS=ON >/dev/null
targets="$(ninja -C "$build/tree" -t targets all | sed -n 's/^\([a-z_]*\): phony$/\1/p' | grep -E "$tests" | sort -u)"
if [[ -z "$targets" ]]; then
  echo "test_neon: no test matches $tests" >&2
  exit 1
fi
# shellcheck disable=SC2086 # the targets are words
cmake --build "$build/tree" --parallel "$jobs" --target $targets
QEMU_LD_PREFIX=/usr/aarch64-linux-gnu QEMU_SET_ENV="LD_LIBRARY_PATH=$libraries" \
  ctest --test-dir "$build/tree" --output-on-failure --no-tests=error -R "$tests"
