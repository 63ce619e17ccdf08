// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/boot_id.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/file_descriptor.h"

namespace cccl_cache {

std::string BootId() {
  const FileDescriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t length = file.valid() ? read(file.get(), text, sizeof(text)) : -1;
  std::string id(text, length > 0 ? static_cast<size_t>(length) : 0);
  id.erase(std::min(id.size(), id.find('\n')));
  return id;
}

}  // namespace cccl_cache
