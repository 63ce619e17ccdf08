// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"

namespace cccl_cache {

/// How a call ended, as its headers and trailers said. Not thread-safe.
class GrpcStatus {
 public:
  /// One header or trailer; those that mean nothing here are ignored.
  void AddField(std::string_view name, std::string_view value);

  /// The trailers were there and the call went well.
  [[nodiscard]] bool ok() const { return code_ == 0; }
  /// What to tell the caller; only if not ok().
  [[nodiscard]] Error ToError() const;

 private:
  [[nodiscard]] cccl_cache_status Classify() const;

  static constexpr int kMissing = -1;

  int code_ = kMissing;
  int http_status_ = 0;
  std::string message_;
  std::string error_name_;
  uint32_t retry_after_ms_ = 0;
};

/// What the trailer `cccl-error` calls by this name, if anything.
[[nodiscard]] std::optional<cccl_cache_status> StatusOfName(std::string_view name);

/// Undoes gRPC's percent-encoding; what is not well-formed stays as it is.
[[nodiscard]] std::string PercentDecode(std::string_view text);

}  // namespace cccl_cache
