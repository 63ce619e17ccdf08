// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <vector>

#include "daemon/core/closure/file_exchange.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// A BuildWithFilesReply that asks this.
[[nodiscard]] grpc::ByteBuffer EncodeQuestions(const std::vector<CallerQuestion>& questions);

/// Hands on the answers in a BuildWithFilesRequest, one at a time: so a message that holds a
/// million of them costs no more memory than one. kInvalidRequest: it holds something else, or more
/// than may be in one message.
[[nodiscard]] Status ReadFileAnswers(grpc::ByteBuffer& bytes, FileExchange& exchange);

}  // namespace cccl_cache::daemon
