// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <vector>

#include "daemon/core/closure/file_exchange.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/result.h"
#include "daemon/service/wire/build_request.h"

namespace cccl_cache::daemon {

/// The kind of one BuildManyRequest: it starts the build with this tag, or cancels it.
struct ManyRequest {
  uint64_t tag = 0;
  bool cancel = false;
};

/// Reads the tag. Does not decode the build, and leaves the bytes in the buffer. An error means
/// that the bytes are malformed. The tag is then unknown, so the whole call must end.
[[nodiscard]] Result<ManyRequest> ReadManyRequest(const grpc::ByteBuffer& bytes);

/// Reads the build in a BuildManyRequest.
[[nodiscard]] Result<ConvertedRequest> ReadOfMany(ProtoReader& message, const ServiceLimits& limits,
                                                  const FindUpload& find_upload);
/// Reads the build in the first message of BuildWithFiles.
[[nodiscard]] Result<ConvertedRequest> ReadOfWithFiles(ProtoReader& message,
                                                       const ServiceLimits& limits,
                                                       const FindUpload& find_upload);

/// Returns the encoded BuildManyReply for the build with this tag, which failed with this error.
[[nodiscard]] grpc::ByteBuffer EncodeTaggedError(uint64_t tag, const Error& error);

/// Returns an encoded BuildWithFilesReply with these questions.
[[nodiscard]] grpc::ByteBuffer EncodeQuestions(const std::vector<CallerQuestion>& questions);

/// Passes the answers in a BuildWithFilesRequest to `exchange`, one at a time. A message with a
/// million answers thus needs no more memory than one with one answer. kInvalidRequest: the message
/// is malformed, contains a build, or exceeds a limit.
[[nodiscard]] Status ReadFileAnswers(const grpc::ByteBuffer& bytes, FileExchange& exchange);

}  // namespace cccl_cache::daemon
