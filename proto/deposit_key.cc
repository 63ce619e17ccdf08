// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/deposit_key.h"

#include <algorithm>

namespace cccl_cache {

// The hashed layout; values, numbers and counts as in fingerprint.cc.
//
//   key   = "deposit-layout" scope "namespace" n*field[fields]    sorted by name
//   scope = "uid" | "gid"                                         its number
//   field = "field-name" "field-value"
Digest DepositKey(const DepositScope& scope, const std::string& name_space,
                  const std::vector<DepositField>& fields) {
  std::vector<const DepositField*> sorted;
  sorted.reserve(fields.size());
  for (const DepositField& field : fields) sorted.push_back(&field);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const DepositField* a, const DepositField* b) { return a->name < b->name; });
  Hasher hasher;
  hasher.AppendValue("deposit-layout", kDepositKeyLayout);
  hasher.AppendValue(scope.kind == DepositScope::Kind::kGroup ? "gid" : "uid", scope.id);
  hasher.AppendValue("namespace", name_space);
  hasher.AppendValue("fields", sorted.size());
  for (const DepositField* field : sorted) {
    hasher.AppendValue("field-name", field->name);
    hasher.AppendValue("field-value", field->value);
  }
  return hasher.Finish();
}

}  // namespace cccl_cache
