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

/// The identity of an installation, by content alone: the same files elsewhere have the same
/// digests.
struct Identity {
  Digest nvrtc;  ///< library and builtins
  Digest nvjitlink;
  Digest nvvm;   ///< library and libdevice
  Digest whole;  ///< all parts, headers included
  std::shared_ptr<const ToolchainHeaders> headers;
};

/// Computes identities, and caches digests under the stamps of the files, so that each state of a
/// file is read once where stamps prove it: not in images, after a boot, or on another mount. There
/// is one record per part of an installation, named after the place of the
/// part:
///
///   name  = "toolchain/files/2/" hex(SHA-256(part, path of its first file))
///   value = stamps (32 bytes) n*digest (32 bytes each, of each file in the order of names)
///
/// Not thread-safe.
class Identifier {
 public:
  explicit Identifier(MetaStore& meta) : meta_(meta) {}

  /// kUnavailable: a file changed meanwhile, or can't be read. The survey must be at least as old
  /// as the resolution of its stamps (SettledSurvey ensures it).
  Result<Identity> Identify(const Survey& survey, const std::stop_token& stop);

 private:
  using Digests = std::vector<Digest>;

  /// Returns the digest of each file, or none if a file changed meanwhile or can't be read.
  std::optional<Digests> DigestsOf(std::string_view name, const SurveyedPart& part,
                                   const std::stop_token& stop);
  std::optional<Digests> Remembered(const std::string& record, const SurveyedPart& part);
  void Remember(const std::string& record, const SurveyedPart& part, const Digests& digests);

  MetaStore& meta_;
  std::map<std::string, std::string> recent_;  ///< latest written records; meta_ writes later
};

/// Returns a survey that is older than the clock tick of the file systems, and waits for that if
/// needed. A file that changes twice within one tick could have one stamp for two contents.
[[nodiscard]] Result<Survey> SettledSurvey(const Installation& installation, uid_t own_uid,
                                           LookupObserver* observer);

/// Returns the SHA-256 of a file's bytes. None if it is not the surveyed file any more, before or
/// after reading, if it can't be read, or on a stop.
[[nodiscard]] std::optional<Digest> DigestOfFile(const SurveyedFile& file,
                                                 const std::stop_token& stop);

}  // namespace cccl_cache::daemon
