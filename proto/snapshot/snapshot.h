// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "proto/digest.h"

/// The parts of a snapshot file; docs/internals/snapshot-format.md lists them byte by byte.
/// SnapshotWriter writes such files, SnapshotReader reads them.
namespace cccl_cache {

/// Stored: values never change.
enum class SnapshotKind : uint8_t {
  kArtifact = 1,  ///< an artifact that the daemon compiled, under its key
  kDeposit = 2,   ///< a deposit that a client made
};

/// The index entry of one record.
struct SnapshotItem {
  SnapshotKind kind = SnapshotKind::kArtifact;
  Digest key;
  uint64_t stored_bytes = 0;  ///< in the file
  uint64_t bytes = 0;         ///< decompressed
  Digest sha256;              ///< of the stored bytes
  Digest toolchain;           ///< of the build; zero for a deposit
  std::string toolchain_version;
  std::string arch;        ///< "sm_90"; empty: no option named one
  std::string name_space;  ///< of a deposit

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
/// Read but never written, because readers of this version refuse records with compile times.
inline constexpr std::string_view kSnapshotHeadUntimed("CCCLSNAP\2\0\0\0", 12);
inline constexpr std::string_view kSnapshotEnd = "CCCLEND\n";
inline constexpr size_t kSnapshotTailBytes = 8 + 4 + 32 + 32 + 8;
inline constexpr size_t kLeastSnapshotItemBytes = 1 + 32 + 8 + 8 + 32 + 32 + 3;
inline constexpr size_t kMaxSnapshotItemBytes = kLeastSnapshotItemBytes + size_t{3} * 255;

/// Limit of one record, both in the file and decompressed.
inline constexpr uint64_t kMaxSnapshotRecordBytes = 256ull << 20;
/// Limit of the records in one file.
inline constexpr uint32_t kMaxSnapshotRecords = 1u << 20;

/// Returns whether the text is valid in an item; the writer leaves an invalid text empty.
[[nodiscard]] bool IsSnapshotText(std::string_view text);

/// Returns whether `one` precedes `other` in a file.
[[nodiscard]] bool SnapshotOrder(const SnapshotItem& one, const SnapshotItem& other);

void AppendSnapshotItem(const SnapshotItem& item, std::string* out);

/// Removes an item from the front of `bytes`. Returns the problem, or "".
[[nodiscard]] std::string TakeSnapshotItem(std::string_view* bytes, SnapshotItem* item);

struct SnapshotTail {
  uint64_t index_bytes = 0;
  uint32_t count = 0;
  Digest index_sha256;
};
/// Returns the part of the tail that the last digest covers.
[[nodiscard]] std::string EncodeSnapshotTail(const SnapshotTail& tail);
/// `bytes`: exactly kSnapshotTailBytes. Returns false if they are no tail.
[[nodiscard]] bool DecodeSnapshotTail(std::string_view bytes, SnapshotTail* tail, Digest* sha256);

/// Writes a snapshot from front to back; keeps only its index in memory. Equal records give equal
/// bytes. Not thread-safe.
class SnapshotWriter {
 public:
  /// Receives the next bytes. Returns false to abandon the snapshot.
  using Sink = std::function<bool(std::string_view)>;

  explicit SnapshotWriter(Sink sink) : sink_(std::move(sink)) {}

  /// Adds an item. Items come in SnapshotOrder, each once; their stored_bytes and sha256 are set
  /// here. At most kMaxSnapshotRecords.
  [[nodiscard]] bool Add(SnapshotItem item, std::string_view stored);
  /// To be called once, at the end.
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
