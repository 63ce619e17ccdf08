// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/identified_toolchain.h"

namespace cccl_cached {
namespace {

constexpr std::chrono::seconds kRemoteInterval{1};

}  // namespace

IdentifiedToolchain::IdentifiedToolchain(Parts parts, uid_t own_uid)
    : toolchain_(std::move(parts.toolchain)),
      installation_(std::move(parts.installation)),
      stamps_(parts.survey.stamps),
      own_uid_(own_uid),
      stamps_are_local_(parts.survey.stamps_are_local),
      watched_(parts.survey.stamps_are_local && parts.watch->complete()),
      watch_(std::move(parts.watch)),
      compared_at_(std::chrono::steady_clock::now()) {}

bool IdentifiedToolchain::Changed() {
  if (watch_->Changed()) return true;
  if (watched_) return false;
  const std::lock_guard lock(mutex_);
  changed_ = changed_ || StampsDiffer();
  compared_at_ = std::chrono::steady_clock::now();
  return changed_;
}

bool IdentifiedToolchain::ChangedLately() {
  if (!watched_ && !stamps_are_local_) {
    const std::lock_guard lock(mutex_);
    const auto age = std::chrono::steady_clock::now() - compared_at_;
    if (age < kRemoteInterval && !watch_->Changed()) return changed_;
  }
  return Changed();
}

bool IdentifiedToolchain::StampsDiffer() const {
  const Result<Survey> now = TakeSurvey(installation_, own_uid_, nullptr);
  return !now.ok() || now->stamps != stamps_;
}

}  // namespace cccl_cached
