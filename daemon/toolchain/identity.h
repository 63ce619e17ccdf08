// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/toolchain/survey.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What an installation is, by content alone: the same files elsewhere have the same digests.
struct Identity {
  Digest nvrtc;  ///< library and builtins
  Digest nvjitlink;
  Digest nvvm;   ///< library and libdevice
  Digest whole;  ///< the headers too
  std::shared_ptr<const ToolchainHeaders> headers;
};

/// Computes identities, and remembers them under the stamps of the files so that each state of a
/// file is read once. One record per part of an installation, named after where the part lies:
///
///   name  = "toolchain/files/2/" hex(SHA-256(part, path of its first file))
///   value = stamps (32 bytes) n*digest (32 bytes each, of each file in the order of names)
///
/// Not thread-safe.
class Identifier {
 public:
  explicit Identifier(MetaStore& meta) : meta_(meta) {}

  /// kUnavailable: a file changed meanwhile, or can't be read. The survey must not be younger than
  /// the resolution of its stamps (SettledSurvey sees to it).
  Result<Identity> Identify(const Survey& survey, const std::stop_token& stop);

 private:
  using Digests = std::vector<Digest>;

  /// Of each file; none: one changed meanwhile, or can't be read.
  std::optional<Digests> DigestsOf(std::string_view name, const SurveyedPart& part, bool remember,
                                   const std::stop_token& stop);
  std::optional<Digests> Remembered(const std::string& record, const SurveyedPart& part);
  void Remember(const std::string& record, const SurveyedPart& part, const Digests& digests);

  MetaStore& meta_;
  std::map<std::string, std::string> recent_;  ///< what was written: meta_ writes behind
};

/// A survey that is older than the steps in which file systems count time, waiting for that if need
/// be: a file that changes twice within one step could have one stamp for two contents.
[[nodiscard]] Result<Survey> SettledSurvey(const Installation& installation, uid_t own_uid,
                                           LookupObserver* observer);

/// SHA-256 of a file's bytes; nothing if it isn't the surveyed file any more, before or after
/// reading, if it can't be read, or when told to stop.
[[nodiscard]] std::optional<Digest> DigestOfFile(const SurveyedFile& file,
                                                 const std::stop_token& stop);

}  // namespace cccl_cache::daemon
