// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/namespace_counts.h"

#include <algorithm>

namespace cccl_cache::daemon {

NamespaceUses& NamespaceUses::operator+=(const NamespaceUses& other) {
  found += other.found;
  joined += other.joined;
  made += other.made;
  read_bytes += other.read_bytes;
  made_bytes += other.made_bytes;
  saved += other.saved;
  return *this;
}

std::string NamespaceLabel(std::string_view name_space) {
  std::string label(name_space);
  std::ranges::replace_if(
      label, [](char byte) { return byte < ' ' || byte > '~' || byte == '"' || byte == '\\'; },
      '?');
  return label;
}

void NamespaceCounts::Add(const DepositEvent& event) {
  NamespaceUses& row = RowOf(NamespaceLabel(event.name_space));
  const bool made = event.use == DepositUse::kMade;
  ++(made ? row.made : event.use == DepositUse::kJoined ? row.joined : row.found);
  (made ? row.made_bytes : row.read_bytes) += event.bytes;
  row.saved += event.saved;
}

NamespaceUses& NamespaceCounts::RowOf(const std::string& label) {
  const std::string others(kOthers);
  if (rows_.contains(label) || label == others) return rows_[label];
  if (rows_.size() - rows_.count(others) == kMaxNamespaces) {
    if (if_full_ == IfFull::kKeep) return rows_[others];
    auto least = rows_.end();
    for (auto row = rows_.begin(); row != rows_.end(); ++row) {
      if (row->first == others) continue;
      if (least == rows_.end() || row->second.total() < least->second.total()) least = row;
    }
    rows_[others] += least->second;
    rows_.erase(least);
  }
  return rows_[label];
}

}  // namespace cccl_cache::daemon
