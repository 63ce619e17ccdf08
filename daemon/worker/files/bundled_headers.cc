// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/bundled_headers.h"

#include <fcntl.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/files/whole_file.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
namespace {

namespace fs = std::filesystem;

Error CannotRead(const std::string& path) {
  return {ErrorCode::kUnavailable, "reading the headers of NVRTC: " + path};
}

}  // namespace

Result<BundledHeaders> BundledHeaders::Read(const std::string& directory) {
  BundledHeaders headers;
  headers.files_[""] = {.kind = FileKind::kDirectory};
  std::error_code error;
  for (fs::recursive_directory_iterator each(directory, error), end; !error && each != end;
       each.increment(error)) {
    const std::string path = each->path().string();
    FileAnswer& answer = headers.files_[path.substr(directory.size())];
    answer.kind = each->is_directory(error) ? FileKind::kDirectory : FileKind::kFile;
    if (answer.kind == FileKind::kDirectory) continue;
    const FileDescriptor file(real_files::Open(path.c_str(), O_RDONLY | O_CLOEXEC, 0));
    auto text = file.valid() ? ReadAll(file.get()) : std::nullopt;
    if (!text) return CannotRead(path);
    answer.contents = std::make_shared<const std::string>(*std::move(text));
  }
  if (error) return CannotRead(directory);
  uint64_t identity = 0;  // by the order of the paths, so equal in all zygotes of a toolchain
  for (auto& [path, answer] : headers.files_) answer.identity = ++identity;
  return headers;
}

bool BundledHeaders::Own(std::string_view path) { return LiesIn(path, kBundledDirectory); }

FileAnswer BundledHeaders::Find(std::string_view path) const {
  const auto found = files_.find(path.substr(kBundledDirectory.size()));
  return found == files_.end() ? FileAnswer{} : found->second;
}

}  // namespace cccl_cache::daemon
