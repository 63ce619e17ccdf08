// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Snapshots that anyone may have sent. The input is tried as a snapshot, and as the records and
// index of a snapshot. The latter gets a valid head, tail and digests, so that the fuzzer gets past
// these checks.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "proto/snapshot/snapshot.h"
#include "proto/snapshot/snapshot_reader.h"
#include "tests/fuzz/seeds.h"
#include "tests/unit/proto/snapshot_texts.h"

namespace {

using cccl_cache::Sha256;
using cccl_cache::SnapshotItem;
using cccl_cache::SnapshotReader;
using cccl_cache::SnapshotWriter;
using cccl_cache::testing::Text;

/// Returns a snapshot with the input as its records and index. The last four bytes of the input
/// give the number of items and the place of the index.
std::string Sealed(std::string_view input, std::string_view head = cccl_cache::kSnapshotHead) {
  if (input.size() < 4) return std::string(input);
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(input[input.size() - 4 + i]); };
  const uint32_t count = byte(0);
  const size_t records = byte(1) | byte(2) << 8 | byte(3) << 16;
  input.remove_suffix(4);
  const std::string_view index = input.substr(std::min(records, input.size()));
  std::string bytes(head);
  bytes.append(input);
  bytes.append(cccl_cache::EncodeSnapshotTail({index.size(), count, Sha256(index)}));
  bytes.append(Sha256(bytes).View()).append(cccl_cache::kSnapshotEnd);
  return bytes;
}

/// Checks that a complete snapshot is unchanged when it is written again, and that a part of it is
/// refused.
void CheckWhole(const std::string& bytes, const SnapshotReader& reader) {
  std::string again;
  SnapshotWriter writer([&](std::string_view more) {
    again.append(more);
    return true;
  });
  const std::string unread = reader.ForEach([&](const SnapshotItem& item, uint64_t offset) {
    std::string stored;
    assert(reader.Read(item, offset, &stored).empty());
    return writer.Add(item, stored);
  });
  assert(unread.empty());
  assert(writer.Finish());
  if (bytes.starts_with(cccl_cache::kSnapshotHead)) {
    assert(again == bytes);
  } else {  // version 2: all bytes are equal except the version and the last digest
    constexpr size_t kHead = cccl_cache::kSnapshotHead.size();
    constexpr size_t kEnd = sizeof(cccl_cache::Digest::bytes) + cccl_cache::kSnapshotEnd.size();
    const auto middle = [](std::string_view file) {
      return file.substr(kHead, file.size() - kHead - kEnd);
    };
    assert(middle(again) == middle(bytes));
  }
  const Text shorter(bytes.substr(0, bytes.size() - 1));
  assert(std::holds_alternative<std::string>(SnapshotReader::Open(shorter)));
}

void Try(const std::string& bytes) {
  const Text text(bytes);
  const auto opened = SnapshotReader::Open(text);
  const auto* reader = std::get_if<SnapshotReader>(&opened);
  if (reader != nullptr && reader->Verify().empty()) CheckWhole(bytes, *reader);
}

std::string Seed(const std::vector<std::string>& records) {
  std::string stored;
  std::string index;
  for (const std::string& record : records) {
    SnapshotItem item;
    item.key.bytes[0] = static_cast<uint8_t>(stored.size());
    item.stored_bytes = record.size();
    item.bytes = record.size();
    item.sha256 = Sha256(record);
    item.arch = "sm_90";
    cccl_cache::AppendSnapshotItem(item, &index);
    stored.append(record);
  }
  std::string seed = stored + index;
  for (const size_t byte :
       {records.size(), stored.size() & 255, stored.size() >> 8 & 255, stored.size() >> 16}) {
    seed.push_back(static_cast<char>(byte));
  }
  return seed;
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  return {Seed({}), Seed({"one"}), Seed({"one", "another", "third"}),
          Sealed(Seed({"one", "another"})),
          Sealed(Seed({"one", "another"}), cccl_cache::kSnapshotHeadUntimed)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Try(std::string(input));
  Try(Sealed(input));
  Try(Sealed(input, cccl_cache::kSnapshotHeadUntimed));
  return 0;
}
