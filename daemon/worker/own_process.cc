// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/own_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "daemon/core/model/file_descriptor.h"
#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
namespace {

/// The number after `label` in /proc/self/status.
uint64_t StatusNumber(std::string_view label) {
  const FileDescriptor file(real_files::Open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0));
  if (!file.valid()) return 0;
  char text[8192];
  const ssize_t length = read(file.get(), text, sizeof(text) - 1);
  if (length <= 0) return 0;
  text[length] = '\0';
  const std::string_view all(text, static_cast<size_t>(length));
  const size_t line = all.find(label);
  if (line == std::string_view::npos) return 0;
  return strtoull(text + line + label.size(), nullptr, 10);
}

}  // namespace

int OwnThreads() { return static_cast<int>(StatusNumber("\nThreads:")); }

uint64_t OwnDataBytes() { return StatusNumber("\nVmData:") * 1024; }

uint64_t OwnAddressBytes() { return StatusNumber("\nVmSize:") * 1024; }

}  // namespace cccl_cache::daemon
