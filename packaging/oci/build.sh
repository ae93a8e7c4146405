#!/usr/bin/env bash
# Makes two OCI images of the packages in build/packages: mankai (`mankai guard serve`) and mankai-redis (redis-server with the module).
# They are written to build/images as oci-archives, which podman, docker (through skopeo) and Kubernetes' nodes load.
# Needs root, mmdebstrap, buildah and the mirror of apt, but no daemon and no registry. Usage: packaging/oci/build.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
umask 022
export LC_ALL=C

skip() {
  echo "SKIPPED: $1: no image was made" >&2
  exit 77
}
[[ $(id -u) -eq 0 ]] || skip "this is not root"
for tool in mmdebstrap buildah; do
  command -v "$tool" >/dev/null || skip "$tool is missing (apt-get install $tool)"
done

SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
packages="$(realpath build/packages)"
version="$(dpkg-deb --field "$packages"/mankai_*.deb Version)"
scratch="$(mktemp -d)"
export CONTAINERS_STORAGE_CONF="$scratch/storage.conf"
printf '[storage]\ndriver = "vfs"\nrunroot = "%s/run"\ngraphroot = "%s/graph"\n' "$scratch" "$scratch" >"$CONTAINERS_STORAGE_CONF"
trap 'rm -rf "$scratch"' EXIT
mkdir -p build/images

# root_of PACKAGE INCLUDE...: a tar of the smallest Debian with the package and what it depends on.
root_of() {
  local package="$1" deb depends
  shift
  deb="$(echo "$packages/${package}"_*.deb)"
  depends="$(dpkg-deb --field "$deb" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/ //g')"
  local sources
  for sources in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
    [[ -s "$sources" ]] && break
  done
  # shellcheck disable=SC1091,SC2016 # $1 is the root, in the hooks
  mmdebstrap --quiet --variant=essential --include="$(printf '%s\n' "$depends" "$@" | paste -sd,)" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --customize-hook="copy-in $deb /tmp" \
    --customize-hook='chroot "$1" sh -c "dpkg --install /tmp/*.deb >/dev/null && rm /tmp/*.deb"' \
    --customize-hook='rm -rf "$1"/var/lib/apt "$1"/var/cache/* "$1"/var/log/*' \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$scratch/$package.tar" "$sources"
}

# image PACKAGE CONFIG...: an image of that root, with the options of `buildah config`.
image() {
  local package="$1" container
  shift
  container="$(buildah from --name "$package" scratch)"
  buildah add --quiet "$container" "$scratch/$package.tar" / >/dev/null
  buildah config --created-by packaging/oci/build.sh --label org.opencontainers.image.version="$version" \
    --label org.opencontainers.image.licenses=Apache-2.0 --author "" "$@" "$container"
  buildah commit --quiet --timestamp "$SOURCE_DATE_EPOCH" "$container" "$package:$version" >/dev/null
  rm -f "build/images/$package.tar"
  buildah push --quiet "$package:$version" "oci-archive:build/images/$package.tar:$package:$version"
}

# try PACKAGE WORDS...: runs words in the image.
try() {
  local container
  container="$(buildah from "$1:$version")"
  shift
  buildah run --isolation chroot "$container" -- "$@"
}

echo "== image mankai"
root_of mankai
image mankai --user 65534:65534 --port 8080 --workingdir / --stop-signal SIGTERM \
  --entrypoint '["mankai","guard","serve","--listen","0.0.0.0:8080"]' --cmd /var/lib/mankai/blocked.mkg
try mankai sh -ec 'cd /tmp; echo evil.example >list; mankai guard build blocked.mkg list >/dev/null
  mankai guard serve blocked.mkg --listen 127.0.0.1:0 >log & server=$!
  until grep -q http log; do kill -0 $server; sleep 0.1; done
  kill $server; wait $server
  mankai guard check blocked.mkg http://evil.example/a'

echo "== image mankai-redis"
root_of mankai-redis redis-server redis-tools
image mankai-redis --user redis --port 6379 --workingdir /var/lib/redis --volume /var/lib/redis --stop-signal SIGTERM \
  --entrypoint '["redis-server","--loadmodule","/usr/lib/mankai/mankai-redis.so"]' --cmd ''
try mankai-redis sh -ec 'redis-server --loadmodule /usr/lib/mankai/mankai-redis.so --port 0 --unixsocket /tmp/redis.sock --daemonize yes >/dev/null
  until redis-cli -s /tmp/redis.sock ping >/dev/null 2>&1; do sleep 0.1; done
  test "$(redis-cli -s /tmp/redis.sock BF.ADD seen a)" = 1; redis-cli -s /tmp/redis.sock shutdown nosave'

ls -l build/images
