// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "daemon/core/model/peer.h"
#include "daemon/core/model/result.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/wire/build_request.h"

namespace cccl_cache::daemon {

/// A request whose texts and binaries are counted among its user's bytes.
struct CountedRequest {
  ConvertedRequest converted;
  Share bytes;
};

/// Makes the request of a message's bytes, however they hold it: ReadBuild, or by way of it.
using BuildReader = Result<ConvertedRequest> (*)(WireInput& message, const ServiceLimits& limits,
                                                 const FindUpload& find_upload);

/// Of the message's bytes nothing is left. Counts them while they are read, then what was made of
/// them: kOverloaded. kInvalidRequest and kUploadNeeded as ReadBuild.
[[nodiscard]] Result<CountedRequest> ReadCounted(BuildBackend& backend, const Peer& peer,
                                                 grpc::ByteBuffer& message, BuildReader read);

}  // namespace cccl_cache::daemon
