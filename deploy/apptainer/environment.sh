# shellcheck shell=sh
# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
#
# For Apptainer before 1.5, which has no --device. Read it in a job script, or copy it into
# /etc/profile.d; it needs jq:
#   . /usr/share/cccl-cached/apptainer/environment.sh
# Then each container of the shell gets the cache, as by the device of `cccl-cache-cli cdi`. Without
# that device on this node, nothing changes. Variables of the loader that you set for your containers
# stay; then no program is served unless you name the cache's libraries, too.
cccl_cache_device() {
  [ -r "$1" ] || return 0
  cccl_cache_binds=$(jq -r '[.containerEdits.mounts[] | "\(.hostPath):\(.containerPath):ro"] | join(",")' "$1") || return 0
  cccl_cache_name=node
  if [ -n "${APPTAINERENV_LD_AUDIT-}${APPTAINERENV_LD_PRELOAD-}${APPTAINERENV_GLIBC_TUNABLES-}" ]; then
    cccl_cache_name=client
  fi
  cccl_cache_lines=$(jq -r --arg name "$cccl_cache_name" \
    '.devices[] | select(.name == $name).containerEdits.env[] | "export APPTAINERENV_" + @sh "\(.)"' "$1") || return 0
  case ,${APPTAINER_BIND-}, in
    *,"$cccl_cache_binds",*) return 0 ;; # it was read before
  esac
  export APPTAINER_BIND="$cccl_cache_binds${APPTAINER_BIND:+,$APPTAINER_BIND}"
  eval "$cccl_cache_lines"
}
cccl_cache_device /run/cdi/cccl-cached.json
unset -f cccl_cache_device
unset cccl_cache_binds cccl_cache_name cccl_cache_lines
