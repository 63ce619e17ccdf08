// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/snapshot/snapshot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "proto/snapshot/snapshot_reader.h"
#include "tests/unit/proto/snapshot_texts.h"

namespace cccl_cache::snapshot_test {
namespace {

using testing::Text;
using Records = std::vector<std::pair<SnapshotItem, std::string>>;

SnapshotItem Item(const std::string& key, const std::string& arch = "sm_90") {
  SnapshotItem item;
  item.key = Sha256(key);
  item.bytes = 7;
  item.toolchain = Sha256("toolchain");
  item.toolchain_version = "13.0";
  item.arch = arch;
  return item;
}

/// Returns sorted records. They must be sorted because their keys are hashes.
Records SomeRecords(size_t count) {
  Records records;
  for (size_t i = 0; i < count; ++i) {
    records.emplace_back(Item(std::to_string(i)),
                         std::string(i * 1000, static_cast<char>('a' + i)));
  }
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return SnapshotOrder(a.first, b.first); });
  return records;
}

std::string Write(const Records& records) {
  std::string bytes;
  SnapshotWriter writer([&](std::string_view more) {
    bytes.append(more);
    return true;
  });
  for (const auto& [item, stored] : records) REQUIRE(writer.Add(item, stored));
  REQUIRE(writer.Finish());
  CHECK(writer.written() == bytes.size());
  return bytes;
}

/// Returns the error about these bytes, or "".
std::string WrongWith(const std::string& bytes) {
  const Text text(bytes);
  const auto reader = SnapshotReader::Open(text);
  if (const auto* reason = std::get_if<std::string>(&reader)) return *reason;
  return std::get<SnapshotReader>(reader).Verify();
}

Records ReadAll(const std::string& bytes) {
  const Text text(bytes);
  const auto opened = SnapshotReader::Open(text);
  REQUIRE(std::holds_alternative<SnapshotReader>(opened));
  const auto& reader = std::get<SnapshotReader>(opened);
  Records records;
  CHECK(reader
            .ForEach([&](const SnapshotItem& item, uint64_t offset) {
              std::string stored;
              CHECK(reader.Read(item, offset, &stored).empty());
              records.emplace_back(item, stored);
              return true;
            })
            .empty());
  CHECK(reader.count() == records.size());
  return records;
}

TEST_CASE("written records are read, in order") {
  const Records written = SomeRecords(5);
  const Records read = ReadAll(Write(written));
  REQUIRE(read.size() == written.size());
  for (size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].second == written[i].second);
    SnapshotItem item = written[i].first;
    item.stored_bytes = written[i].second.size();
    item.sha256 = Sha256(written[i].second);
    CHECK(read[i].first == item);
  }
}

TEST_CASE("an empty snapshot is valid") {
  const std::string bytes = Write({});
  CHECK(bytes.size() == kSnapshotHead.size() + kSnapshotTailBytes);
  CHECK(WrongWith(bytes).empty());
  CHECK(ReadAll(bytes).empty());
}

/// Returns the same file in version 2.
std::string Untimed(std::string bytes) {
  constexpr size_t kEnd = sizeof(Digest::bytes) + kSnapshotEnd.size();
  bytes.replace(0, kSnapshotHead.size(), kSnapshotHeadUntimed);
  const Digest sha256 = Sha256(std::string_view(bytes).substr(0, bytes.size() - kEnd));
  return bytes.replace(bytes.size() - kEnd, sizeof(Digest::bytes), sha256.View());
}

TEST_CASE("a snapshot has the same bytes in every release") {
  SnapshotItem deposit;
  deposit.kind = SnapshotKind::kDeposit;
  deposit.key = Sha256("deposit");
  deposit.bytes = 3;
  deposit.name_space = "cuda.compute";
  const std::string bytes = Write({{Item("artifact"), "stored"}, {deposit, "other"}});
  CHECK(bytes.size() == 12 + 11 + (116 + 9) + (116 + 12) + 84);
  CHECK(Sha256(bytes).Hex() == "1e9a4d90dfb698413790687c23217890f048c9ec4478f3184a6a80651d9d5127");
  CHECK(Sha256(Untimed(bytes)).Hex() ==
        "bcfdcb0af76eb5d9ae2d1c8113176d56eda52f6107e1be8c79a2597c1c957907");
}

TEST_CASE("a snapshot that was cut off anywhere is refused") {
  const std::string bytes = Write(SomeRecords(3));
  REQUIRE(WrongWith(bytes).empty());
  for (size_t size = 0; size < bytes.size(); ++size) {
    INFO(size);
    REQUIRE_FALSE(WrongWith(bytes.substr(0, size)).empty());
  }
}

TEST_CASE("a snapshot with an altered bit is refused") {
  const std::string bytes = Write(SomeRecords(3));
  for (size_t place = 0; place < bytes.size(); ++place) {
    std::string altered = bytes;
    altered[place] = static_cast<char>(altered[place] ^ (1 << place % 8));
    INFO(place);
    REQUIRE_FALSE(WrongWith(altered).empty());
  }
}

/// A file that is written while it is read.
class Changing final : public SnapshotBytes {
 public:
  explicit Changing(std::string first) : bytes(std::move(first)) {}
  [[nodiscard]] uint64_t size() const override { return bytes.size(); }
  [[nodiscard]] std::string Read(uint64_t offset, std::span<char> room) const override {
    return Text(bytes).Read(offset, room);
  }
  std::string bytes;
};

TEST_CASE("an index that changes after Open is refused once it was read to its end") {
  Records records = SomeRecords(3);
  Changing file(Write(records));
  const auto opened = SnapshotReader::Open(file);
  REQUIRE(std::holds_alternative<SnapshotReader>(opened));
  const auto& reader = std::get<SnapshotReader>(opened);
  // Other records of the same sizes, with right digests.
  for (auto& [item, stored] : records) std::ranges::fill(stored, 'z');
  file.bytes = Write(records);
  const auto all = [](const SnapshotItem&, uint64_t) { return true; };
  CHECK_THAT(reader.ForEach(all), Catch::Matchers::Contains("altered"));
  CHECK_FALSE(reader.Verify().empty());
}

TEST_CASE("a snapshot with bytes after its end is refused") {
  CHECK_FALSE(WrongWith(Write(SomeRecords(2)) + "x").empty());
}

TEST_CASE("the error distinguishes other files from snapshots of other versions") {
  std::string bytes = Write(SomeRecords(1));
  ++bytes[8];
  CHECK(WrongWith(bytes).find("version") != std::string::npos);
  bytes[0] = 'c';
  CHECK(WrongWith(bytes) == "it is no snapshot file");
  CHECK(WrongWith("x") == "it is no snapshot file");
  CHECK(WrongWith("{\"a\": \"short file\"}") == "it is no snapshot file");
  CHECK(WrongWith(std::string(kSnapshotHead.substr(0, 5))).starts_with("it ends in the middle"));
}

TEST_CASE("a snapshot of the previous version is read and verified") {
  const std::string bytes = Untimed(Write(SomeRecords(3)));
  CHECK(WrongWith(bytes).empty());
  CHECK(ReadAll(bytes) == ReadAll(Write(SomeRecords(3))));
  std::string altered = bytes;
  ++altered[kSnapshotHead.size()];
  CHECK_FALSE(WrongWith(altered).empty());
}

TEST_CASE("a wrong index with a right digest is refused") {
  const Records two = SomeRecords(2);
  std::string index;
  std::string head(kSnapshotHead);
  std::string reason;
  const auto seal = [&](uint32_t count) {
    std::string bytes = head + index + EncodeSnapshotTail({index.size(), count, Sha256(index)});
    bytes.append(Sha256(bytes).View()).append(kSnapshotEnd);
    return WrongWith(bytes);
  };
  SECTION("not in order") {
    AppendSnapshotItem(two[1].first, &index);
    AppendSnapshotItem(two[0].first, &index);
    CHECK(seal(2) == "its index is not in order");
  }
  SECTION("an item twice") {
    AppendSnapshotItem(two[0].first, &index);
    AppendSnapshotItem(two[0].first, &index);
    CHECK(seal(2) == "its index is not in order");
  }
  SECTION("more items than announced") {
    AppendSnapshotItem(two[0].first, &index);
    CHECK(seal(0) == "its index does not name all that it holds");
  }
  SECTION("fewer items than announced") {
    AppendSnapshotItem(two[0].first, &index);
    CHECK(seal(2) == "an item of its index is cut off");
  }
  SECTION("missing records") {
    SnapshotItem item = two[0].first;
    item.stored_bytes = 1;
    AppendSnapshotItem(item, &index);
    CHECK(seal(1) == "its index names more than it holds");
  }
  SECTION("bytes that belong to no record") {
    head += "x";
    CHECK(seal(0) == "its index does not name all that it holds");
  }
  SECTION("a record that is too large") {
    SnapshotItem item = two[0].first;
    item.bytes = kMaxSnapshotRecordBytes + 1;
    AppendSnapshotItem(item, &index);
    CHECK(seal(1) == "an item of its index is larger than a record may be");
  }
  SECTION("a text with control characters") {
    AppendSnapshotItem(two[0].first, &index);
    index[index.find("sm_90")] = '\x1b';
    CHECK(seal(1) == "an item of its index has a malformed text");
  }
  SECTION("a kind of a later version") {
    AppendSnapshotItem(two[0].first, &index);
    index[0] = 3;
    CHECK(seal(1) == "an item of its index is of a kind that this version does not know");
  }
}

TEST_CASE("a snapshot is read only from a regular file") {
  const int file = memfd_create("snapshot", MFD_CLOEXEC);
  const std::string bytes = Write(SomeRecords(4));
  REQUIRE(write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const auto opened = SnapshotFile::Open(file);
  REQUIRE(std::holds_alternative<SnapshotFile>(opened));
  const auto reader = SnapshotReader::Open(std::get<SnapshotFile>(opened));
  REQUIRE(std::holds_alternative<SnapshotReader>(reader));
  CHECK(std::get<SnapshotReader>(reader).Verify().empty());
  CHECK(std::get<SnapshotReader>(reader).count() == 4);
  close(file);

  int pipes[2];
  REQUIRE(pipe2(pipes, O_CLOEXEC) == 0);
  CHECK(std::get<std::string>(SnapshotFile::Open(pipes[0])).find("regular file") !=
        std::string::npos);
  close(pipes[0]);
  close(pipes[1]);
}

TEST_CASE("an index larger than the buffer is read whole") {
  Records many;
  for (size_t i = 0; i < 2000; ++i) many.emplace_back(Item(std::to_string(i)), std::to_string(i));
  std::sort(many.begin(), many.end(),
            [](const auto& a, const auto& b) { return SnapshotOrder(a.first, b.first); });
  const std::string bytes = Write(many);
  CHECK(WrongWith(bytes).empty());
  CHECK(ReadAll(bytes).size() == many.size());
}

TEST_CASE("a receiver that refuses bytes ends the writing") {
  int calls = 0;
  SnapshotWriter writer([&](std::string_view) { return ++calls < 2; });
  CHECK_FALSE(writer.Add(Item("a"), "stored"));
  CHECK(calls == 2);
}

}  // namespace
}  // namespace cccl_cache::snapshot_test
