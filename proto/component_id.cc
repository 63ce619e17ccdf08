// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/component_id.h"

namespace cccl_cache {

Digest ComponentId(const Digest& library, const std::optional<Digest>& builtins) {
  Hasher hasher;
  hasher.AppendValue("shape", "");
  if (builtins) {
    hasher.AppendValue("name", "builtins");
    hasher.AppendValue("contents", builtins->View());
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
