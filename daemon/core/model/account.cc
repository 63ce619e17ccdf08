// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/account.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace cccl_cache::daemon {
namespace {

constexpr uint64_t kReservedPart = 16;
/// Of fewer than this nothing is reserved.
constexpr uint64_t kLeastShared = 4;

uint64_t Reserve(uint64_t in_all) {
  return in_all < kLeastShared ? 0 : std::max<uint64_t>(in_all / kReservedPart, 1);
}

}  // namespace

bool Account::privileged() const {
  static const uid_t own = geteuid();
  return number_ == 0 || number_ == own;
}

std::string Account::Name() const {
  return *this == OfNameless() ? "the uids without a name" : fmt::format("user {}", number_);
}

uint64_t Allowance::Most(Account account, uint64_t mine, uint64_t used) const {
  const uint64_t room = account.privileged() ? in_all : in_all - Reserve(in_all);
  const uint64_t free = room > used ? room - used : 0;
  return std::min(per_account, account.privileged() ? mine + free : std::max(mine, free));
}

}  // namespace cccl_cache::daemon
