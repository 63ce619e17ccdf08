// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build/parked_looks.h"

#include <utility>

#include "daemon/core/model/disk_reads.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {
namespace {

// Most of what they do is to wait for callers' answers.
constexpr size_t kSentFilesPerUid = 16;

FileChecks::Bounds DiskReads(const ParkedLooks::Patience& patience) {
  FileChecks::Bounds bounds = kDiskReads;
  bounds.time = patience.look;
  bounds.look_time = patience.disk;
  return bounds;
}

}  // namespace

ParkedLooks::ParkedLooks(FlightTable& table, Responder& responder, const Patience& patience)
    : table_(table),
      responder_(responder),
      files_hang_(FilesHang(patience.look)),
      files_({.time = patience.look}),
      sent_files_({.threads_per_uid = kSentFilesPerUid, .time = patience.look}),
      disk_(DiskReads(patience)),
      computing_({.awaited = "threads that read large requests", .time = patience.look}) {}

void ParkedLooks::Compute(WaiterPtr waiter, std::function<void()> work, Then then) {
  const Error busy{ErrorCode::kOverloaded, "too many large requests of this user wait to be read"};
  Park(std::move(waiter), computing_,
       {.look = std::move(work),
        .then = std::move(then),
        .late = [this, busy](WaiterPtr late) { responder_.Refuse(std::move(late), busy); },
        .refused = [this](WaiterPtr refused,
                          const Error& why) { responder_.Refuse(std::move(refused), why); }});
}

void ParkedLooks::AtFiles(WaiterPtr waiter, std::function<void()> look, Then then) {
  FileChecks& threads = waiter->files == nullptr ? files_ : sent_files_;
  Park(std::move(waiter), threads,
       {.look = std::move(look),
        .then = std::move(then),
        .late = [this](WaiterPtr late) { responder_.Answer(std::move(late), files_hang_); },
        .refused = [this](WaiterPtr refused,
                          const Error& why) { responder_.Refuse(std::move(refused), why); }});
}

void ParkedLooks::AtDisk(WaiterPtr waiter, std::function<void()> read, Then then, Then without) {
  Park(std::move(waiter), disk_,
       {.look = std::move(read),
        .then = std::move(then),
        .late = without,
        .refused = [without](WaiterPtr refused, const Error&) { without(std::move(refused)); }});
}

void ParkedLooks::Close() {
  files_.Close();
  sent_files_.Close();
  disk_.Close();
  computing_.Close();
}

void ParkedLooks::Park(WaiterPtr waiter, FileChecks& threads, Look look) {
  const FlightTable::Ticket ticket = waiter->ticket;
  const Account account = waiter->peer.account();
  const auto resume = [this, ticket](Then next) {
    return [this, ticket, next = std::move(next)] {
      if (WaiterPtr parked = table_.TakeParked(ticket)) next(std::move(parked));
    };
  };
  // Before the threads hear of it: they find it parked.
  table_.Park(std::move(waiter));
  const Status added = threads.Add(account, {.look = std::move(look.look),
                                             .then = resume(std::move(look.then)),
                                             .late = resume(std::move(look.late))});
  if (added) return;
  if (WaiterPtr refused = table_.TakeParked(ticket)) {
    look.refused(std::move(refused), added.error());
  }
}

}  // namespace cccl_cache::daemon
