// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "daemon/core/result.h"
#include "daemon/core/tier.h"
#include "daemon/toolchain/survey.h"
#include "proto/digest.h"

namespace cccl_cached {

/// What an installation is, by content alone: the same files elsewhere have the same digests.
struct Identity {
  cccl_cache::Digest nvrtc;  ///< library, builtins and headers
  cccl_cache::Digest nvjitlink;
  cccl_cache::Digest nvvm;  ///< library and libdevice
  cccl_cache::Digest whole;
};

/// Computes identities, and remembers them under the stamps of the files so that each state of a
/// file is read once. One record per part of an installation, named after where the part lies:
///
///   name  = "toolchain/files/1/" hex(SHA-256(part, path of its first file))
///   value = stamps (32 bytes) digest (32 bytes)
///
/// Not thread-safe.
class Identifier {
 public:
  explicit Identifier(MetaStore& meta) : meta_(meta) {}

  /// kUnavailable: a file changed meanwhile, or can't be read. The survey must not be younger than
  /// the resolution of its stamps (SettledSurvey sees to it).
  Result<Identity> Identify(const Survey& survey, const std::stop_token& stop);

 private:
  using OptionalDigest = std::optional<cccl_cache::Digest>;

  /// Of no files: a digest that no file has.
  OptionalDigest PartDigest(std::string_view name, const SurveyedPart& part, bool remember,
                            const std::stop_token& stop);
  static OptionalDigest ReadPart(const SurveyedPart& part, const std::stop_token& stop);
  OptionalDigest Remembered(const std::string& record, const SurveyedPart& part);
  void Remember(const std::string& record, const SurveyedPart& part,
                const cccl_cache::Digest& digest);

  MetaStore& meta_;
  std::map<std::string, std::string> recent_;  ///< what was written: meta_ writes behind
};

/// A survey that is older than the steps in which file systems count time, waiting for that if need
/// be: a file that changes twice within one step could have one stamp for two contents.
[[nodiscard]] Result<Survey> SettledSurvey(const Installation& installation, uid_t own_uid,
                                           LookupObserver* observer);

}  // namespace cccl_cached
