// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/limits.h"
#include "daemon/core/model/result.h"
#include "daemon/service/wire/wire_input.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Bytes, or the digest of an upload of the caller's.
struct Blob {
  std::string inline_bytes;
  std::string upload_sha256;
};

/// The blob that the caller uploaded, null if there is none.
using FindUpload = std::function<std::shared_ptr<const std::string>(const Digest&)>;

/// Takes texts and contents out of the parts of one request, each within its bounds. Remembers the
/// first thing that is wrong, after which it goes on doing nothing, so that who uses it reads as a
/// list of fields. Not thread-safe; lives for one request, shorter than what it is made from.
class RequestFields {
 public:
  RequestFields(const ServiceLimits& limits, const FindUpload& find_upload)
      : limits_(limits), find_upload_(find_upload) {}

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  /// Of all that was taken.
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  void Refuse(std::string message);
  void CheckCount(std::string_view field, size_t count, size_t limit);

  std::string Name(std::string_view field, std::string&& text);
  std::string Option(std::string_view field, std::string&& text);
  std::string Contents(std::string_view field, Blob&& blob);
  /// For what the compiler takes as a C string, which would end at a zero byte.
  std::string SourceText(std::string_view field, Blob&& blob);

 private:
  std::string Text(std::string_view field, std::string&& text, uint64_t limit);
  void Count(std::string_view field, uint64_t size);
  std::string Uploaded(std::string_view field, const std::string& raw);

  const ServiceLimits& limits_;
  const FindUpload& find_upload_;
  uint64_t bytes_ = 0;
  std::optional<Error> error_;
};

// BuildRequest of build.proto, read from the wire into the core's type without a message in
// between.

/// A request as the core takes it, and what only the service needs of it.
struct ConvertedRequest {
  std::shared_ptr<const BuildRequest> request;
  std::vector<ArtifactKind> wanted;  ///< empty: all
  uint64_t bytes = 0;                ///< of all its texts and binaries
};

/// What a client hears whose bytes are no BuildRequest.
[[nodiscard]] Error NotARequest();

/// The BuildRequest that the message at hand is. Of a list nothing is kept beyond its bound.
/// kInvalidRequest names the field, kUploadNeeded the digest.
[[nodiscard]] Result<ConvertedRequest> ReadBuild(WireInput& input, const ServiceLimits& limits,
                                                 const FindUpload& find_upload);

/// The one that the message at hand holds as its field `number`, where nothing else counts: two of
/// them, or none, are no request.
[[nodiscard]] Result<ConvertedRequest> ReadNestedBuild(WireInput& input, uint32_t number,
                                                       const ServiceLimits& limits,
                                                       const FindUpload& find_upload);

/// Goes up with each addition to the protocol that a client may ask for
/// (BuildRequest.min_api_minor).
inline constexpr uint32_t kApiMinor = 0;

}  // namespace cccl_cache::daemon
