#!/usr/bin/env bash
# Installs BUILD_DIR into a temporary prefix, moves it, and builds and runs programs against it: C++ and C, each by its CMake
# package and by pkg-config.  Usage: tests/consumer/run.sh BUILD_DIR [C++ COMPILER [C COMPILER]]
set -euo pipefail

build="$(realpath "$1")"
compiler="${2:-g++}"
c_compiler="${3:-gcc}"
here="$(realpath "$(dirname "$0")")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

echo "== install, then move: nothing in the tree may remember where it was, but units and settings"
cmake --install "$build" --prefix "$scratch/first" >/dev/null
for unit in "$scratch"/first/lib/systemd/system/*.service; do
  if [[ -e "$unit" ]] && ! grep -q "^ExecStart=$scratch/first/bin/mankai " "$unit"; then
    echo "$unit does not start the command of the prefix that it was installed into" >&2
    exit 1
  fi
done
if command -v systemd-analyze >/dev/null && [[ -e "$unit" ]]; then
  systemd-analyze --man=no verify "$scratch"/first/lib/systemd/system/mankai-guard*
fi
mv "$scratch/first" "$scratch/prefix"
if grep -rIl --exclude-dir=systemd -e "$scratch/first" -e "$build" "$scratch/prefix/lib"; then
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
if [[ -x "$scratch/build/gate" ]]; then
  (cd "$scratch" && "$scratch/build/gate")
fi

echo "== pkg-config, plain -O2"
PKG_CONFIG_PATH="$(dirname "$(find "$scratch/prefix" -name mankai.pc)")"
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # the flags are words
"$compiler" -std=c++23 -O2 "$here/consumer.cpp" -o "$scratch/consumer" $(pkg-config --cflags --libs mankai)
"$scratch/consumer"
if pkg-config --exists mankai-database; then
  # shellcheck disable=SC2046
  "$compiler" -std=c++23 -O2 "$here/gate.cpp" -o "$scratch/gate" $(pkg-config --cflags --libs mankai-database)
  (cd "$scratch" && "$scratch/gate")
fi

echo "== C, CMake package: no C++, and none of its libraries"
cmake -S "$here/c" -B "$scratch/c_build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_C_COMPILER="$c_compiler" >/dev/null
cmake --build "$scratch/c_build"
"$scratch/c_build/dablooms_test" "$scratch"
"$scratch/c_build/mankai_test" "$scratch"

echo "== C, pkg-config: the programs of docs/c.md, and one for dablooms"
lib="$(dirname "$PKG_CONFIG_PATH")"
c_flags=(-std=c99 -O2 -Wall -Wextra -Wpedantic -Werror)
for name in seen blocked; do
  awk -v file="/* $name.c */" '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside { block = block $0 "\n"; next }
    { if (index(block, file)) printf "%s", block; block = "" }' "$here/../../docs/c.md" >"$scratch/$name.c"
  # shellcheck disable=SC2046
  "$c_compiler" "${c_flags[@]}" "$scratch/$name.c" -o "$scratch/$name" $(pkg-config --cflags --libs mankai-c)
done
# shellcheck disable=SC2046
"$c_compiler" "${c_flags[@]}" "$here/../c/dablooms_test.c" -o "$scratch/dablooms" \
  $(pkg-config --cflags --libs mankai-dablooms)
export LD_LIBRARY_PATH="$lib"
"$scratch/dablooms" "$scratch"
first="$(printf 'a\nb\na\n' | "$scratch/seen" "$scratch/seen.mk")"
second="$(printf 'b\nc\n' | "$scratch/seen" "$scratch/seen.mk")"
[[ "$first" == $'a\nb' && "$second" == c ]]
printf '0.0.0.0 ads.example\n' >"$scratch/hosts.txt"
third="$(printf 'http://www.ads.example/x\nHTTP://ok.EXAMPLE\n' | "$scratch/blocked" "$scratch/hosts.txt")"
[[ "$third" == http://ok.example/ ]]
