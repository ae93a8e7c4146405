#!/usr/bin/env bash
# Packs the package for Node.js that a build made, for npm install. The same content gives the same bytes; its time is that of the commit.
# Usage: bindings/node/pack.sh BUILD_DIR/node FOLDER
set -euo pipefail
here="$(dirname "$0")"
version="$(sed -n 's/^  "version": "\(.*\)",/\1/p' "$here/package.json")"
time="${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct)}"
mkdir -p "$2"
tar --create --format=gnu --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
  --transform 's,^[.],package,' --directory "$1" . | gzip --no-name >"$2/mankai-$version.tgz"
