// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/group_name.h"

#include <grp.h>

#include <cerrno>
#include <charconv>
#include <vector>

namespace cccl_cache {
namespace {

constexpr size_t kLargestGroup = size_t{1} << 28;  // bytes, with the names of its members

}  // namespace

Expected<uint32_t> FindGroup(const std::string& name) {
  uint32_t number = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, number);
  if (parsed.ec == std::errc{} && parsed.ptr == end) return number;
  group entry = {};
  group* found = nullptr;
  // All members of the group must fit.
  std::vector<char> buffer(1 << 16);
  while (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == ERANGE &&
         buffer.size() < kLargestGroup) {
    buffer.resize(2 * buffer.size());
  }
  if (found == nullptr) {
    return Error{CCCL_CACHE_INVALID_REQUEST, "this machine has no group \"" + name +
                                                 "\": name another one, or give its number"};
  }
  return static_cast<uint32_t>(found->gr_gid);
}

}  // namespace cccl_cache
