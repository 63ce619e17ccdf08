// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/daemons_rights.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

#include "daemon/system/random.h"
#include "proto/daemons_rights.h"

namespace cccl_cache::daemon {
namespace {

void DropWakeAlarm() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (geteuid() == 0 || syscall(SYS_capget, &header, sets.data()) != 0) return;
  auto& set = sets[CAP_TO_INDEX(CAP_WAKE_ALARM)];
  const uint32_t others = ~CAP_TO_MASK(CAP_WAKE_ALARM);
  set = {set.effective & others, set.permitted & others, set.inheritable & others};
  syscall(SYS_capset, &header, sets.data());
}

}  // namespace

DaemonsRights::DaemonsRights() {
  DropWakeAlarm();
  const std::string secret = RandomDigest().Hex();
  const std::string name = std::string(kRightsFile) + secret;
  const FileDescriptor file(memfd_create(name.c_str(), MFD_CLOEXEC));
  file_ = FileDescriptor(fcntl(file.get(), F_DUPFD_CLOEXEC, kRightsDescriptor));
  if (file_.get() == kRightsDescriptor) digest_ = Sha256(secret);
}

bool DaemonsRights::AreProvenBy(std::string_view secret) const {
  return digest_ && Sha256(secret) == *digest_;
}

}  // namespace cccl_cache::daemon
