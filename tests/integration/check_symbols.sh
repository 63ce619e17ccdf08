#!/bin/sh
# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh LIBRARY RELEASED HEADER... checks that the library exports exactly the functions
# that the headers declare, and that all functions in the file RELEASED are among them.
set -eu
library=$1
released=$2
shift 2
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort)
declared=$(grep -oh 'cccl_cache_[a-z_]*(' "$@" | tr -d '(' | sort -u)
if [ "$exported" != "$declared" ]; then
  echo "exported:" "$exported"
  echo "declared:" "$declared"
  exit 1
fi
gone=$(grep -v '^#' "$released" | grep -vxF "$exported" || true)
if [ -n "$gone" ]; then
  echo "released, and no longer exported, so that programs would not start any more:" $gone
  exit 1
fi
