// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <limits.h>
#include <unistd.h>

#include <array>

#include "base/files/whole_file.h"

namespace cccl_cache {

std::string BootId() {
  const std::string line = ReadFileAt("/proc/sys/kernel/random/boot_id").value_or("");
  return line.substr(0, line.find('\n'));
}

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace cccl_cache
