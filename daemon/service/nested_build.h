// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include "daemon/core/result.h"
#include "daemon/service/service_limits.h"

namespace cccl_cached {

/// CheckFieldCounts for the BuildRequest that a message holds as its field `number`; other fields
/// are skipped. `otherwise`: what a client hears whose bytes are no such message. A message without
/// the field is none of this one's business.
[[nodiscard]] Status CheckNestedBuild(google::protobuf::io::ZeroCopyInputStream& stream, int number,
                                      const ServiceLimits& limits, const Error& otherwise);

}  // namespace cccl_cached
