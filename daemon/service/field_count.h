// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include "daemon/core/result.h"
#include "daemon/service/service_limits.h"

namespace cccl_cached {

/// What a client hears whose bytes can't be parsed.
[[nodiscard]] Error NotARequest();

/// Walks over the bytes of a BuildRequest without making anything of them: kInvalidRequest if they
/// are not one, or if a list is longer than the limits allow. Parsing makes an object of 50 bytes
/// from 2 bytes of an empty header, so it must come after this.
[[nodiscard]] Status CheckFieldCounts(google::protobuf::io::ZeroCopyInputStream& stream,
                                      const ServiceLimits& limits);

}  // namespace cccl_cached
