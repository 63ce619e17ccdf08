// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "proto/digest.h"
#include "proto/snapshot/snapshot.h"

namespace cccl_cache {

/// The source of a snapshot's bytes. They are untrusted, and must not change while they are read.
class SnapshotBytes {
 public:
  virtual ~SnapshotBytes() = default;

  [[nodiscard]] virtual uint64_t size() const = 0;
  /// Fills `room` with the bytes from `offset` on. Returns the error, or "".
  [[nodiscard]] virtual std::string Read(uint64_t offset, std::span<char> room) const = 0;
};

/// Reads a snapshot from a regular file. The caller owns the descriptor, which must stay open as
/// long as this object lives.
class SnapshotFile final : public SnapshotBytes {
 public:
  /// Checks that `fd` is a regular file. If not, returns an error: other files can't be read at any
  /// offset.
  static std::variant<SnapshotFile, std::string> Open(int fd);

  [[nodiscard]] uint64_t size() const override { return size_; }
  [[nodiscard]] std::string Read(uint64_t offset, std::span<char> room) const override;

 private:
  SnapshotFile(int fd, uint64_t size) : fd_(fd), size_(size) {}

  int fd_;
  uint64_t size_;
};

/// Reads a snapshot with a buffer of constant size. All lengths in the file are checked. After
/// Open(), the object is thread-safe if its SnapshotBytes are.
class SnapshotReader {
 public:
  /// A function that receives an item and the offset in the file of its record. If it returns
  /// false, no further items are visited.
  using Visit = std::function<bool(const SnapshotItem& item, uint64_t offset)>;

  /// Checks head, tail and index of the file. Returns an error if one of them is invalid. `bytes`
  /// must outlive the reader.
  static std::variant<SnapshotReader, std::string> Open(const SnapshotBytes& bytes);

  /// Returns the digest of the index. The index has the digests of all records.
  [[nodiscard]] const Digest& index_sha256() const { return tail_.index_sha256; }
  [[nodiscard]] uint32_t count() const { return tail_.count; }
  [[nodiscard]] uint64_t file_bytes() const { return bytes_->size(); }
  /// Returns the total size of all records after decompression.
  [[nodiscard]] uint64_t record_bytes() const { return record_bytes_; }

  /// Calls `visit` for the items in their order. Returns the error, or "" if there was none. If an
  /// error is returned, the caller must not use the items of this call: the index that was read may
  /// not be the one that Open() checked.
  [[nodiscard]] std::string ForEach(const Visit& visit) const;
  /// Compares the digests of all records and of the file with those that the file states. Returns
  /// the error, or "".
  [[nodiscard]] std::string Verify() const;
  /// Reads the record of an item into `stored`, and checks its digest. Returns the error, or "".
  [[nodiscard]] std::string Read(const SnapshotItem& item, uint64_t offset,
                                 std::string* stored) const;

 private:
  SnapshotReader(const SnapshotBytes& bytes, std::string_view head, const SnapshotTail& tail,
                 const Digest& sha256)
      : bytes_(&bytes), head_(head), tail_(tail), sha256_(sha256) {}

  [[nodiscard]] uint64_t index_offset() const {
    return bytes_->size() - kSnapshotTailBytes - tail_.index_bytes;
  }
  [[nodiscard]] std::string CheckIndex();
  /// Adds a part of the file to one hash, or also to `other` unless that is null.
  [[nodiscard]] std::string Hash(uint64_t offset, uint64_t size, Hasher* one, Hasher* other) const;

  const SnapshotBytes* bytes_;
  std::string_view head_;  ///< kSnapshotHead or kSnapshotHeadUntimed
  SnapshotTail tail_;
  Digest sha256_;
  uint64_t record_bytes_ = 0;
};

}  // namespace cccl_cache
