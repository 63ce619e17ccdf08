// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox/sandbox.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/worker/sandbox/sandbox_link_targets.h"

namespace cccl_cache::daemon {
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
  Result<SystemCallFilter> filter = SystemCallFilter::Make(
      landlock->abi() > 0 ? SystemCallFilter::Paths::kReadOnly : SystemCallFilter::Paths::kNone);
  if (!filter) return filter.error();
  return Sandbox(*std::move(landlock), *std::move(filter));
}

SandboxKind Sandbox::kind() const {
  if (!filter_) return SandboxKind::kNone;
  return landlock_.abi() > 0 ? SandboxKind::kReadsToolchain : SandboxKind::kOpensNothing;
}

std::string Sandbox::Description() const {
  switch (kind()) {
    case SandboxKind::kReadsToolchain:
      return "Landlock ABI " + std::to_string(landlock_.abi()) + " and seccomp";
    case SandboxKind::kOpensNothing:
      return "seccomp alone, no Landlock: workers open no file themselves";
    case SandboxKind::kNone:
      break;
  }
  return "none, no seccomp: programs of other users than the daemon's own are not compiled";
}

Status Sandbox::LimitReach() const {
  if (Status dropped = DropCapabilities(); !dropped) return dropped;
  return landlock_.abi() > 0 ? landlock_.Enter() : Status(Ok{});
}

Status Sandbox::LimitCalls() const { return filter_ ? filter_->Enter() : Status(Ok{}); }

}  // namespace cccl_cache::daemon
