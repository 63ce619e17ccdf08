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

/// The identity of an installation, by contents alone: equal files in another place have equal
/// digests.
struct Identity {
  Digest nvrtc;  ///< library and builtins
  Digest nvjitlink;
  Digest nvvm;   ///< library and libdevice
  Digest whole;  ///< all parts, headers included
  std::shared_ptr<const ToolchainHeaders> headers;
};

/// Computes identities. Caches digests under the stamps of the files, so that an unchanged file is
/// read once. Stamps are not trusted in images, after a boot, or on another mount. There is one
/// record per part of an installation, named after the part's first file:
///
///   name  = "toolchain/files/2/" hex(SHA-256(part, path of its first file))
///   value = stamps (32 bytes) n*digest (32 bytes each, of each file in the order of names)
///
/// Not thread-safe.
class Identifier {
 public:
  explicit Identifier(MetaStore& meta) : meta_(meta) {}

  /// Errors: kUnavailable if a file can't be read or has changed meanwhile. The survey's stamps
  /// must be older than their resolution (see SettledSurvey).
  Result<Identity> Identify(const Survey& survey, const std::stop_token& stop);

 private:
  using Digests = std::vector<Digest>;

  /// Returns the digest of each file; none if a file can't be read or has changed meanwhile.
  std::optional<Digests> DigestsOf(std::string_view name, const SurveyedPart& part,
                                   const std::stop_token& stop);
  std::optional<Digests> Remembered(const std::string& record, const SurveyedPart& part);
  void Remember(const std::string& record, const SurveyedPart& part, const Digests& digests);

  MetaStore& meta_;
  std::map<std::string, std::string> recent_;  ///< records that meta_ may not have written yet
};

/// Returns a survey whose stamps are older than one clock tick of the file systems; waits if
/// needed. A file that changes twice within one tick could have one stamp for two contents.
[[nodiscard]] Result<Survey> SettledSurvey(const Installation& installation, uid_t own_uid,
                                           LookupObserver* observer);

/// Returns the SHA-256 of a file's bytes. None if the file was replaced before or during the read,
/// if it can't be read, or on a stop.
[[nodiscard]] std::optional<Digest> DigestOfFile(const SurveyedFile& file,
                                                 const std::stop_token& stop);

}  // namespace cccl_cache::daemon
