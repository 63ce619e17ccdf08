// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "daemon/core/model/statistics.h"

namespace cccl_cache::daemon {

/// Answered requests for the deposits of one namespace.
struct NamespaceUses {
  uint64_t found = 0;
  uint64_t joined = 0;
  uint64_t made = 0;
  uint64_t read_bytes = 0;  ///< of the deposits that were found or joined
  uint64_t made_bytes = 0;
  std::chrono::microseconds saved{0};

  NamespaceUses& operator+=(const NamespaceUses& other);
  [[nodiscard]] uint64_t total() const { return found + joined + made; }
};

/// Returns the name of a namespace in statistics. Clients choose namespaces, so each byte that is
/// not printable ASCII, or needs an escape in a label, becomes a question mark.
[[nodiscard]] std::string NamespaceLabel(std::string_view name_space);

/// Counts requests for deposits by namespace. The number of rows is limited, and no request is lost
/// from the sum of all rows. Not thread-safe.
class NamespaceCounts {
 public:
  static constexpr size_t kMaxNamespaces = 32;
  static constexpr std::string_view kOthers = "(others)";
  /// What happens to a new namespace if there is no row left.
  enum class IfFull {
    kReplace,  ///< it takes the place of the one with the fewest requests, whose counts move to the
               ///< row kOthers. So a namespace that comes back counts from zero.
    kKeep,     ///< it counts in the row kOthers. So the labels of rows are few for ever.
  };

  NamespaceCounts() = default;
  explicit NamespaceCounts(IfFull if_full) : if_full_(if_full) {}
  void Add(const DepositEvent& event);
  /// Returns the counts by label. The row kOthers is present only if it was used.
  [[nodiscard]] const std::map<std::string, NamespaceUses>& rows() const { return rows_; }

 private:
  [[nodiscard]] NamespaceUses& RowOf(const std::string& label);

  IfFull if_full_ = IfFull::kReplace;
  std::map<std::string, NamespaceUses> rows_;
};

}  // namespace cccl_cache::daemon
