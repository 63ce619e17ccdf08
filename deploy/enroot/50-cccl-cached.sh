#!/usr/bin/env bash
# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
#
# A hook of Enroot and Pyxis: copy it into /etc/enroot/hooks.d. It gives each container the cache, as
# the device of `cccl-cache-cli cdi` does for other engines. Whatever is missing, the container
# starts as without it.
#
# To leave that to users, begin with
#   [[ ${CCCL_CACHE_IN_JOBS-} == 1 ]] || exit 0
set -uo pipefail

specification=/run/cdi/cccl-cached.json
[[ -r $specification ]] || exit 0

# enroot-mount reads lines as those of fstab, where blanks of a path are \040.
mounts=$(jq -r '.containerEdits.mounts[] |
  (.hostPath | gsub("\\\\"; "\\134") | gsub(" "; "\\040")) +
  " \(.containerPath) none x-create=dir,bind,ro,nosuid,nodev,private"' "$specification") || exit 0
enroot-mount --root "$ENROOT_ROOTFS" - <<<"$mounts" || exit 0

# The image's own settings of the loader stay.
device=node
if grep -qE '^(LD_AUDIT|LD_PRELOAD|GLIBC_TUNABLES)=' "$ENROOT_ENVIRON"; then device=client; fi
jq -r --arg name "$device" '.devices[] | select(.name == $name).containerEdits.env[]' \
  "$specification" >>"$ENROOT_ENVIRON"
exit 0
