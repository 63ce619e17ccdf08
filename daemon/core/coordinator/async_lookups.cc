// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/async_lookups.h"

#include <utility>

namespace cccl_cache::daemon {
namespace {

// More threads than for other files, because these threads mostly wait for callers' answers.
constexpr size_t kSentFilesPerUid = 16;

BlockingPool::Bounds DiskReads(const AsyncLookups::Timeouts& patience) {
  BlockingPool::Bounds bounds = kDiskReads;
  bounds.time = patience.look;
  bounds.look_time = patience.disk;
  return bounds;
}

}  // namespace

AsyncLookups::AsyncLookups(FlightTable& table, Responder& responder, const Timeouts& patience)
    : table_(table),
      responder_(responder),
      files_hang_(FilesHang(patience.look)),
      disk_hangs_(DiskHangs(patience.disk)),
      files_({.time = patience.look}),
      sent_files_(
          {.name = "sent files", .threads_per_uid = kSentFilesPerUid, .time = patience.look}),
      disk_(DiskReads(patience)),
      computing_({.name = "large requests",
                  .awaited = "threads that read large requests",
                  .time = patience.look}) {}

void AsyncLookups::Compute(BuildPtr build, std::function<void()> work, Then then) {
  const Error busy{ErrorCode::kOverloaded, "too many large requests of this user wait to be read"};
  Park(std::move(build), computing_,
       {.look = std::move(work),
        .then = std::move(then),
        .late = [this, busy](BuildPtr late) { responder_.Refuse(std::move(late), busy); },
        .refused = [this](BuildPtr refused,
                          const Error& why) { responder_.Refuse(std::move(refused), why); }});
}

void AsyncLookups::AtFiles(BuildPtr build, std::function<void()> look, Then then) {
  BlockingPool& threads = build->files == nullptr ? files_ : sent_files_;
  Park(std::move(build), threads,
       {.look = std::move(look),
        .then = std::move(then),
        .late = [this](BuildPtr late) { responder_.Answer(std::move(late), files_hang_); },
        .refused = [this](BuildPtr refused,
                          const Error& why) { responder_.Refuse(std::move(refused), why); }});
}

void AsyncLookups::AtDisk(BuildPtr build, std::function<void()> read, Then then, Then without) {
  const auto goes_on = [this, without = std::move(without)](BuildPtr parked, const Error& why) {
    if (parked->dry_run) return responder_.Answer(std::move(parked), why);
    without(std::move(parked));
  };
  Park(std::move(build), disk_,
       {.look = std::move(read),
        .then = std::move(then),
        .late = [goes_on, hangs = disk_hangs_](BuildPtr late) { goes_on(std::move(late), hangs); },
        .refused = goes_on});
}

void AsyncLookups::Close() {
  files_.Close();
  sent_files_.Close();
  disk_.Close();
  computing_.Close();
}

void AsyncLookups::Park(BuildPtr build, BlockingPool& threads, Look look) {
  const FlightTable::Ticket ticket = build->ticket;
  const Account account = build->peer.account();
  const auto resume = [this, ticket](Then next) {
    return [this, ticket, next = std::move(next)] {
      if (BuildPtr parked = table_.TakeParked(ticket)) next(std::move(parked));
    };
  };
  // The build is parked before the work is queued, so that the thread of the work finds it parked.
  table_.Park(std::move(build));
  const Status added = threads.Add(account, {.look = std::move(look.look),
                                             .then = resume(std::move(look.then)),
                                             .late = resume(std::move(look.late))});
  if (added) return;
  if (BuildPtr refused = table_.TakeParked(ticket)) {
    look.refused(std::move(refused), added.error());
  }
}

}  // namespace cccl_cache::daemon
