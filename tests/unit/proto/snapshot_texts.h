// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "proto/snapshot/snapshot_reader.h"

namespace cccl_cache::testing {

/// The bytes of a snapshot in memory.
class Text final : public SnapshotBytes {
 public:
  explicit Text(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] std::string Read(uint64_t offset, std::span<char> room) const override {
    if (offset > bytes_.size() || room.size() > bytes_.size() - offset) return "out of its bounds";
    std::copy_n(bytes_.data() + offset, room.size(), room.data());
    return "";
  }

 private:
  const std::string bytes_;
};

}  // namespace cccl_cache::testing
