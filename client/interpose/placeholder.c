// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The library libcccl_cache_placeholder.so, which `cccl-cache-cli cdi` names in the LD_PRELOAD of
// containers. It needs no other library and no symbol, so every loader accepts it: that of musl,
// and those of all versions of glibc. It does nothing. If the image's glibc suffices, the auditor
// has the loader map libcccl_cache_exec.so in its place.
__attribute__((visibility("default"))) const char cccl_cache_placeholder = 0;
