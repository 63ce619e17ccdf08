// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/releases/release_draft.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files/whole_file.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::string_view kGiver = "/given-by";

Error Unwritable(int error) {
  return {ErrorCode::kUnavailable,
          fmt::format("the library can't be kept: the daemon's state directory can't be written "
                      "({})",
                      std::strerror(error))};
}

FileDescriptor NewFile(const std::string& path) {
  return FileDescriptor(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR));
}

/// Syncs the entries of a directory to the disk. Also returns true if the file system does not
/// support this.
bool SyncDirectory(const std::string& path) {
  const FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory.valid() && (fsync(directory.get()) == 0 || errno == EINVAL);
}

}  // namespace

Result<ReleaseDraft> ReleaseDraft::Create(const std::string& directory,
                                          const KnownRelease& release) {
  std::string path = fmt::format("{}/{}XXXXXX", directory, kPrefix);
  if (mkdtemp(path.data()) == nullptr) return Unwritable(errno);
  return ReleaseDraft(std::move(path), release);
}

ReleaseDraft::ReleaseDraft(ReleaseDraft&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      release_(other.release_),
      done_(other.done_),
      file_(std::move(other.file_)),
      written_(other.written_),
      hasher_(other.hasher_) {}

ReleaseDraft::~ReleaseDraft() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Status ReleaseDraft::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (Complete()) {
      return Error{ErrorCode::kInvalidRequest,
                   fmt::format("release {}: more bytes than its files have", release_->version)};
    }
    const uint64_t missing = release_->files()[done_].bytes - written_;
    const std::string_view part = bytes.substr(0, std::min<uint64_t>(missing, bytes.size()));
    if (Status written = Write(part); !written) return written;
    bytes.remove_prefix(part.size());
  }
  return Ok{};
}

Status ReleaseDraft::Write(std::string_view bytes) {
  if (!file_.valid()) file_ = NewFile(path_ + "/" + release_->names()[done_]);
  if (!file_.valid() || !WriteAll(file_.get(), bytes)) return Unwritable(errno);
  hasher_.Append(bytes);
  written_ += bytes.size();
  return written_ < release_->files()[done_].bytes ? Status(Ok{}) : CloseFile();
}

Status ReleaseDraft::CloseFile() {
  if (hasher_.Finish() != release_->files()[done_].sha256) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("the bytes that were sent are not those of {}, NVIDIA's release {}: "
                             "the file changed, or its digest was not true",
                             release_->names()[done_], release_->version)};
  }
  if (fsync(file_.get()) != 0) return Unwritable(errno);
  file_ = FileDescriptor();
  written_ = 0;
  ++done_;
  return Ok{};
}

Status ReleaseDraft::MoveTo(const std::string& path, uid_t giver) {
  const FileDescriptor note = NewFile(path_ + std::string(kGiver));
  if (!note.valid() || !WriteAll(note.get(), std::to_string(giver)) || fsync(note.get()) != 0 ||
      !SyncDirectory(path_)) {
    return Unwritable(errno);
  }
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return Unwritable(error.value());
  if (rename(path_.c_str(), path.c_str()) != 0) return Unwritable(errno);
  path_.clear();
  return SyncDirectory(path.substr(0, path.rfind('/'))) ? Status(Ok{}) : Unwritable(errno);
}

std::optional<uid_t> GiverOf(const std::string& path) {
  const FileDescriptor file(
      open((path + std::string(kGiver)).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  constexpr size_t kMost = 16;
  const std::string text = ReadAll(file.get(), kMost).value_or("");
  const char* const end = text.data() + text.size();
  uid_t uid = 0;
  const auto [after, error] = std::from_chars(text.data(), end, uid);
  if (error != std::errc() || after != end) return std::nullopt;
  return uid;
}

}  // namespace cccl_cache::daemon
