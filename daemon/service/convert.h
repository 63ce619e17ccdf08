// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cccl_cache/v1/build.pb.h"
#include "daemon/core/build_coordinator.h"
#include "daemon/core/result.h"
#include "daemon/service/request_fields.h"
#include "daemon/service/service_limits.h"
#include "proto/request.h"

namespace cccl_cached {

/// A request as the core takes it, and what only the service needs of it.
struct ConvertedRequest {
  std::shared_ptr<const cccl_cache::BuildRequest> request;
  std::vector<cccl_cache::ArtifactKind> wanted;  ///< empty: all
  uint64_t bytes = 0;                            ///< of all its texts and binaries
};

/// Checks every bound and moves the strings out of the message. kInvalidRequest names the field,
/// kUploadNeeded the digest.
[[nodiscard]] Result<ConvertedRequest> FromProto(cccl_cache::v1::BuildRequest&& message,
                                                 const ServiceLimits& limits,
                                                 const FindUpload& find_upload);

/// All of the reply but its artifacts.
[[nodiscard]] cccl_cache::v1::BuildReply ToProto(const BuildAnswer& answer);

/// An artifact's description without its bytes.
[[nodiscard]] cccl_cache::v1::Artifact ToProto(const ArtifactPart& part);

}  // namespace cccl_cached
