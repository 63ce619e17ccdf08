// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/recalled_files.h"

#include <fmt/format.h>

#include <utility>

namespace cccl_cache::daemon {
namespace {

Error Gone(const std::string& path) {
  return Error{
      ErrorCode::kFilesNeeded,
      fmt::format("what {} was is not known any more, and who sent it is not asked again", path)};
}

}  // namespace

RecalledFiles::RecalledFiles(AnsweredFilesPtr answered, RootDirectories directories,
                             Sources sources)
    : answered_(std::move(answered)),
      directories_(std::move(directories)),
      sources_(std::move(sources)) {
  for (const ClosureEntry& entry : answered_->closure.entries) {
    if (entry.name.root == kToolchainRoot) continue;
    by_path_.try_emplace(answered_->directories.PathOf(entry.name), &entry);
  }
}

Result<SeenFile> RecalledFiles::Look(const FileName& name) {
  const std::string path = directories_.PathOf(name);
  if (path.empty()) return SeenFile{};
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return Gone(path);
  const ClosureEntry& entry = *found->second;
  if (entry.kind == FileKind::kAbsent) return SeenFile{};
  return SeenFile{entry.kind, entry.digest, {0, entry.same_as}};
}

Result<RequesterFiles::Contents> RecalledFiles::Read(const FileName& name) {
  const Result<SeenFile> seen = Look(name);
  if (!seen) return seen.error();
  Contents contents{*seen, nullptr};
  if (seen->kind != FileKind::kFile) return contents;
  contents.bytes = ContentsOf(name, seen->digest);
  if (contents.bytes == nullptr) return Gone(directories_.PathOf(name));
  return contents;
}

std::shared_ptr<const std::string> RecalledFiles::ContentsOf(const FileName& name,
                                                             const cccl_cache::Digest& digest) {
  if (auto bytes = sources_.sent->Find(sources_.uid, digest)) return bytes;
  const Result<Contents> opened = sources_.daemons->Read(name);
  if (!opened || opened->seen.kind != FileKind::kFile || opened->seen.digest != digest) {
    return nullptr;
  }
  return opened->bytes;
}

}  // namespace cccl_cache::daemon
