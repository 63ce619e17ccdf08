// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/received_snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "daemon/core/lease/deposit_index.h"
#include "daemon/snapshot/spool.h"
#include "proto/compression.h"

namespace cccl_cache::daemon {
namespace {

// Maximum bytes that the store charges for a record beyond the record's size. With this, limits are
// checked before any record is kept.
constexpr uint64_t kRecordOverhead = 1024;

Error Refused(std::string_view reason) {
  return {ErrorCode::kInvalidRequest,
          fmt::format("the snapshot is refused, nothing of it was inserted: {}", reason)};
}

/// Returns the error that stopped the insertion, with a text that names how many of the `of`
/// records were kept.
Error Broken(Error error, uint64_t kept, uint64_t of) {
  error.message = fmt::format("{} of the snapshot's {} entries are there, the others not: {}", kept,
                              of, error.message);
  return error;
}

}  // namespace

Result<ReceivedSnapshot::Record> ReceivedSnapshot::Decode(const SnapshotItem& item,
                                                          std::string_view stored) {
  if (const std::optional<std::string> bytes = Decompress(stored, item.bytes)) {
    if (item.kind == SnapshotKind::kArtifact) {
      if (auto record = DecodeArtifactRecord(item.key, *bytes)) return Record(*std::move(record));
    } else if (auto copy = DecodeDepositCopy(item.key, *bytes)) {
      return Record(*std::move(copy));
    }
  }
  return Refused(fmt::format("record {} does not hold what its key names", item.key.Hex()));
}

Result<Inserted> ReceivedSnapshot::Keep(const Record& record) const {
  if (const auto* copy = std::get_if<DepositCopy>(&record)) return options_.keep_deposit(*copy);
  return options_.keep(std::get<ArtifactRecord>(record));
}

Status ReceivedSnapshot::ForEachRecord(const SnapshotReader& reader, const Use& use) const {
  Status status = Ok{};
  std::string stored;
  const std::string unread = reader.ForEach([&](const SnapshotItem& item, uint64_t offset) {
    status = Admit(item);
    if (!status) return false;
    if (const std::string wrong = reader.Read(item, offset, &stored); !wrong.empty()) {
      status = Refused(wrong);
    } else if (const Result<Record> record = Decode(item, stored); !record) {
      status = record.error();
    } else {
      status = use(item, *record);
    }
    return status.ok();
  });
  return unread.empty() ? status : Refused(unread);
}

Status ReceivedSnapshot::Admit(const SnapshotItem& item) const {
  if (options_.caller.left.stop_requested()) {
    return Error{ErrorCode::kCancelled, "the caller left"};
  }
  const uint64_t bytes = std::max(item.bytes, item.stored_bytes);
  if (bytes <= kMaxRecordBytes) return options_.caller.hold(bytes * kCopiesOfRecord);
  return Refused(fmt::format("record {} takes {} bytes, and one may take {}: leave it out",
                             item.key.Hex(), bytes, kMaxRecordBytes));
}

Status ReceivedSnapshot::Append(std::string_view bytes) {
  received_ += bytes.size();
  if (Status fits = CheckSize(received_); !fits) return fits;
  return file_.Append(bytes);
}

Status ReceivedSnapshot::CheckSize(uint64_t bytes) const {
  if (bytes <= options_.limit_bytes) return Ok{};
  return Error{ErrorCode::kOverloaded,
               fmt::format("the snapshot takes {} bytes or more to keep, and {} may be inserted at "
                           "once: make a smaller one with filters, or raise the daemon's {}",
                           bytes, options_.limit_bytes,
                           options_.shared ? "store_limit" : "private_limit_per_uid")};
}

Status ReceivedSnapshot::CheckDeposits(const SnapshotReader& reader) const {
  uint64_t bytes = 0;
  const std::string unread = reader.ForEach([&](const SnapshotItem& item, uint64_t) {
    if (item.kind == SnapshotKind::kDeposit) {
      bytes += DepositIndex::Charge(ContentsSize(item.name_space, item.bytes));
    }
    return true;
  });
  if (!unread.empty()) return Refused(unread);
  if (bytes <= options_.deposit_limit_bytes) return Ok{};
  return Error{ErrorCode::kOverloaded,
               fmt::format("the snapshot's deposits take {} bytes, and a user may have {} bytes of "
                           "them together: make a smaller one with filters, or raise the daemon's "
                           "deposit_limit_per_uid",
                           bytes, options_.deposit_limit_bytes)};
}

uint64_t ReceivedSnapshot::PrivateCharge(const SnapshotItem& item, const Record& record) const {
  const auto* const entry = std::get_if<ArtifactRecord>(&record);
  if (options_.shared || entry == nullptr) return 0;
  constexpr uint64_t kLeast = PrivateEntries::kLeastCharge;
  const uint64_t manifest = entry->closure.entries.empty() ? 0 : kLeast;
  return std::max(item.bytes + kRecordOverhead, kLeast) + manifest;
}

Result<SnapshotSummary> ReceivedSnapshot::Finish() {
  const auto file = SnapshotFile::Open(file_.fd());
  if (const auto* wrong = std::get_if<std::string>(&file)) return Refused(*wrong);
  const auto opened = SnapshotReader::Open(std::get<SnapshotFile>(file));
  if (const auto* wrong = std::get_if<std::string>(&opened)) return Refused(*wrong);
  const auto& reader = std::get<SnapshotReader>(opened);
  if (const std::string wrong = reader.Verify(); !wrong.empty()) return Refused(wrong);
  const uint64_t bytes = reader.record_bytes() + reader.count() * kRecordOverhead;
  if (Status fits = CheckSize(bytes); !fits) return fits.error();
  if (Status fit = CheckDeposits(reader); !fit) return fit.error();
  uint64_t charged = 0;
  const Status sound = ForEachRecord(reader, [&](const SnapshotItem& item, const auto& record) {
    return CheckSize(charged += PrivateCharge(item, record));
  });
  if (!sound) return sound.error();

  SnapshotSummary summary;
  summary.shared = options_.shared;
  const Status kept =
      ForEachRecord(reader, [&](const SnapshotItem& item, const auto& record) -> Status {
        const Result<Inserted> each = Keep(record);
        if (!each) return each.error();
        const bool now = *each == Inserted::kNow;
        ++(now ? summary.records : summary.left_out);
        if (now) summary.bytes += item.bytes;
        return Ok{};
      });
  if (!kept) return Broken(kept.error(), summary.records + summary.left_out, reader.count());
  return summary;
}

}  // namespace cccl_cache::daemon
