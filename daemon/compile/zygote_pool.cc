// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/zygote_pool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/files/whole_file.h"
#include "daemon/compile/protocol/frame.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::milliseconds;

/// Limit of the number of zygotes that serve a single account (KeepApart).
constexpr size_t kMaxApart = 2;

Error TimeUp() {
  return Error{ErrorCode::kTimedOut,
               "the compile's time was up before its toolchain was loaded; the daemon's "
               "build_timeout can be raised"};
}

/// Returns the resident memory of a process in bytes, or 0 if it has ended. Fast, because the
/// kernel maintains this number.
uint64_t ResidentBytes(pid_t pid) {
  const std::string text = ReadFileAt(fmt::format("/proc/{}/statm", pid)).value_or("");
  const char* const end = text.data() + text.size();
  const char* const second = std::find(text.data(), end, ' ');
  uint64_t pages = 0;
  if (second != end) std::from_chars(second + 1, end, pages);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ZygotePool::ZygotePool(std::string worker_path, ZygoteOptions options, ReportFunction report)
    : worker_path_(std::move(worker_path)), options_(options), report_(std::move(report)) {}

// The last owner of a zygote waits for its end. In all functions, `retired` is therefore declared
// before the lock, so that the mutex is unlocked before the zygotes in `retired` are destroyed.

Result<std::shared_ptr<Zygote>> ZygotePool::Acquire(const Toolchain& toolchain, Account account,
                                                    Clock::time_point deadline,
                                                    std::stop_token stop) {
  Key key{toolchain.serial, EncodeControlMessage(HelloFor(toolchain)), std::nullopt};
  if (IsKeptApart(toolchain, account)) key.apart = account;
  Zygotes retired;
  {
    const MutexLock lock(mutex_);
    const auto idle = [&]() REQUIRES(mutex_) { return !slots_[key].starting; };
    if (!started_.WaitUntil(mutex_, stop, deadline, idle)) {
      if (!stop.stop_requested()) return TimeUp();
      return Error{ErrorCode::kCancelled, "the compile was ended: no caller waits for it any more"};
    }
    Slot& slot = slots_[key];
    slot.last_use = ++uses_;
    if (std::shared_ptr<Zygote> zygote = CurrentOf(slot, retired)) return zygote;
    slot.starting = true;
    slot.version = toolchain.version();
  }
  if (!retired.empty() && !retired.front()->Usable()) {
    report_(fmt::format("the zygote of CUDA {} ended unexpectedly; a new one takes over",
                        toolchain.version()));
  }
  return FillSlot(key, toolchain, deadline);
}

std::shared_ptr<Zygote> ZygotePool::CurrentOf(Slot& slot, Zygotes& retired) {
  if (slot.zygote == nullptr) return nullptr;
  if (slot.zygote->Usable() && slot.zygote->spawned() < options_.forks_per_zygote) {
    return slot.zygote;
  }
  retired.push_back(std::exchange(slot.zygote, nullptr));
  return nullptr;
}

Result<std::shared_ptr<Zygote>> ZygotePool::FillSlot(const Key& key, const Toolchain& toolchain,
                                                     Clock::time_point deadline) {
  Result<std::shared_ptr<Zygote>> zygote = Start(toolchain, deadline);
  Zygotes retired;
  bool announce = false;
  {
    const MutexLock lock(mutex_);
    if (zygote.ok()) {
      Slot& slot = slots_[key];
      slot.zygote = *zygote;
      slot.starting = false;
      announce = sandbox_ != (*zygote)->sandbox();
      sandbox_ = (*zygote)->sandbox();
      Shrink(retired);
    } else {
      slots_.erase(key);
    }
    started_.NotifyAll();
  }
  if (announce && options_.announce_sandbox) options_.announce_sandbox((*zygote)->sandbox());
  return zygote;
}

Result<std::shared_ptr<Zygote>> ZygotePool::Start(const Toolchain& toolchain,
                                                  Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  if (left <= milliseconds(0)) return TimeUp();
  ZygoteHello hello = HelloFor(toolchain);
  hello.forks_ahead = options_.forks_ahead;
  Result<std::shared_ptr<Zygote>> zygote =
      Zygote::Start(worker_path_, hello, std::min(left, options_.start_deadline));
  if (!zygote && Clock::now() >= deadline) return TimeUp();
  return zygote;
}

void ZygotePool::Shrink(Zygotes& retired) {
  Shrink(false, options_.zygotes, retired);
  Shrink(true, kMaxApart, retired);
}

void ZygotePool::Shrink(bool apart, size_t bound, Zygotes& retired) {
  const auto running = [apart](const auto& entry) {
    return entry.second.zygote != nullptr && entry.first.apart.has_value() == apart;
  };
  while (std::ranges::count_if(slots_, running) > static_cast<int64_t>(bound)) {
    const auto oldest = std::ranges::min_element(slots_, {}, [&](const auto& entry) {
      return running(entry) ? entry.second.last_use : UINT64_MAX;
    });
    retired.push_back(std::move(oldest->second.zygote));
    slots_.erase(oldest);
  }
}

std::vector<ZygoteActivity> ZygotePool::List() const {
  // Copies the pids instead of the pointers. A pointer could become the last owner of a zygote, and
  // would have to wait for its end.
  std::vector<std::pair<pid_t, ZygoteActivity>> listed;
  {
    const MutexLock lock(mutex_);
    for (const auto& [key, slot] : slots_) {
      if (slot.zygote == nullptr) continue;
      listed.emplace_back(slot.zygote->pid(), ZygoteActivity{.toolchain = slot.version,
                                                             .jobs = slot.zygote->spawned(),
                                                             .apart = key.apart});
    }
  }
  std::vector<ZygoteActivity> zygotes;
  for (auto& [pid, zygote] : listed) {
    zygote.resident_bytes = ResidentBytes(pid);
    zygotes.push_back(std::move(zygote));
  }
  return zygotes;
}

void ZygotePool::Discard(const std::shared_ptr<Zygote>& zygote, std::string_view reason) {
  zygote->MarkBroken();
  report_(fmt::format("a zygote is given up: {}", reason));
  const MutexLock lock(mutex_);
  std::erase_if(slots_, [&](const auto& entry) { return entry.second.zygote == zygote; });
}

void ZygotePool::KeepApart(const Toolchain& toolchain, Account account) {
  const auto now = Clock::now();
  const MutexLock lock(mutex_);
  std::erase_if(apart_, [now](const auto& entry) { return entry.second <= now; });
  apart_[{toolchain.serial, account}] = now + options_.kept_apart;
}

bool ZygotePool::IsKeptApart(const Toolchain& toolchain, Account account) {
  const MutexLock lock(mutex_);
  const auto found = apart_.find({toolchain.serial, account});
  return found != apart_.end() && Clock::now() < found->second;
}

void ZygotePool::KeepOnly(std::span<const ToolchainPtr> toolchains) {
  Zygotes retired;
  const MutexLock lock(mutex_);
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    const uint64_t serial = slot->first.serial;
    const bool kept =
        slot->second.starting ||
        std::ranges::any_of(toolchains, [&](const auto& each) { return each->serial == serial; });
    if (!kept) retired.push_back(std::move(slot->second.zygote));
    slot = kept ? std::next(slot) : slots_.erase(slot);
  }
}

}  // namespace cccl_cache::daemon
