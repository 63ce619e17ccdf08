// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <optional>

#include "cccl_cache/v1/admin.pb.h"
#include "daemon/core/explain/explainer.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/result.h"
#include "daemon/service/wire/build_request.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The subject of an explanation: the key of an artifact, or a build if `key` is none.
struct ExplainQuestion {
  std::optional<DigestPrefix> key;
  ConvertedRequest build;
};

/// Reads an ExplainRequest, whose limits are those of a BuildRequest. Checks the limits before it
/// converts any bytes. kInvalidRequest: the request is malformed or exceeds a limit.
[[nodiscard]] Result<ExplainQuestion> ReadExplainRequest(grpc::ByteBuffer& bytes,
                                                         const ServiceLimits& limits,
                                                         const FindUpload& find_upload);

[[nodiscard]] cccl_cache::v1::ExplainReply ToProto(const Explanation& explanation);

}  // namespace cccl_cache::daemon
