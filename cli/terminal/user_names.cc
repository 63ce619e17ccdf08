// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/user_names.h"

#include <pwd.h>

#include <charconv>
#include <map>
#include <system_error>

#include "proto/container_users.h"

namespace cccl_cache::cli {

std::string UserLabel(uint32_t uid) {
  return uid < kFirstContainerUser ? std::to_string(uid)
                                   : "c" + std::to_string(uid - kFirstContainerUser);
}

NameOfUser NamesOfThisSystem() {
  return [names = std::map<std::string, std::string>()](const std::string& label) mutable {
    const auto [name, added] = names.try_emplace(label, label);
    if (!added) return name->second;
    uid_t uid = 0;
    const char* const end = label.data() + label.size();
    const auto read = std::from_chars(label.data(), end, uid);
    if (read.ec == std::errc() && read.ptr == end) {
      if (const passwd* const user = getpwuid(uid)) name->second = user->pw_name;
    }
    return name->second;
  };
}

}  // namespace cccl_cache::cli
