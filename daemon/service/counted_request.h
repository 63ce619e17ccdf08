// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <sys/types.h>

#include "cccl_cache/v1/build.pb.h"
#include "daemon/core/result.h"
#include "daemon/service/budget.h"
#include "daemon/service/build_backend.h"
#include "daemon/service/convert.h"

namespace cccl_cached {

/// A request whose texts and binaries are counted among its user's bytes.
struct CountedRequest {
  ConvertedRequest converted;
  Share bytes;
};

/// Makes the request of a message's bytes, however they hold it, and checks its bounds before.
using ParseRequest = Result<cccl_cache::v1::BuildRequest> (*)(grpc::ByteBuffer& message,
                                                              const ServiceLimits& limits);

/// Of the message's bytes nothing is left. Counts them while they are read, then what was made of
/// them: kOverloaded. kInvalidRequest and kUploadNeeded as FromProto.
[[nodiscard]] Result<CountedRequest> ReadCounted(BuildBackend& backend, uid_t uid,
                                                 grpc::ByteBuffer& message, ParseRequest parse);

}  // namespace cccl_cached
