#!/usr/bin/env bash
# Installs the packages of the named sections of tools/apt-packages.txt that are missing.
# Usage: tools/install_dependencies.sh [SECTION...]     (default: build)
# As root it installs them; otherwise it prints the command that does, and exits 1.
set -euo pipefail
export LC_ALL=C

list="$(dirname "$0")/apt-packages.txt"
sections=" ${*:-build} "

for section in $sections; do
  if ! grep -q "^# \[$section\]" "$list"; then
    echo "install_dependencies: no section [$section] in $list; there are:" \
      "$(sed -n 's/^# \[\([a-z]*\)\].*/\1/p' "$list" | tr '\n' ' ')" >&2
    exit 2
  fi
done

mapfile -t wanted < <(awk -v sections="$sections" '
  /^# \[/ { name = $2; gsub(/[][]/, "", name); chosen = index(sections, " " name " ") > 0; next }
  /^#/    { next }
  chosen  { for (i = 1; i <= NF; i++) print $i }' "$list" | sort -u)

if ! command -v dpkg-query >/dev/null; then
  echo "This is not Debian: please see that the equivalents of these are installed: ${wanted[*]}" >&2
  exit 0
fi

mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}") \
  <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' | sort -u))
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

if [[ $(id -u) -ne 0 ]]; then
  echo "Missing packages. Install them with:" >&2
  echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "Installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq </dev/null
apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
