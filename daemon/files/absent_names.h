// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "daemon/files/content_stamp.h"

namespace cccl_cache::daemon {

/// Names that directories do not have, under the directories' stamps: whatever is made in a
/// directory changes that. A closure is half names that were looked for in vain; of those, one look
/// at each directory is enough. Bounded in names: when there are too many, all are forgotten, and
/// those in use come back. Thread-safe.
class AbsentNames {
 public:
  explicit AbsentNames(size_t max_names) : max_names_(max_names) {}
  AbsentNames(const AbsentNames&) = delete;
  AbsentNames& operator=(const AbsentNames&) = delete;

  [[nodiscard]] bool Knows(const ContentStamp& directory, std::string_view name) const;
  /// `directory`: settled (ContentStamp::IsSettledAt) when it was taken, and before the name was
  /// looked for.
  void Remember(const ContentStamp& directory, std::string_view name);
  [[nodiscard]] size_t size() const;

 private:
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  using Names = std::unordered_set<std::string, NameHash, std::equal_to<>>;

  const size_t max_names_;
  mutable std::mutex mutex_;
  std::unordered_map<ContentStamp, Names, ContentStampHash> names_;  // guarded by mutex_
  size_t size_ = 0;                                                  // guarded by mutex_
};

}  // namespace cccl_cache::daemon
