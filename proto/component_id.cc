// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/component_id.h"

namespace cccl_cache {

Digest ComponentId(const Digest& library, const std::optional<Digest>& used,
                   std::string_view used_name) {
  Hasher hasher;
  hasher.AppendValue("shape", "");
  if (used) {
    hasher.AppendValue("name", used_name);
    hasher.AppendValue("contents", used->View());
  }
  hasher.AppendValue("name", "library");
  hasher.AppendValue("contents", library.View());
  return hasher.Finish();
}

Digest DigestOfStamps(std::span<const std::string> stamps) {
  Hasher hasher;
  for (const std::string& stamp : stamps) hasher.Append(stamp + "\n");
  return hasher.Finish();
}

}  // namespace cccl_cache
