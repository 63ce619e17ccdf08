// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cccl_cache/client_c.h"

const char* cccl_cache_version(void) { return CCCL_CACHE_VERSION_TEXT; }

const char* cccl_cache_status_name(cccl_cache_status status) {
  switch (status) {
    case CCCL_CACHE_OK:
      return "ok";
    case CCCL_CACHE_NO_DAEMON:
      return "no-daemon";
    case CCCL_CACHE_OVERLOADED:
      return "overloaded";
    case CCCL_CACHE_INVALID_REQUEST:
      return "invalid-request";
    case CCCL_CACHE_TOOLCHAIN_NOT_FOUND:
      return "toolchain-not-found";
    case CCCL_CACHE_FILES_NEEDED:
      return "files-needed";
    case CCCL_CACHE_DENIED:
      return "denied";
    case CCCL_CACHE_TIMED_OUT:
      return "timed-out";
    case CCCL_CACHE_DEADLINE:
      return "deadline";
    case CCCL_CACHE_WORKER_CRASHED:
      return "worker-crashed";
    case CCCL_CACHE_OUT_OF_MEMORY:
      return "out-of-memory";
    case CCCL_CACHE_CANCELLED:
      return "cancelled";
    case CCCL_CACHE_UNAVAILABLE:
      return "unavailable";
    case CCCL_CACHE_UPLOAD_NEEDED:
      return "upload-needed";
    case CCCL_CACHE_PROTOCOL:
      return "protocol";
    case CCCL_CACHE_TOO_LARGE:
      return "too-large";
    case CCCL_CACHE_LEASE_LOST:
      return "lease-lost";
    case CCCL_CACHE_NOT_CACHED:
      return "not-cached";
  }
  return "unknown";
}

const char* cccl_cache_outcome_name(cccl_cache_outcome outcome) {
  switch (outcome) {
    case CCCL_CACHE_HIT:
      return "hit";
    case CCCL_CACHE_BUILT:
      return "built";
    case CCCL_CACHE_JOINED:
      return "joined";
    case CCCL_CACHE_UNCACHEABLE:
      return "uncacheable";
    case CCCL_CACHE_FAILED:
      return "failed";
    case CCCL_CACHE_LOCAL:
      return "local";
    case CCCL_CACHE_OUTCOME_UNKNOWN:
      break;
  }
  return "unknown";
}

const char* cccl_cache_tier_name(cccl_cache_tier tier) {
  switch (tier) {
    case CCCL_CACHE_TIER_MEMORY:
      return "memory";
    case CCCL_CACHE_TIER_DISK:
      return "disk";
    case CCCL_CACHE_TIER_REMOTE:
      return "remote";
    case CCCL_CACHE_TIER_ARENA:
      return "arena";
    case CCCL_CACHE_TIER_PROCESS:
      return "process";
    case CCCL_CACHE_TIER_SHELF:
      return "shelf";
    case CCCL_CACHE_TIER_NONE:
      break;
  }
  return "";
}

const char* cccl_cache_artifact_kind_name(cccl_cache_artifact_kind kind) {
  switch (kind) {
    case CCCL_CACHE_PTX:
      return "ptx";
    case CCCL_CACHE_CUBIN:
      return "cubin";
    case CCCL_CACHE_LTOIR:
      return "ltoir";
    case CCCL_CACHE_OPTIXIR:
      return "optixir";
  }
  return "unknown";
}
