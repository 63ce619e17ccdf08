// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/parked_looks.h"

#include <utility>

#include "daemon/core/build_answer.h"
#include "daemon/core/disk_reads.h"

namespace cccl_cached {
namespace {

// Most of what they do is to wait for callers' answers.
constexpr size_t kSentFilesPerUid = 16;

FileChecks::Bounds DiskReads(std::chrono::milliseconds patience) {
  FileChecks::Bounds bounds = kDiskReads;
  bounds.time = patience;
  return bounds;
}

}  // namespace

ParkedLooks::ParkedLooks(FlightTable& table, Responder& responder,
                         std::chrono::milliseconds patience)
    : table_(table),
      responder_(responder),
      files_hang_(FilesHang(patience)),
      disk_hangs_(DiskHangs(patience)),
      files_({.time = patience}),
      sent_files_({.threads_per_uid = kSentFilesPerUid, .time = patience}),
      disk_(DiskReads(patience)) {}

void ParkedLooks::AtFiles(WaiterPtr waiter, std::function<void()> look, Then then) {
  FileChecks& threads = waiter->files == nullptr ? files_ : sent_files_;
  Park(std::move(waiter), threads, {std::move(look), std::move(then), files_hang_});
}

void ParkedLooks::AtDisk(WaiterPtr waiter, Then then) {
  Park(std::move(waiter), disk_, {[] {}, std::move(then), disk_hangs_});
}

void ParkedLooks::Close() {
  files_.Close();
  sent_files_.Close();
  disk_.Close();
}

void ParkedLooks::Park(WaiterPtr waiter, FileChecks& threads, Look look) {
  const FlightTable::Ticket ticket = waiter->ticket;
  const uid_t uid = waiter->peer.uid;
  // Before the threads hear of it: they find it parked.
  table_.Park(std::move(waiter));
  const Status added = threads.Add(uid, {.look = std::move(look.look),
                                         .then =
                                             [this, ticket, then = std::move(look.then)] {
                                               if (WaiterPtr parked = table_.TakeParked(ticket))
                                                 then(std::move(parked));
                                             },
                                         .late =
                                             [this, ticket, &late = look.late] {
                                               if (WaiterPtr parked = table_.TakeParked(ticket)) {
                                                 responder_.Answer(std::move(parked), late);
                                               }
                                             }});
  if (added) return;
  if (WaiterPtr refused = table_.TakeParked(ticket)) {
    responder_.Refuse(std::move(refused), added.error());
  }
}

}  // namespace cccl_cached
