// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "daemon/core/model/result.h"
#include "daemon/core/model/service_limits.h"
#include "daemon/service/wire/request_fields.h"
#include "daemon/service/wire/wire_input.h"
#include "proto/request.h"

/// BuildRequest of build.proto, read from the wire into the core's type without a message in
/// between.
namespace cccl_cache::daemon {

/// A request as the core takes it, and what only the service needs of it.
struct ConvertedRequest {
  std::shared_ptr<const cccl_cache::BuildRequest> request;
  std::vector<cccl_cache::ArtifactKind> wanted;  ///< empty: all
  uint64_t bytes = 0;                            ///< of all its texts and binaries
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

}  // namespace cccl_cache::daemon
