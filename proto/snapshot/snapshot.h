// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "proto/digest.h"

/// The parts of a snapshot file, to which docs/internals/snapshot-format.md is the reference.
/// SnapshotWriter writes such files, and SnapshotReader reads them.
namespace cccl_cache {

/// These values are stored in snapshot files: never change them.
enum class SnapshotKind : uint8_t {
  kArtifact = 1,  ///< an artifact that the daemon compiled, under its key
  kDeposit = 2,   ///< a deposit of a client; its key is DepositIdentity()
};

/// One entry of the index; it describes one record.
struct SnapshotItem {
  SnapshotKind kind = SnapshotKind::kArtifact;
  Digest key;
  uint64_t stored_bytes = 0;  ///< size of the record in the file
  uint64_t bytes = 0;         ///< size of the record after decompression
  Digest sha256;              ///< of the stored bytes
  Digest toolchain;           ///< id of the toolchain that compiled it; zero for a deposit
  std::string toolchain_version;
  std::string arch;        ///< the target, "sm_90"; empty if no option named one
  std::string name_space;  ///< the namespace of a deposit

  bool operator==(const SnapshotItem&) const = default;
};

// Values: integers are little endian, nothing is padded.
//
//   snapshot = head records index tail
//   head     = "CCCLSNAP" version            version: u32, 3; 2 is the same without compile times
//   records  = the stored bytes of each item, one after the other in the order of the index
//   index    = count * item                  ascending by kind, then by key, none twice
//   item     = kind key stored_bytes bytes sha256 toolchain text text text
//   kind     = u8                            SnapshotKind
//   key, sha256, toolchain = 32 bytes
//   stored_bytes, bytes = u64                at most kMaxSnapshotRecordBytes
//   text     = u8 length, length bytes       toolchain_version, arch, name_space: 0x21 to 0x7e
//   tail     = index_bytes count index_sha256 sha256 "CCCLEND\n"
//   index_bytes = u64, count = u32
//   index_sha256 = of the index, sha256 = of all bytes before it
inline constexpr std::string_view kSnapshotHead("CCCLSNAP\3\0\0\0", 12);
/// The first bytes of files of version 2. They are read, but not written: readers of version 2
/// refuse records with compile times.
inline constexpr std::string_view kSnapshotHeadUntimed("CCCLSNAP\2\0\0\0", 12);
inline constexpr std::string_view kSnapshotEnd = "CCCLEND\n";
inline constexpr size_t kSnapshotTailBytes = 8 + 4 + 32 + 32 + 8;
inline constexpr size_t kLeastSnapshotItemBytes = 1 + 32 + 8 + 8 + 32 + 32 + 3;
inline constexpr size_t kMaxSnapshotItemBytes = kLeastSnapshotItemBytes + size_t{3} * 255;

/// Limit of one record, both in the file and decompressed.
inline constexpr uint64_t kMaxSnapshotRecordBytes = 256ull << 20;
/// Limit of the records in one file.
inline constexpr uint32_t kMaxSnapshotRecords = 1u << 20;

/// Returns whether an item may have this text. The caller of SnapshotWriter must replace an invalid
/// text by "".
[[nodiscard]] bool IsSnapshotText(std::string_view text);

/// Returns whether `one` precedes `other` in a file.
[[nodiscard]] bool SnapshotOrder(const SnapshotItem& one, const SnapshotItem& other);

void AppendSnapshotItem(const SnapshotItem& item, std::string* out);

/// Decodes an item and removes it from the front of `bytes`. Returns the error, or "".
[[nodiscard]] std::string TakeSnapshotItem(std::string_view* bytes, SnapshotItem* item);

struct SnapshotTail {
  uint64_t index_bytes = 0;
  uint32_t count = 0;
  Digest index_sha256;
};
/// Returns the bytes of the tail, without the digest of the file and the end mark.
[[nodiscard]] std::string EncodeSnapshotTail(const SnapshotTail& tail);
/// Decodes a tail. Returns false if `bytes` are not kSnapshotTailBytes long or are no tail.
[[nodiscard]] bool DecodeSnapshotTail(std::string_view bytes, SnapshotTail* tail, Digest* sha256);

/// Writes a snapshot file from its beginning to its end. Only the index is kept in memory. Equal
/// records give equal files. Not thread-safe.
class SnapshotWriter {
 public:
  /// A function that receives the next bytes of the file. If it returns false, writing ends with an
  /// error.
  using Sink = std::function<bool(std::string_view)>;

  explicit SnapshotWriter(Sink sink) : sink_(std::move(sink)) {}

  /// Adds a record. Items must come in SnapshotOrder, without duplicates, and at most
  /// kMaxSnapshotRecords of them. Add() itself sets stored_bytes and sha256. Returns false if the
  /// sink returned false.
  [[nodiscard]] bool Add(SnapshotItem item, std::string_view stored);
  /// Writes the index and the tail. To be called once, after the last Add(). Returns false if the
  /// sink returned false.
  [[nodiscard]] bool Finish();

  [[nodiscard]] uint32_t count() const { return tail_.count; }
  [[nodiscard]] uint64_t written() const { return written_; }

 private:
  bool Put(std::string_view bytes);

  const Sink sink_;
  Hasher hasher_;
  std::string index_;
  SnapshotItem last_;
  SnapshotTail tail_;
  uint64_t written_ = 0;
};

}  // namespace cccl_cache
