// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files/whole_file.h"

namespace cccl_cache::daemon {
namespace {

Error Unwritable(int error) {
  return {ErrorCode::kUnavailable,
          fmt::format("the snapshot can't be received: the daemon's state directory can't be "
                      "written ({})",
                      std::strerror(error))};
}

}  // namespace

Result<SpoolFile> SpoolFile::Create(const std::string& directory) {
  std::string path = directory + "/snapshot.XXXXXX";
  FileDescriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (!file.valid() || unlink(path.c_str()) != 0) return Unwritable(errno);
  return SpoolFile(std::move(file));
}

Status SpoolFile::Append(std::string_view bytes) {
  return WriteAll(file_.get(), bytes) ? Status(Ok{}) : Unwritable(errno);
}

}  // namespace cccl_cache::daemon
