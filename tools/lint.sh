#!/usr/bin/env bash
# Runs the named parts of the lint, all of them even when one fails.  Usage: tools/lint.sh {format|tree|tidy}...
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0

for part in "$@"; do
  case "$part" in
    format)
      git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.h' |
        xargs -r clang-format-19 --dry-run --Werror || failed=1
      ;;
    tree)
      tools/lint_layers.py || failed=1
      tools/lint.py || failed=1
      ;;
    tidy)
      # clang-tidy reads clang's own flags, so it looks at the clang preset, which need not be built.
      { cmake --preset clang >/dev/null && tools/tidy.py --build build/clang --all --jobs "${JOBS:-$(nproc)}"; } || failed=1
      ;;
    *)
      echo "lint: no part named $part" >&2
      exit 2
      ;;
  esac
done
exit "$failed"
