// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/identified_toolchain.h"

namespace cccl_cache::daemon {

IdentifiedToolchain::IdentifiedToolchain(Parts parts, uid_t own_uid)
    : toolchain_(std::move(parts.toolchain)),
      installation_(std::move(parts.installation)),
      watched_(parts.survey.stamps_are_local && parts.watch->complete()),
      watch_(std::move(parts.watch)),
      comparison_(std::make_shared<StampComparison>(
          [installation = installation_, stamps = parts.survey.stamps, own_uid] {
            const Result<Survey> now = TakeSurvey(installation, own_uid, nullptr);
            return !now.ok() || now->stamps != stamps;
          })) {}

IdentifiedToolchain::Verdict IdentifiedToolchain::Known(FileChecks& threads) {
  if (watch_->Changed()) return Verdict::kChanged;
  if (watched_) return Verdict::kSame;
  if (comparison_->Due()) comparison_->Begin(threads, toolchain_->serial, [] {});
  return comparison_->Known();
}

void IdentifiedToolchain::Look(FileChecks& threads, std::function<void()> done) {
  if (watched_) return done();
  comparison_->Begin(threads, toolchain_->serial, std::move(done));
}

bool IdentifiedToolchain::StampsDiffer() { return comparison_->Differ(); }

}  // namespace cccl_cache::daemon
