// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/boot_id.h"

#include "base/files/whole_file.h"

namespace cccl_cache {

std::string BootId() {
  const std::string line = ReadFileAt("/proc/sys/kernel/random/boot_id").value_or("");
  return line.substr(0, line.find('\n'));
}

}  // namespace cccl_cache
