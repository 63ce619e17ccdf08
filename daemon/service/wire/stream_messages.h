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

/// The subject of one message of BuildMany: a build, or the cancellation of a build.
struct ManyRequest {
  uint64_t tag = 0;
  bool cancel = false;
};

/// Reads the tag, but neither decodes the build nor consumes the bytes. An error means that the
/// bytes are malformed. It belongs to no build, so it ends the whole call.
[[nodiscard]] Result<ManyRequest> ReadManyRequest(const grpc::ByteBuffer& bytes);

/// Reads the build in a message of BuildMany.
[[nodiscard]] Result<ConvertedRequest> ReadOfMany(ProtoReader& message, const ServiceLimits& limits,
                                                  const FindUpload& find_upload);
/// Reads the build in the first BuildWithFilesRequest.
[[nodiscard]] Result<ConvertedRequest> ReadOfWithFiles(ProtoReader& message,
                                                       const ServiceLimits& limits,
                                                       const FindUpload& find_upload);

/// Returns the answer for the build with this tag, which failed with this error.
[[nodiscard]] grpc::ByteBuffer EncodeTaggedError(uint64_t tag, const Error& error);

/// Returns a BuildWithFilesReply with these questions.
[[nodiscard]] grpc::ByteBuffer EncodeQuestions(const std::vector<CallerQuestion>& questions);

/// Passes the answers in a BuildWithFilesRequest to `exchange`, one at a time, so that a message
/// with a million answers costs no more memory than one answer. kInvalidRequest: the message has
/// other fields, or exceeds a limit.
[[nodiscard]] Status ReadFileAnswers(const grpc::ByteBuffer& bytes, FileExchange& exchange);

}  // namespace cccl_cache::daemon
