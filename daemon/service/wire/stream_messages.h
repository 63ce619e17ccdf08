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

/// What one message of BuildMany is about: a build, or the end of one.
struct ManyRequest {
  uint64_t tag = 0;
  bool cancel = false;
};

/// Makes nothing of the build, and leaves the bytes as they are. An error belongs to no build in
/// particular, because the bytes are no such message, and so is that of the whole call.
[[nodiscard]] Result<ManyRequest> ReadManyRequest(grpc::ByteBuffer& bytes);

/// The build in such a message (BuildReader).
[[nodiscard]] Result<ConvertedRequest> ReadOfMany(WireInput& message, const ServiceLimits& limits,
                                                  const FindUpload& find_upload);

/// The answer to the build of that tag which failed so.
[[nodiscard]] grpc::ByteBuffer EncodeTaggedError(uint64_t tag, const Error& error);

/// A BuildWithFilesReply that asks this.
[[nodiscard]] grpc::ByteBuffer EncodeQuestions(const std::vector<CallerQuestion>& questions);

/// Hands on the answers in a BuildWithFilesRequest, one at a time: so a message that holds a
/// million of them costs no more memory than one. kInvalidRequest: it holds something else, or more
/// than may be in one message.
[[nodiscard]] Status ReadFileAnswers(grpc::ByteBuffer& bytes, FileExchange& exchange);

}  // namespace cccl_cache::daemon
