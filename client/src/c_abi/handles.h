// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/cancellation.h"
#include "cccl_cache/client_c.h"
#include "cccl_cache/expected.h"
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/fallback.h"
#include "client/src/calls/result_cache.h"
#include "client/src/transport/timing.h"

// The structs behind the opaque handles of the C interface, and functions that its parts share.

struct cccl_cache_client {
  cccl_cache::DaemonStub daemon;
  cccl_cache::Fallback fallback;
  cccl_cache::ResultCache memory;
};

struct cccl_cache_error {
  cccl_cache::Error error;
};

struct cccl_cache_result {
  cccl_cache::TimedReply timed;
};

struct cccl_cache_json {
  std::string text;
};

namespace cccl_cache {

/// Returns the deadline of a call that starts now. `timeout_ms` is the caller's timeout. If it is
/// 0, the timeout is `by_default`.
inline Deadline After(uint32_t timeout_ms,
                      std::chrono::milliseconds by_default = std::chrono::seconds(30)) {
  return Deadline::After(timeout_ms == 0 ? by_default : std::chrono::milliseconds(timeout_ms));
}

/// Copies a caller's struct into a struct of this library's version. Fields that the caller's
/// version of the header does not have become zero. Null: all fields are zero.
template <typename T>
T ReadStruct(const T* given) {
  T known = {};
  if (given != nullptr) std::memcpy(&known, given, std::min(given->struct_size, sizeof(T)));
  return known;
}

/// Copies `known` into a caller's struct, as far as the caller's version of the struct reaches.
/// Does not change struct_size.
template <typename T>
void FillStruct(T known, T* given) {
  known.struct_size = given->struct_size;
  std::memcpy(given, &known, std::min(given->struct_size, sizeof(T)));
}

/// Sets a caller's struct to zero, as far as the caller's version of the struct reaches. Clears the
/// padding too, but not struct_size.
template <typename T>
void ZeroStruct(T* given) {
  const size_t size = given->struct_size;
  std::memset(given, 0, std::min(size, sizeof(T)));
  given->struct_size = size;
}

/// Returns the deadline of a build that starts now. The default timeout is ten minutes.
inline Deadline DeadlineOf(const cccl_cache_build_options& options) {
  constexpr std::chrono::minutes kDefault{10};
  return Deadline::After(options.timeout_ms == 0 ? kDefault
                                                 : std::chrono::milliseconds(options.timeout_ms));
}

inline cccl_cache_bytes ToBytes(std::string_view view) { return {view.data(), view.size()}; }

inline std::string_view ToView(cccl_cache_bytes bytes) { return {bytes.data, bytes.size}; }

inline cccl_cache_status Fail(Error reason, cccl_cache_error** error) {
  const cccl_cache_status status = reason.status;
  if (error != nullptr) *error = new cccl_cache_error{std::move(reason)};
  return status;
}

}  // namespace cccl_cache
