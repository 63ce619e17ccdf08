// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/received_snapshot.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/lease/deposit_index.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/snapshot/snapshot_maker.h"

namespace cccl_cache::daemon::received_snapshot_test {
namespace {

using cccl_cache::Sha256;
using testing::RecordOf;
using testing::SnapshotNamed;
using testing::SnapshotOf;
using testing::StoredDeposit;
using testing::StoredFrom;
using testing::StoredRecord;
using Names = std::vector<std::string>;

struct Receiver {
  Result<SnapshotSummary> Receive(const std::string& file, std::stop_token left = {}) {
    auto spool = SpoolFile::Create(directory.path());
    REQUIRE(spool);
    ReceivedSnapshot incoming(*std::move(spool),
                              {.caller = {.peer = {}, .hold = hold, .left = std::move(left)},
                               .limit_bytes = limit,
                               .deposit_limit_bytes = deposit_limit,
                               .shared = shared,
                               .keep = [this](const ArtifactRecord& record) -> Result<Inserted> {
                                 if (full && kept.size() == room) return *full;
                                 kept.push_back(record.artifact->parts.front().bytes);
                                 return there ? Inserted::kBefore : Inserted::kNow;
                               },
                               .keep_deposit = [this](const DepositCopy& copy) -> Result<Inserted> {
                                 deposited.push_back(copy.name_space + ": " + *copy.contents);
                                 return Inserted::kNow;
                               },
                               .place = {}});
    // In pieces that end at any place.
    for (size_t start = 0; start < file.size(); start += 77) {
      if (Status appended = incoming.Append(file.substr(start, 77)); !appended) {
        return appended.error();
      }
    }
    return incoming.Finish();
  }
  /// Returns why nothing of the file was kept.
  std::string Refusal(const std::string& file) {
    const auto received = Receive(file);
    REQUIRE_FALSE(received.ok());
    REQUIRE(kept.empty());
    CHECK(received.error().code == ErrorCode::kInvalidRequest);
    return received.error().message;
  }

  TemporaryDirectory directory;
  uint64_t limit = 1 << 20;
  uint64_t deposit_limit = 1 << 20;
  bool shared = true;
  std::function<Status(uint64_t)> hold = [](uint64_t) -> Status { return Ok{}; };
  bool there = false;
  std::optional<Error> full;  ///< the error for records beyond `room`
  size_t room = 0;
  Names kept;
  Names deposited;
};

TEST_CASE("all records of a complete snapshot are kept") {
  Receiver receiver;
  const auto received = receiver.Receive(SnapshotNamed({"one", "two", "three"}));
  REQUIRE(received.ok());
  CHECK(received->records == 3);
  CHECK(received->left_out == 0);
  CHECK(received->shared);
  std::ranges::sort(receiver.kept);
  CHECK(receiver.kept == Names{"one", "three", "two"});
}

TEST_CASE("if not all private entries of a snapshot can be kept, none is") {
  Receiver receiver;
  receiver.shared = false;
  receiver.limit = 2 * PrivateEntries::kLeastCharge;
  const auto refused = receiver.Receive(SnapshotNamed({"one", "two", "three"}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(refused.error().message.find("private_limit_per_uid") != std::string::npos);
  CHECK(receiver.kept.empty());
  CHECK(receiver.Receive(SnapshotNamed({"one", "two"})).ok());
}

TEST_CASE("a private entry that depends on files counts its manifest too") {
  const auto snapshot = [](const std::vector<std::string>& names) {
    std::vector<StoredRecord> records;
    for (const std::string& name : names) {
      ArtifactRecord record = RecordOf(name);
      record.closure.entries = {{{0, "a.h"}, FileKind::kFile, Sha256("a"), 0}};
      records.push_back(StoredFrom(record));
    }
    return SnapshotOf(std::move(records));
  };
  Receiver receiver;
  receiver.shared = false;
  receiver.limit = 3 * PrivateEntries::kLeastCharge;
  const auto refused = receiver.Receive(snapshot({"one", "two"}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(receiver.kept.empty());
  CHECK(receiver.Receive(snapshot({"one"})).ok());
  receiver.shared = true;
  CHECK(receiver.Receive(snapshot({"one", "two"})).ok());
}

TEST_CASE("entries that were present before are counted separately") {
  Receiver receiver;
  receiver.there = true;
  const auto received = receiver.Receive(SnapshotNamed({"one", "two"}));
  REQUIRE(received.ok());
  CHECK(received->records == 0);
  CHECK(received->bytes == 0);
  CHECK(received->left_out == 2);
}

TEST_CASE("if not all deposits of a snapshot can be kept, none is") {
  Receiver receiver;
  receiver.deposit_limit = 2 * DepositIndex::kLeastCharge;
  const std::string two = SnapshotOf({StoredDeposit("a"), StoredDeposit("b")});
  const std::string three =
      SnapshotOf({StoredDeposit("a"), StoredDeposit("b"), StoredDeposit("c")});
  const auto refused = receiver.Receive(three);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(refused.error().message.find("deposit_limit_per_uid") != std::string::npos);
  CHECK(receiver.deposited.empty());
  REQUIRE(receiver.Receive(two).ok());
  CHECK(receiver.deposited.size() == 2);
}

TEST_CASE("a deposit counts with the size of its contents") {
  Receiver receiver;
  receiver.deposit_limit = 3 * DepositIndex::kLeastCharge;
  const std::string full(receiver.deposit_limit, 'x');
  CHECK(receiver.Receive(SnapshotOf({StoredDeposit("a", full)})).ok());
  const auto refused = receiver.Receive(SnapshotOf({StoredDeposit("b", full + "x")}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
}

TEST_CASE("a deposit is kept only under its own identity") {
  StoredRecord deposit = StoredDeposit("fields");
  Receiver receiver;
  const auto received = receiver.Receive(SnapshotOf({StoredFrom(RecordOf("one")), deposit}));
  REQUIRE(received.ok());
  CHECK(received->records == 2);
  CHECK(receiver.kept == Names{"one"});
  CHECK(receiver.deposited == Names{"n: bytes"});

  Receiver other;
  deposit.item.key = cccl_cache::Sha256("another");
  CHECK_FALSE(other.Refusal(SnapshotOf({deposit})).empty());
  CHECK(other.deposited.empty());
}

TEST_CASE("a snapshot without records is valid") {
  Receiver receiver;
  const auto received = receiver.Receive(SnapshotNamed({}));
  REQUIRE(received.ok());
  CHECK(received->records == 0);
}

TEST_CASE("a snapshot with an altered byte is refused") {
  const std::string whole = SnapshotNamed({"one", "two"});
  for (size_t place = 0; place < whole.size(); ++place) {
    INFO(place);
    std::string altered = whole;
    altered[place] = static_cast<char>(altered[place] ^ 0x10);
    Receiver receiver;
    REQUIRE_FALSE(receiver.Refusal(altered).empty());
  }
}

TEST_CASE("a snapshot that was cut off anywhere is refused") {
  const std::string whole = SnapshotNamed({"one", "two"});
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    Receiver receiver;
    REQUIRE_FALSE(receiver.Refusal(whole.substr(0, size)).empty());
  }
}

TEST_CASE("a snapshot with bytes after its end is refused") {
  Receiver receiver;
  CHECK_FALSE(receiver.Refusal(SnapshotNamed({"one"}) + "x").empty());
}

TEST_CASE("a snapshot with a record that does not match its key is refused") {
  for (int forgery = 0; forgery < 3; ++forgery) {
    INFO(forgery);
    std::vector<StoredRecord> records = {StoredFrom(RecordOf("one")), StoredFrom(RecordOf("two"))};
    StoredRecord& forged = records[1];
    if (forgery == 0) forged.item.key = Sha256("another key");
    if (forgery == 1) forged.bytes = StoredFrom(RecordOf("three")).bytes;
    if (forgery == 2) ++forged.item.bytes;
    Receiver receiver;
    const std::string reason = receiver.Refusal(SnapshotOf(records));
    CHECK(reason.find(forged.item.key.Hex()) != std::string::npos);
    CHECK(reason.find("does not hold what its key names") != std::string::npos);
  }
}

TEST_CASE("a snapshot with a record that can't be decompressed is refused") {
  cccl_cache::SnapshotItem item = StoredFrom(RecordOf("one")).item;
  std::string file;
  cccl_cache::SnapshotWriter writer([&](std::string_view bytes) {
    file.append(bytes);
    return true;
  });
  REQUIRE(writer.Add(item, "no frame of zstd"));
  REQUIRE(writer.Finish());
  Receiver receiver;
  CHECK_FALSE(receiver.Refusal(file).empty());
}

TEST_CASE("shared records above the limit are refused before any is kept") {
  Receiver receiver;
  receiver.limit = 4'000;
  const auto received = receiver.Receive(SnapshotNamed({"one", "two", "three", "four"}));
  REQUIRE_FALSE(received.ok());
  CHECK(received.error().code == ErrorCode::kOverloaded);
  CHECK(received.error().message.find("store_limit") != std::string::npos);
  CHECK(receiver.kept.empty());
  REQUIRE(receiver.Receive(SnapshotNamed({"one", "two"})).ok());
}

TEST_CASE("a snapshot with a record above the limit is refused before the record is read") {
  std::vector<StoredRecord> records = {StoredFrom(RecordOf("one")), StoredFrom(RecordOf("two"))};
  records[1].item.bytes = kMaxRecordBytes + 1;
  Receiver receiver;
  receiver.limit = 1 << 30;
  uint64_t held = 0;
  receiver.hold = [&](uint64_t bytes) -> Status {
    held = std::max(held, bytes);
    return Ok{};
  };
  const std::string reason = receiver.Refusal(SnapshotOf(records));
  CHECK(reason.find(records[1].item.key.Hex()) != std::string::npos);
  CHECK(reason.find("one may take " + std::to_string(kMaxRecordBytes)) != std::string::npos);
  CHECK(held < kMaxRecordBytes);
}

TEST_CASE("a file above the limit is refused while it arrives") {
  Receiver receiver;
  receiver.limit = 100;
  const auto received = receiver.Receive(SnapshotNamed({"one"}));
  REQUIRE_FALSE(received.ok());
  CHECK(received.error().code == ErrorCode::kOverloaded);
}

TEST_CASE("nothing is kept if the caller has left") {
  Receiver receiver;
  std::stop_source left;
  left.request_stop();
  const auto received = receiver.Receive(SnapshotNamed({"one"}), left.get_token());
  REQUIRE_FALSE(received.ok());
  CHECK(received.error().code == ErrorCode::kCancelled);
  CHECK(receiver.kept.empty());
}

TEST_CASE("the error about a full store has the reason and the number of kept records") {
  Receiver receiver;
  receiver.full = Error{ErrorCode::kOverloaded, "full"};
  receiver.room = 2;
  const auto received = receiver.Receive(SnapshotNamed({"one", "two", "three"}));
  REQUIRE_FALSE(received.ok());
  CHECK(received.error().code == ErrorCode::kOverloaded);
  CHECK(received.error().message ==
        "2 of the snapshot's 3 entries are there, the others not: full");
}

TEST_CASE("an incoming file has no name on the disk") {
  TemporaryDirectory directory;
  auto spool = SpoolFile::Create(directory.path());
  REQUIRE(spool);
  REQUIRE(spool->Append("some"));
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("the error about an unwritable state directory names it") {
  const auto spool = SpoolFile::Create("/nonexistent");
  REQUIRE_FALSE(spool);
  CHECK(spool.error().code == ErrorCode::kUnavailable);
  CHECK(spool.error().message.find("state directory") != std::string::npos);
}

}  // namespace
}  // namespace cccl_cache::daemon::received_snapshot_test
