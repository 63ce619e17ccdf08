// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/snapshot/snapshot_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace cccl_cache {
namespace {

constexpr size_t kBuffer = 64 << 10;
constexpr std::string_view kCutOff = "it ends in the middle: fetch it again";
constexpr std::string_view kAltered = "its bytes were altered: fetch it again";

std::string Altered(const SnapshotItem& item) {
  return "record " + item.key.Hex() + " is not what its digest says: " + std::string(kAltered);
}

/// Reads the items of the index in order. Keeps only a part of the index in memory.
class IndexCursor {
 public:
  IndexCursor(const SnapshotBytes& bytes, uint64_t offset, uint64_t size)
      : bytes_(bytes), offset_(offset), left_(size) {}

  [[nodiscard]] bool at_end() const { return left_ == 0 && rest_.empty(); }

  /// Reads the next item, and adds its bytes to `hasher` unless that is null. Returns the error, or
  /// "".
  std::string Take(SnapshotItem* item, Hasher* hasher) {
    if (rest_.size() < kMaxSnapshotItemBytes && left_ > 0) {
      if (std::string wrong = Refill(); !wrong.empty()) return wrong;
    }
    const std::string_view before = rest_;
    if (const std::string wrong = TakeSnapshotItem(&rest_, item); !wrong.empty()) {
      return "an item of its index " + wrong;
    }
    if (hasher != nullptr) hasher->Append(before.substr(0, before.size() - rest_.size()));
    return "";
  }

 private:
  std::string Refill() {
    std::memmove(buffer_.data(), rest_.data(), rest_.size());
    const size_t more = std::min<uint64_t>(buffer_.size() - rest_.size(), left_);
    std::string wrong = bytes_.Read(offset_, {buffer_.data() + rest_.size(), more});
    rest_ = {buffer_.data(), rest_.size() + more};
    offset_ += more;
    left_ -= more;
    return wrong;
  }

  const SnapshotBytes& bytes_;
  uint64_t offset_;
  uint64_t left_;
  std::vector<char> buffer_ = std::vector<char>(kBuffer);
  std::string_view rest_{buffer_.data(), 0};
};

}  // namespace

std::variant<SnapshotFile, std::string> SnapshotFile::Open(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return std::string("it can't be read: ") + std::strerror(errno);
  if (!S_ISREG(status.st_mode)) {
    return "it is no regular file: a snapshot is read from its end, so save it as one first";
  }
  return SnapshotFile(fd, static_cast<uint64_t>(status.st_size));
}

std::string SnapshotFile::Read(uint64_t offset, std::span<char> room) const {
  while (!room.empty()) {
    const ssize_t size = pread(fd_, room.data(), room.size(), static_cast<off_t>(offset));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::string("it can't be read: ") + std::strerror(errno);
    if (size == 0) return std::string(kCutOff);
    room = room.subspan(static_cast<size_t>(size));
    offset += static_cast<uint64_t>(size);
  }
  return "";
}

std::variant<SnapshotReader, std::string> SnapshotReader::Open(const SnapshotBytes& bytes) {
  constexpr std::string_view kMagic = kSnapshotHead.substr(0, 8);
  std::array<char, kSnapshotHead.size()> head{};
  std::array<char, kSnapshotTailBytes> end{};
  const size_t present = std::min<uint64_t>(bytes.size(), head.size());
  if (std::string wrong = bytes.Read(0, {head.data(), present}); !wrong.empty()) return wrong;
  const std::string_view begin(head.data(), present);
  if (!begin.starts_with(kMagic.substr(0, present))) return "it is no snapshot file";
  if (bytes.size() < head.size() + end.size()) return std::string(kCutOff);
  const auto known = begin == kSnapshotHead ? kSnapshotHead : kSnapshotHeadUntimed;
  if (begin != known) return "its version is one that this program does not know";
  if (std::string wrong = bytes.Read(bytes.size() - end.size(), end); !wrong.empty()) return wrong;
  SnapshotTail tail;
  Digest sha256;
  if (!DecodeSnapshotTail({end.data(), end.size()}, &tail, &sha256)) return std::string(kCutOff);
  if (tail.index_bytes > bytes.size() - head.size() - end.size() ||
      tail.count > kMaxSnapshotRecords) {
    return std::string(kAltered);
  }
  SnapshotReader reader(bytes, known, tail, sha256);
  if (std::string wrong = reader.CheckIndex(); !wrong.empty()) return wrong;
  return reader;
}

std::string SnapshotReader::CheckIndex() {
  IndexCursor cursor(*bytes_, index_offset(), tail_.index_bytes);
  Hasher hasher;
  SnapshotItem item;
  SnapshotItem before;
  uint64_t end = kSnapshotHead.size();
  for (uint32_t i = 0; i < tail_.count; ++i) {
    if (std::string wrong = cursor.Take(&item, &hasher); !wrong.empty()) return wrong;
    if (i > 0 && !SnapshotOrder(before, item)) return "its index is not in order";
    if (item.stored_bytes > index_offset() - end) return "its index names more than it holds";
    end += item.stored_bytes;
    record_bytes_ += item.bytes;
    std::swap(before, item);
  }
  if (!cursor.at_end() || end != index_offset()) return "its index does not name all that it holds";
  return hasher.Finish() == tail_.index_sha256 ? "" : std::string(kAltered);
}

std::string SnapshotReader::ForEach(const Visit& visit) const {
  IndexCursor cursor(*bytes_, index_offset(), tail_.index_bytes);
  Hasher hasher;
  SnapshotItem item;
  uint64_t offset = kSnapshotHead.size();
  for (uint32_t i = 0; i < tail_.count; ++i) {
    if (std::string wrong = cursor.Take(&item, &hasher); !wrong.empty()) return wrong;
    if (!visit(item, offset)) return "";
    offset += item.stored_bytes;
  }
  // The file may have changed since Open() read the index.
  return hasher.Finish() == tail_.index_sha256 ? "" : std::string(kAltered);
}

std::string SnapshotReader::Hash(uint64_t offset, uint64_t size, Hasher* one, Hasher* other) const {
  std::vector<char> buffer(std::min<uint64_t>(kBuffer, size));
  while (size > 0) {
    const std::span<char> room(buffer.data(), std::min<uint64_t>(buffer.size(), size));
    if (std::string wrong = bytes_->Read(offset, room); !wrong.empty()) return wrong;
    one->Append({room.data(), room.size()});
    if (other != nullptr) other->Append({room.data(), room.size()});
    offset += room.size();
    size -= room.size();
  }
  return "";
}

std::string SnapshotReader::Verify() const {
  Hasher whole;
  whole.Append(head_);
  std::string wrong;
  const std::string unread = ForEach([&](const SnapshotItem& item, uint64_t offset) {
    Hasher record;
    wrong = Hash(offset, item.stored_bytes, &whole, &record);
    if (wrong.empty() && record.Finish() != item.sha256) wrong = Altered(item);
    return wrong.empty();
  });
  if (!unread.empty()) return unread;
  if (!wrong.empty()) return wrong;
  const uint64_t rest = tail_.index_bytes + EncodeSnapshotTail(tail_).size();
  wrong = Hash(index_offset(), rest, &whole, nullptr);
  if (!wrong.empty()) return wrong;
  return whole.Finish() == sha256_ ? "" : std::string(kAltered);
}

std::string SnapshotReader::Read(const SnapshotItem& item, uint64_t offset,
                                 std::string* stored) const {
  stored->resize(item.stored_bytes);
  if (std::string wrong = bytes_->Read(offset, *stored); !wrong.empty()) return wrong;
  return Sha256(*stored) == item.sha256 ? "" : Altered(item);
}

}  // namespace cccl_cache
