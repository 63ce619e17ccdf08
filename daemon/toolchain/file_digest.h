// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stop_token>

#include "daemon/toolchain/survey.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// SHA-256 of a file's bytes; nothing if it isn't the surveyed file any more, before or after
/// reading, if it can't be read, or when told to stop.
[[nodiscard]] std::optional<cccl_cache::Digest> DigestOfFile(const SurveyedFile& file,
                                                             const std::stop_token& stop);

}  // namespace cccl_cache::daemon
