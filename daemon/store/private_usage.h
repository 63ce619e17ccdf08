// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What is known of a private entry without reading it, or of all of a user's: the sum and the
/// last. docs/entry-format.md has the layouts.
struct PrivateUsage {
  uint64_t bytes = 0;       ///< what it counts against the limits
  uint64_t generation = 0;  ///< which insertion it came with: greater ones are later
};

[[nodiscard]] std::string EncodePrivateUsage(const PrivateUsage& usage);
/// None for anything but what was encoded.
[[nodiscard]] std::optional<PrivateUsage> DecodePrivateUsage(std::string_view bytes);

/// A user's rows of this kind stand in the order of insertion.
[[nodiscard]] std::string OrderRowKey(uid_t uid, uint64_t generation,
                                      const cccl_cache::Digest& key);

struct OrderRow {
  uint64_t generation = 0;
  cccl_cache::Digest key;
};
/// None for anything but the key of such a row.
[[nodiscard]] std::optional<OrderRow> DecodeOrderRow(std::string_view row_key);

}  // namespace cccl_cache::daemon
