#!/bin/sh
# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
# check_links_no_grpc.sh FILE... checks that no file needs or contains gRPC or protobuf's C++ runtime.
set -eu
for file in "$@"; do
  needed=$(readelf -d "$file" | grep NEEDED)
  if echo "$needed" | grep -E 'grpc|protobuf\.so|protobuf-lite'; then
    echo "$file must not need gRPC or protobuf's C++ runtime"
    exit 1
  fi
  held=$(nm "$file" | grep -E ' (_?grpc_|_ZNK?4grpc|_ZNK?6google8protobuf)' || true)
  if [ -n "$held" ]; then
    echo "$file must hold nothing of gRPC or protobuf's C++ runtime, but has" $held
    exit 1
  fi
done
