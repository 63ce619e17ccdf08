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

#include "base/wire.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/result.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// The contents of a text or binary: either the bytes, or the SHA-256 of a blob that the caller has
/// uploaded.
struct Blob {
  std::string inline_bytes;
  std::string upload_sha256;
};

/// Returns the blob with this digest that the caller has uploaded. Returns null if there is none.
using FindUpload = std::function<std::shared_ptr<const std::string>(const Digest&)>;

/// Takes texts and contents from the fields of one request, checks them against the limits, and
/// records the first error. After an error all calls do nothing, so that the calling code need not
/// check each field. Not thread-safe. The constructor's arguments must outlive the object.
class RequestFields {
 public:
  RequestFields(const ServiceLimits& limits, const FindUpload& find_upload)
      : limits_(limits), find_upload_(find_upload) {}

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  /// Returns the number of bytes of all texts and contents taken so far.
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  void Refuse(std::string message);
  void CheckCount(std::string_view field, size_t count, size_t limit);

  std::string Name(std::string_view field, std::string&& text);
  std::string Option(std::string_view field, std::string&& text);
  std::string Contents(std::string_view field, Blob&& blob);
  /// Takes a text that the compiler reads as a C string. Refuses a text with a zero byte.
  std::string SourceText(std::string_view field, Blob&& blob);
  /// Takes the digest of a header set. If the caller has not uploaded the set, the result has only
  /// the digest. Its texts do not count in bytes(), because they count as an upload.
  std::shared_ptr<const HeaderSet> Headers(std::string_view field, std::string_view sha256);

 private:
  std::string Text(std::string_view field, std::string&& text, uint64_t limit);
  void CheckName(std::string_view field, std::string_view text, uint64_t limit);
  void Count(std::string_view field, uint64_t size);
  std::string Uploaded(std::string_view field, const std::string& raw);
  std::optional<Digest> DigestOf(std::string_view field, std::string_view raw);

  const ServiceLimits& limits_;
  const FindUpload& find_upload_;
  uint64_t bytes_ = 0;
  std::optional<Error> error_;
};

// These functions read BuildRequest of build.proto from the encoded bytes directly into the core's
// type.

/// A request for the core, and values of the message that only the service needs.
struct ConvertedRequest {
  std::shared_ptr<const BuildRequest> request;
  std::vector<ArtifactKind> wanted;  ///< kinds of artifacts to return; empty means all
  uint64_t bytes = 0;                ///< total size of the request's texts and binaries
};

/// Reads the message as a BuildRequest. Entries of a list beyond its limit are not kept in memory.
/// The error's text names the field for kInvalidRequest, and the digest to upload for
/// kUploadNeeded.
[[nodiscard]] Result<ConvertedRequest> ReadBuild(ProtoReader& message, const ServiceLimits& limits,
                                                 const FindUpload& find_upload);

/// Reads the BuildRequest in field `number` of the message, and ignores other fields. Fails unless
/// the message has exactly one such field.
[[nodiscard]] Result<ConvertedRequest> ReadNestedBuild(ProtoReader& message, uint32_t number,
                                                       const ServiceLimits& limits,
                                                       const FindUpload& find_upload);

/// Minor version of the protocol. It must be increased with each addition that a client may depend
/// on (BuildRequest.min_api_minor).
inline constexpr uint32_t kApiMinor = 7;

}  // namespace cccl_cache::daemon
