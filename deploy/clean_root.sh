# shellcheck shell=bash
# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# A clean Debian for the checks of packages, which source this file first. It starts the check again
# as the first process of new namespaces. There the check continues, with $place, a directory to
# write in, and $root, the directory of the Debian.
set -euo pipefail
if [[ ${1-} != --inside ]]; then
  place=$(mktemp -d /var/tmp/cccl-cached-packages.XXXXXX)
  chmod 755 "$place"
  # Processes and mounts inside the namespaces end with their first process.
  unshare --mount-proc --pid --fork --kill-child "$0" --inside "$place" "$@" &
  inside=$!
  # The control groups of a booted Debian stay after its end.
  remove_groups() {
    [[ -d $place/groups ]] || return 0
    unshare --mount bash -c 'mount -t cgroup2 cgroup2 "$0/groups" && cd "$0/groups/$(<"$0/group")" || exit 0
      for ((tries = 0; tries < 100; ++tries)); do
        grep -q "populated 0" cgroup.events && find "$PWD" -depth -type d -exec rmdir {} + && exit
        sleep 0.1
      done' "$place"
  }
  trap 'kill -KILL "$inside" 2>/dev/null || true; wait "$inside" || true; remove_groups; rm -rf --one-file-system "$place"' EXIT
  trap 'exit 143' TERM INT
  wait "$inside"
  exit
fi
(($$ == 1)) || { echo "${0##*/}: only it itself starts the part inside" >&2; exit 2; }
place=$2 root=$2/root
shift 2
fail() { echo "${0##*/}: $*" >&2; exit 1; }
set -E
trap 'echo "${0##*/}: line $LINENO failed: $BASH_COMMAND" >&2' ERR
quietly() { "$@" >"$place/log" 2>&1 || { cat "$place/log" >&2; fail "failed: $*"; }; }

# make_both BUILD_DIR [PREVIOUS]: makes Debian packages: that before an upgrade in
# $place/before, copied from PREVIOUS if given, and that of `version` in $place/after.
make_both() {
  local suffix=''
  if [[ ${2-} ]]; then
    mkdir "$place/before"
    cp "$2"/*.deb "$place/before"
    suffix=+check # PREVIOUS may have the same version
  else
    make_package 0.0.1 "$1" "$place/before"
  fi
  version=$(sed -n 's/^CCCL_CACHED_VERSION:INTERNAL=//p' "$1/CMakeCache.txt")
  make_package "$version$suffix" "$1" "$place/after"
  version=$(dpkg-deb --field "$place"/after/*.deb Version)
}
make_package() { # make_package VERSION BUILD_DIR FOLDER
  quietly "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/pack_bundle" --quick --version "$1" "$2" "$3" deb
}

enter_by() { # enter_by COMMAND...: runs later commands in the root by means of COMMAND
  in_root=("$@" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root)
  as_nobody=("${in_root[@]}" setpriv --reuid nobody --regid nogroup --clear-groups env HOME=/tmp)
}
enter_by chroot "$root"
inside() { "${in_root[@]}" "$@"; }
as_user() { "${as_nobody[@]}" "$@"; }

# make_root SUITE VARIANT CUDA [PACKAGES]: makes the Debian from this machine's mirror, with this
# CUDA, a toolkit or a directory of wheels, in /usr/local/cuda. CUDA needs libstdc++6.
make_root() {
  local suite=$1 variant=$2 packages=libstdc++6${4+,$4} cuda here mirror device
  cuda=$(realpath "$3")
  if [[ -d $cuda/nvidia/cu13 ]]; then cuda+=/nvidia/cu13; fi
  here=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    sed -n "s/^$here //p" | head -n 1)
  [[ $mirror ]] || fail "this machine's apt sources have no $here"
  quietly mmdebstrap --mode=root --dpkgopt=force-unsafe-io --variant="$variant" --include="$packages" --skip=cleanup/apt/lists "$suite" "$root" "$mirror"
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

# make_program: puts a program into the root that calls NVRTC, and sets `program` to its command
# line. It is for the oldest C library, like the client.
make_program() {
  local zig here
  zig=$(sed -n 's/^CCCL_CACHED_ZIG:[^=]*=//p' "$build/CMakeCache.txt")
  here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
  "$zig" cc -target x86_64-linux-gnu.2.28 -w -D_GNU_SOURCE "$here/../tests/integration/run_program.c" -o "$root/tmp/program" \
    -pthread -ldl
  nvrtc=/$(cd "$root" && find usr/local/cuda/ -name 'libnvrtc.so.1?' -print -quit)
  program=(/tmp/program "$nvrtc")
}

# boot_root: starts the root's systemd as the first process of new namespaces and a new control
# group. Later commands run there. /sys and /proc/sys are read-only there, so that systemd changes
# no setting of this machine.
boot_root() {
  local groups=$place/groups boot tries
  inside systemd-machine-id-setup 2>"$place/log"
  mkdir "$groups"
  mount -t cgroup2 cgroup2 "$groups"
  echo "$(sed -n 's/^0:://p' /proc/self/cgroup)/${place##*/}" >"$place/group"
  groups+=$(<"$place/group")
  mkdir "$groups"
  (
    echo "$BASHPID" >"$groups/cgroup.procs"
    exec unshare --pid --fork --kill-child --mount --uts --ipc --net --cgroup sh -euc '
      mount -o rbind "$0" "$0"
      cd "$0"
      mount -t proc proc proc
      mount -o bind proc/sys proc/sys
      mount -o remount,bind,ro proc/sys
      mount -t sysfs -o ro sysfs sys
      mount -t cgroup2 cgroup2 sys/fs/cgroup
      ln -s pts/ptmx dev/ptmx # services with devices of their own look for it
      pivot_root . mnt
      cd /
      umount -l mnt
      mount --make-rshared /
      exec setpriv --bounding-set -sys_boot,-sys_module,-sys_rawio,-sys_time env -i container=other /lib/systemd/systemd' "$root"
  ) >"$place/systemd" 2>&1 &
  boot=$!
  for ((tries = 0; tries < 600; ++tries)); do
    read -r init <"/proc/$boot/task/$boot/children" || true
    # An earlier program of this process still sees the directories of this machine.
    if [[ $init && $(<"/proc/$init/comm") == systemd ]]; then
      # Commands do not enter the network namespace, because they must reach a mirror.
      enter_by nsenter --target "$init" --mount --pid --uts --ipc --cgroup env -C /
      [[ $(inside systemctl is-system-running --wait 2>&1) =~ ^(running|degraded)$ ]] && return
    fi
    kill -0 "$boot" 2>/dev/null || break
    sleep 0.1
  done
  cat "$place/systemd" >&2
  fail "systemd does not run as the first process of a namespace here"
}

# serving COMMAND...: waits until the command reports that the process `daemon` serves.
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

# expect_build OUTCOME [OPTION]...: builds a program as an ordinary user, with the command line
# `cli`, and fails if the outcome is another one.
expect_build() {
  local said
  said=$(as_user "${cli[@]}" build - --arch sm_90 -o /dev/null --json "${@:2}" <<<'__global__ void kernel(int* at) { *at = 1; }')
  [[ $(jq -r .outcome <<<"$said") == "$1" ]] || fail "expected a build to be \"$1\": $said"
}
