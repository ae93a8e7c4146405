#!/usr/bin/env bash
# Installs BUILD_DIR into a temporary prefix, moves it, and builds and runs the consumer against it in two ways.
# Usage: tests/consumer/run.sh BUILD_DIR [C++ COMPILER]
set -euo pipefail

build="$(realpath "$1")"
compiler="${2:-g++}"
here="$(realpath "$(dirname "$0")")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

echo "== install, then move: nothing in the tree may remember where it was"
cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/prefix"
if grep -rIl -e "$scratch/first" -e "$build" "$scratch/prefix/lib"; then
  echo "these installed files name the folder they were built or installed in" >&2
  exit 1
fi
if find "$scratch/prefix/include" -name '*_test*' -o -name '*.cpp' | grep .; then
  echo "these files are not public headers" >&2
  exit 1
fi

echo "== CMake package, plain -O2"
cmake -S "$here" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS=-O2 >/dev/null
cmake --build "$scratch/build"
"$scratch/build/consumer"

echo "== pkg-config, plain -O2"
PKG_CONFIG_PATH="$(dirname "$(find "$scratch/prefix" -name mankai.pc)")"
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # the flags are words
"$compiler" -std=c++23 -O2 "$here/consumer.cpp" -o "$scratch/consumer" $(pkg-config --cflags --libs mankai)
"$scratch/consumer"
