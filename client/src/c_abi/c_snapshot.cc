// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "client/src/c_abi/handles.h"
#include "client/src/calls/snapshots.h"
#include "proto/digest.h"
#include "proto/snapshot/snapshot_reader.h"

using cccl_cache::After;
using cccl_cache::CancellationDisabled;
using cccl_cache::CreateSnapshot;
using cccl_cache::Deadline;
using cccl_cache::Digest;
using cccl_cache::Error;
using cccl_cache::Expected;
using cccl_cache::Fail;
using cccl_cache::FillStruct;
using cccl_cache::InsertSnapshot;
using cccl_cache::ReadStruct;
using cccl_cache::SnapshotChoice;
using cccl_cache::SnapshotFile;
using cccl_cache::SnapshotItem;
using cccl_cache::SnapshotReader;
using cccl_cache::SnapshotSummary;
using cccl_cache::ToBytes;
using cccl_cache::ToView;

namespace {

constexpr std::chrono::hours kSnapshotTimeout{1};

Error NoSnapshot(const std::string& reason) {
  return {CCCL_CACHE_INVALID_REQUEST, "the snapshot is refused: " + reason};
}

/// A snapshot file with a reader of it. It can't be moved, because the reader refers to the file.
class OpenSnapshot {
 public:
  explicit OpenSnapshot(int fd) : file_(SnapshotFile::Open(fd)), reader_(std::string()) {
    if (const auto* reason = std::get_if<std::string>(&file_)) {
      reader_ = *reason;
    } else {
      reader_ = SnapshotReader::Open(std::get<SnapshotFile>(file_));
    }
  }
  OpenSnapshot(const OpenSnapshot&) = delete;
  OpenSnapshot& operator=(const OpenSnapshot&) = delete;

  /// Returns null if the file can't be opened or is not a snapshot; then reason() says why.
  [[nodiscard]] const SnapshotReader* reader() const {
    return std::get_if<SnapshotReader>(&reader_);
  }
  [[nodiscard]] const std::string& reason() const { return std::get<std::string>(reader_); }

 private:
  std::variant<SnapshotFile, std::string> file_;
  std::variant<SnapshotReader, std::string> reader_;
};

void Tell(const SnapshotSummary& from, cccl_cache_snapshot_summary* summary) {
  if (summary == nullptr) return;
  cccl_cache_snapshot_summary known = {};
  known.records = from.records;
  known.bytes = from.bytes;
  known.left_out = from.left_out;
  known.shared = from.shared ? 1 : 0;
  FillStruct(known, summary);
}

/// Returns the keys in the filter as bytes, one after the other.
Expected<std::string> WantedKeys(const cccl_cache_snapshot_filter& filter) {
  std::string wanted;
  for (size_t i = 0; filter.only_keys != 0 && i < filter.key_count; ++i) {
    const std::string_view hex = ToView(filter.keys[i]);
    const std::optional<Digest> key = Digest::FromHex(hex);
    if (!key) {
      return Error{CCCL_CACHE_INVALID_REQUEST,
                   "keys of the filter: \"" + std::string(hex.substr(0, 80)) +
                       "\" is no whole key, which has 64 hexadecimal digits"};
    }
    wanted.append(key->View());
  }
  return wanted;
}

cccl_cache_status Create(cccl_cache_client* client, std::string_view known_keys, int fd,
                         const cccl_cache_snapshot_filter* given, Deadline deadline,
                         cccl_cache_snapshot_summary* summary, cccl_cache_error** error) {
  const cccl_cache_snapshot_filter narrowed = ReadStruct(given);
  const Expected<std::string> wanted = WantedKeys(narrowed);
  if (!wanted.ok()) return Fail(wanted.error(), error);
  const SnapshotChoice filter = {.toolchain = ToView(narrowed.toolchain),
                                 .arch = ToView(narrowed.arch),
                                 .name_space = ToView(narrowed.name_space),
                                 .since_s = narrowed.since,
                                 .until_s = narrowed.until,
                                 .uids = {narrowed.uids, narrowed.uid_count},
                                 .all_users = narrowed.all_users != 0,
                                 .only_wanted = narrowed.only_keys != 0};
  const Expected<SnapshotSummary> made =
      CreateSnapshot(&client->daemon.channel(), filter, {known_keys, *wanted}, fd, deadline);
  if (!made.ok()) return Fail(made.error(), error);
  Tell(*made, summary);
  return CCCL_CACHE_OK;
}

cccl_cache_snapshot_item ItemOf(const SnapshotItem& item, std::string* key,
                                std::string* toolchain) {
  *key = item.key.Hex();
  *toolchain = item.toolchain.Hex();
  cccl_cache_snapshot_item known = {};
  known.struct_size = sizeof(known);
  known.kind = static_cast<cccl_cache_snapshot_kind>(item.kind);
  known.key = ToBytes(*key);
  known.toolchain_id = ToBytes(*toolchain);
  known.toolchain_version = ToBytes(item.toolchain_version);
  known.arch = ToBytes(item.arch);
  known.name_space = ToBytes(item.name_space);
  known.stored_bytes = item.stored_bytes;
  known.bytes = item.bytes;
  return known;
}

}  // namespace

cccl_cache_status cccl_cache_snapshot_create(cccl_cache_client* client, int fd,
                                             const cccl_cache_snapshot_filter* filter,
                                             uint32_t timeout_ms,
                                             cccl_cache_snapshot_summary* summary,
                                             cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Create(client, {}, fd, filter, After(timeout_ms, kSnapshotTimeout), summary, error);
}

cccl_cache_status cccl_cache_snapshot_delta(cccl_cache_client* client, int since_fd, int fd,
                                            const cccl_cache_snapshot_filter* filter,
                                            uint32_t timeout_ms,
                                            cccl_cache_snapshot_summary* summary,
                                            cccl_cache_error** error) {
  const CancellationDisabled guard;
  const OpenSnapshot since(since_fd);
  if (since.reader() == nullptr) return Fail(NoSnapshot(since.reason()), error);
  std::string keys;
  const std::string unread = since.reader()->ForEach([&](const SnapshotItem& item, uint64_t) {
    keys.append(item.key.View());
    return true;
  });
  if (!unread.empty()) return Fail(NoSnapshot(unread), error);
  return Create(client, keys, fd, filter, After(timeout_ms, kSnapshotTimeout), summary, error);
}

cccl_cache_status cccl_cache_snapshot_insert(cccl_cache_client* client, int fd, uint32_t timeout_ms,
                                             cccl_cache_snapshot_summary* summary,
                                             cccl_cache_error** error) {
  const CancellationDisabled guard;
  // Checks the file here first, so that a file that is no snapshot is not sent.
  const OpenSnapshot snapshot(fd);
  if (snapshot.reader() == nullptr) return Fail(NoSnapshot(snapshot.reason()), error);
  const Expected<SnapshotSummary> kept =
      InsertSnapshot(&client->daemon.channel(), fd, snapshot.reader()->file_bytes(),
                     After(timeout_ms, kSnapshotTimeout));
  if (!kept.ok()) return Fail(kept.error(), error);
  Tell(*kept, summary);
  return CCCL_CACHE_OK;
}

cccl_cache_status cccl_cache_snapshot_list(int fd, cccl_cache_snapshot_visit visit, void* context,
                                           cccl_cache_error** error) {
  const CancellationDisabled guard;
  const OpenSnapshot snapshot(fd);
  if (snapshot.reader() == nullptr) return Fail(NoSnapshot(snapshot.reason()), error);
  std::string key;
  std::string toolchain;
  const std::string unread = snapshot.reader()->ForEach([&](const SnapshotItem& item, uint64_t) {
    const cccl_cache_snapshot_item told = ItemOf(item, &key, &toolchain);
    return visit(&told, context) == 0;
  });
  return unread.empty() ? CCCL_CACHE_OK : Fail(NoSnapshot(unread), error);
}

cccl_cache_status cccl_cache_snapshot_verify(int fd, cccl_cache_snapshot_summary* summary,
                                             cccl_cache_error** error) {
  const CancellationDisabled guard;
  const OpenSnapshot snapshot(fd);
  if (snapshot.reader() == nullptr) return Fail(NoSnapshot(snapshot.reason()), error);
  const std::string wrong = snapshot.reader()->Verify();
  if (!wrong.empty()) return Fail(NoSnapshot(wrong), error);
  Tell({snapshot.reader()->count(), snapshot.reader()->file_bytes()}, summary);
  return CCCL_CACHE_OK;
}
