// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/deposit_key.h"

#include <algorithm>

namespace cccl_cache {

// The hashed bytes. The notation, numbers and counts are those of fingerprint.cc.
//
//   key      = "deposit-layout" scope "identity"
//   scope    = "uid" | "gid"                         the number of the user or group
//            | "group"                               the group's name, if nodes share it
//   identity = "deposit-layout" "namespace" "fields"
//   fields   = "deposit-layout" n*field[fields]      sorted by name
//   field    = "field-name" "field-value"
Digest DepositFieldsDigest(const std::vector<DepositField>& fields) {
  std::vector<const DepositField*> sorted;
  sorted.reserve(fields.size());
  for (const DepositField& field : fields) sorted.push_back(&field);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const DepositField* a, const DepositField* b) { return a->name < b->name; });
  Hasher hasher;
  hasher.AppendValue("deposit-layout", kDepositKeyLayout);
  hasher.AppendValue("fields", sorted.size());
  for (const DepositField* field : sorted) {
    hasher.AppendValue("field-name", field->name);
    hasher.AppendValue("field-value", field->value);
  }
  return hasher.Finish();
}

Digest DepositIdentity(const std::string& name_space, const Digest& fields) {
  Hasher hasher;
  hasher.AppendValue("deposit-layout", kDepositKeyLayout);
  hasher.AppendValue("namespace", name_space);
  hasher.AppendValue("fields", fields.View());
  return hasher.Finish();
}

Digest DepositKey(const DepositScope& scope, const Digest& identity) {
  Hasher hasher;
  hasher.AppendValue("deposit-layout", kDepositKeyLayout);
  hasher.AppendValue(scope.kind == DepositScope::Kind::kGroup ? "gid" : "uid", scope.id);
  hasher.AppendValue("identity", identity.View());
  return hasher.Finish();
}

Digest SharedDepositKey(const std::string& group, const Digest& identity) {
  Hasher hasher;
  hasher.AppendValue("deposit-layout", kDepositKeyLayout);
  hasher.AppendValue("group", group);
  hasher.AppendValue("identity", identity.View());
  return hasher.Finish();
}

Digest DepositKey(const DepositScope& scope, const std::string& name_space,
                  const std::vector<DepositField>& fields) {
  return DepositKey(scope, DepositIdentity(name_space, DepositFieldsDigest(fields)));
}

}  // namespace cccl_cache
