// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/contents.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/files/file_stamp.h"
#include "base/files/whole_file.h"
#include "daemon/files/access_rules.h"

namespace cccl_cache::daemon {
namespace {

/// Smaller files are not charged to an account, because a job has only one of them in memory at a
/// time.
constexpr uint64_t kLargeFileBytes = 1u << 20;

/// Bytes of a file. They are charged to an account until they are freed.
struct CountedBytes {
  JobMemory::Share share;
  std::string bytes;
};

/// Limit of the time that a large file waits for memory of its account, which other files may
/// release.
constexpr std::chrono::seconds kPatience{30};

/// Writes the file's dirty pages to the disk now, so that a later store through a mapping changes
/// the file's ctime. Returns false if the disk fails. Has no effect on an overlay, because the
/// pages belong to the file in the layer below.
bool WriteBack(int file) {
  constexpr unsigned kAndWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  return sync_file_range(file, 0, 0, kAndWait) == 0;
}

}  // namespace

std::optional<KnownContents> DigestMemory::Find(const ContentStamp& stamp) {
  const MutexLock lock(mutex_);
  const KnownContents* const found = entries_.Use(stamp);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

void DigestMemory::Remember(const ContentStamp& stamp, const KnownContents& contents) {
  const MutexLock lock(mutex_);
  static_cast<void>(entries_.Insert({}, stamp, contents, 0));
}

size_t DigestMemory::size() const {
  const MutexLock lock(mutex_);
  return entries_.size();
}

Reached<FileContents> ContentsReader::Read(const Place& place) {
  const FileDescriptor file(
      openat(place.directory->get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return PathError::Of(errno);
  struct statx status {};
  if (const int error = StatusAt(file.get(), "", &status); error != 0) return PathError::Of(error);
  if (S_ISLNK(status.stx_mode) || S_ISDIR(status.stx_mode)) {
    return PathError{PathError::Kind::kChanging};
  }
  const Reached<FileSystem> checked = rules_.CheckTarget(file.get(), "", status);
  if (const auto* obstacle = std::get_if<PathError>(&checked)) return *obstacle;
  const Reached<FileDescriptor> contents = rules_.OpenContents(file.get());
  if (const auto* obstacle = std::get_if<PathError>(&contents)) return *obstacle;
  return ReadOpen(std::get<FileDescriptor>(contents).get(), std::get<FileSystem>(checked));
}

std::optional<Digest> ContentsReader::Known(const Place& place) {
  if (!StampsProve(place.file_system, place.status)) return std::nullopt;
  const auto known = memory_.digests.Find(ContentStamp::Of(place.status));
  if (!known || (known->has_access_list && rules_.AccessListsMatter())) return std::nullopt;
  return known->digest;
}

Reached<FileContents> ContentsReader::ReadOpen(int contents, FileSystem file_system) {
  const int64_t begin = FileTimeNow();
  struct statx before {};
  struct statx after {};
  if (const int error = StatusAt(contents, "", &before); error != 0) return PathError::Of(error);
  if (before.stx_size > kMaxFileBytes) return PathError{PathError::Kind::kTooLarge};
  JobMemory::Share share;
  if (account_.memory != nullptr && before.stx_size > kLargeFileBytes) {
    Result<JobMemory::Share> taken = account_.memory->Take(account_.account, before.stx_size,
                                                           JobMemory::Clock::now() + kPatience);
    if (!taken) {
      const bool never = taken.error().code == ErrorCode::kOutOfMemory;
      return never ? PathError{PathError::Kind::kTooLarge}
                   : PathError{PathError::Kind::kFailed, ENOMEM};
    }
    share = *std::move(taken);
  }
  const ContentStamp stamp = ContentStamp::Of(before);
  const bool proves =
      StampsProve(file_system, before) && LiesStill(stamp, begin) && WriteBack(contents);
  // Reads one byte more than `most`, because that byte shows that the file has grown.
  const uint64_t most = std::max<uint64_t>(before.stx_size, kLargeFileBytes);
  std::optional<std::string> read = ReadAll(contents, most + 1);
  if (!read) return PathError{PathError::Kind::kFailed, errno};
  if (read->size() > most) return PathError{PathError::Kind::kChanging};
  if (const int error = StatusAt(contents, "", &after); error != 0) return PathError::Of(error);
  if (ContentStamp::Of(after) != stamp) return PathError{PathError::Kind::kChanging};
  const auto counted =
      std::make_shared<const CountedBytes>(CountedBytes{std::move(share), *std::move(read)});
  std::shared_ptr<const std::string> bytes(counted, &counted->bytes);
  const Digest digest = Sha256(*bytes);
  if (proves) {
    memory_.digests.Remember(stamp, {digest, HasAccessList(contents)});
  }
  return FileContents{digest, std::move(bytes), before};
}

bool ContentsReader::LiesStill(const ContentStamp& stamp, int64_t now_ns) {
  // Queried once for each build, because the kernel's setting may change between builds.
  if (!write_back_) write_back_ = memory_.write_back();
  return *write_back_ && stamp.IsSettledAt(now_ns, **write_back_);
}

}  // namespace cccl_cache::daemon
