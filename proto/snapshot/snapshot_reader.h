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
  /// Fills all of `room` from `offset` on. Returns the problem, or "".
  [[nodiscard]] virtual std::string Read(uint64_t offset, std::span<char> room) const = 0;
};

/// A regular file, which must stay open as long as this object.
class SnapshotFile final : public SnapshotBytes {
 public:
  /// Opens the file. The error says why it can't be read at any offset.
  static std::variant<SnapshotFile, std::string> Open(int fd);

  [[nodiscard]] uint64_t size() const override { return size_; }
  [[nodiscard]] std::string Read(uint64_t offset, std::span<char> room) const override;

 private:
  SnapshotFile(int fd, uint64_t size) : fd_(fd), size_(size) {}

  int fd_;
  uint64_t size_;
};

/// Reads a snapshot with one buffer of memory. Checks every length. Thread-safe after Open if the
/// bytes are.
class SnapshotReader {
 public:
  /// Receives an item and the offset of its stored bytes. Returns false to end the visit.
  using Visit = std::function<bool(const SnapshotItem& item, uint64_t offset)>;

  /// Checks head, tail and index. The error is the problem. The bytes must outlive the reader.
  static std::variant<SnapshotReader, std::string> Open(const SnapshotBytes& bytes);

  /// Returns the digest of the index, which holds those of all records.
  [[nodiscard]] const Digest& index_sha256() const { return tail_.index_sha256; }
  [[nodiscard]] uint32_t count() const { return tail_.count; }
  [[nodiscard]] uint64_t file_bytes() const { return bytes_->size(); }
  /// Returns the total size of all records after decompression.
  [[nodiscard]] uint64_t record_bytes() const { return record_bytes_; }

  /// Visits the items in order. Returns the problem, or "" at the end or after the visit ended it.
  /// After a problem no item of this visit may be used: the index may differ from index_sha256().
  [[nodiscard]] std::string ForEach(const Visit& visit) const;
  /// Verifies the digest of each record and of the file. Returns the problem, or "".
  [[nodiscard]] std::string Verify() const;
  /// Reads the stored bytes of a record. Returns the problem, or "": a wrong digest is a problem
  /// too.
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
  /// Adds a part of the file to one or two hashes.
  [[nodiscard]] std::string Hash(uint64_t offset, uint64_t size, Hasher* one, Hasher* other) const;

  const SnapshotBytes* bytes_;
  std::string_view head_;  ///< a constant
  SnapshotTail tail_;
  Digest sha256_;
  uint64_t record_bytes_ = 0;
};

}  // namespace cccl_cache
