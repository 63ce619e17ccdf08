// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/worker/sandbox_link_targets.h"

namespace cccl_cached {
namespace {

/// A daemon that runs as root has workers that are root, but can do no more than open what root
/// owns.
Status DropCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) == 0) return Ok{};
  return Error{ErrorCode::kUnavailable, std::string("dropping capabilities: ") + strerror(errno)};
}

}  // namespace

Result<Sandbox> Sandbox::Prepare(const std::vector<std::string>& readable) {
  Result<LandlockRules> landlock = LandlockRules::Make(WithLinkTargets(readable));
  if (!landlock) return landlock.error();
  if (!SystemCallFilter::Available()) return Sandbox(*std::move(landlock), std::nullopt);
  Result<SystemCallFilter> reading = SystemCallFilter::Make(SystemCallFilter::Paths::kReadOnly);
  if (!reading) return reading.error();
  Result<SystemCallFilter> closed = SystemCallFilter::Make(SystemCallFilter::Paths::kNone);
  if (!closed) return closed.error();
  return Sandbox(*std::move(landlock), Filters{*std::move(reading), *std::move(closed)});
}

std::string Sandbox::Description() const {
  if (!filters_) return "none: the kernel has no seccomp, so only the daemon's own user is served";
  if (landlock_.abi() == 0) return "seccomp alone: the kernel has no Landlock";
  return "landlock ABI " + std::to_string(landlock_.abi()) + " + seccomp";
}

Status Sandbox::LimitReach(Reach reach) const {
  if (reach == Reach::kWhateverTheDaemonCan) return Ok{};
  if (Status dropped = DropCapabilities(); !dropped) return dropped;
  return landlock_.abi() > 0 ? landlock_.Enter() : Status(Ok{});
}

Status Sandbox::LimitCalls(Reach reach) const {
  if (filters_) {
    return (OpensReadableDirectories(reach) ? filters_->reading : filters_->closed).Enter();
  }
  if (reach == Reach::kWhateverTheDaemonCan) return Ok{};
  return Error{ErrorCode::kUnavailable, "the kernel has no seccomp"};
}

}  // namespace cccl_cached
