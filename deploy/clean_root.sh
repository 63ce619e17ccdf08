# shellcheck shell=bash
# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# A clean Debian for the checks of packages, which source this file first. Each is started once more as the first process
# of namespaces of its own, where it goes on with $place, a directory to write in, and $root, where the Debian will lie.
set -euo pipefail
if [[ ${1-} != --inside ]]; then
  place=$(mktemp -d /var/tmp/cccl-cached-packages.XXXXXX)
  chmod 755 "$place"
  # Processes and mounts of the part inside end with its first process.
  unshare --mount --pid --fork --kill-child "$0" --inside "$place" "$@" &
  inside=$!
  trap 'kill -KILL "$inside" 2>/dev/null || true; wait "$inside" || true; rm -rf --one-file-system "$place"' EXIT
  trap 'exit 143' TERM INT
  wait "$inside"
  exit
fi
(($$ == 1)) || { echo "${0##*/}: only it itself starts the part inside" >&2; exit 2; }
place=$2 root=$2/root
shift 2
fail() { echo "${0##*/}: $*" >&2; exit 1; }
quietly() { "$@" >"$place/log" 2>&1 || { cat "$place/log" >&2; fail "failed: $*"; }; }
in_root=(chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root)
inside() { "${in_root[@]}" "$@"; }
as_nobody=("${in_root[@]}" setpriv --reuid nobody --regid nogroup --clear-groups env HOME=/tmp)
as_user() { "${as_nobody[@]}" "$@"; }

# make_root SUITE VARIANT CUDA: from this machine's own mirror, with this CUDA in /usr/local/cuda, which needs libstdc++6.
make_root() {
  local suite=$1 variant=$2 cuda here mirror device
  cuda=$(realpath "$3")
  here=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    sed -n "s/^$here //p" | head -n 1)
  [[ $mirror ]] || fail "this machine's apt sources have no $here"
  quietly mmdebstrap --mode=root --variant="$variant" --include=libstdc++6 --skip=cleanup/apt/lists "$suite" "$root" "$mirror"
  mkdir -p "$root/usr/local/cuda"
  mount -o bind,ro "$cuda" "$root/usr/local/cuda"
  mount -t proc proc "$root/proc"
  mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
  for device in null zero full random urandom tty; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  mount -t tmpfs tmpfs "$root/run"
}

# serving COMMAND...: waits until the command says that the process `daemon` serves.
serving() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    "$@" >"$place/health" 2>&1 && return
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
  done
  cat "$place/daemon" "$place/health" >&2
  fail "the daemon does not serve"
}

stop_daemon() {
  kill "$daemon"
  wait "$daemon" || fail "the daemon ended with $?"
}

# expect_build OUTCOME [OPTION]...: how an ordinary user's build of a program ends, by the command line `cli`.
expect_build() {
  local said
  said=$(as_user "${cli[@]}" build - --arch sm_90 -o /dev/null --json "${@:2}" <<<'__global__ void kernel(int* at) { *at = 1; }')
  [[ $(jq -r .outcome <<<"$said") == "$1" ]] || fail "expected a build to be \"$1\": $said"
}
