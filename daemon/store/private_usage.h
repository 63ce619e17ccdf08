// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cccl_cached {

/// What is known of a private entry without reading it. docs/entry-format.md has the layout.
struct PrivateUsage {
  uint64_t bytes = 0;       ///< what it counts against the limits
  uint64_t generation = 0;  ///< which insertion it came with: greater ones are later
};

[[nodiscard]] std::string EncodePrivateUsage(const PrivateUsage& usage);
/// None for anything but what was encoded.
[[nodiscard]] std::optional<PrivateUsage> DecodePrivateUsage(std::string_view bytes);

}  // namespace cccl_cached
