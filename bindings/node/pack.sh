#!/usr/bin/env bash
# Packs the package for Node.js that a build made, for npm install. The same content gives the same bytes: its time is fixed, as in the wheel.
# Usage: bindings/node/pack.sh BUILD_DIR/node FOLDER
set -euo pipefail
here="$(dirname "$0")"
version="$(sed -n 's/^  "version": "\(.*\)",/\1/p' "$here/package.json")"
mkdir -p "$2"
tar --create --format=gnu --sort=name --mtime="2020-01-01 00:00:00Z" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
  --transform 's,^[.],package,' --directory "$1" . | gzip --no-name >"$2/mankai-$version.tgz"
