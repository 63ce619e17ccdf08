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

/// Digests of the contents of an installation. Equal files in another directory have equal digests.
struct Identity {
  Digest nvrtc;  ///< of the library and its builtins
  Digest nvjitlink;
  Digest nvvm;   ///< of the library and libdevice
  Digest whole;  ///< of all parts and the headers
  std::shared_ptr<const ToolchainHeaders> headers;
};

/// Computes the digests of installations. The digests of files are stored together with the files'
/// stamps, so that an unchanged file is read only once. A stored digest is not used for files of
/// file system images, after a boot, or on another mount, because equal stamps prove nothing there.
/// There is one record for each part of an installation. Its name contains the path of the part's
/// first file:
///
///   name  = "toolchain/files/2/" hex(SHA-256(part, path of its first file))
///   value = stamps (32 bytes) n*digest (32 bytes each, of each file in the order of names)
///
/// Not thread-safe.
class Identifier {
 public:
  explicit Identifier(MetaStore& meta) : meta_(meta) {}

  /// Returns the digests of the surveyed files. The survey must come from SettledSurvey.
  /// kUnavailable: a file can't be read, or has changed since the survey.
  Result<Identity> Identify(const Survey& survey, const std::stop_token& stop);

 private:
  using Digests = std::vector<Digest>;

  /// Returns the digest of each file. Returns none if a file can't be read, or has changed since
  /// the survey.
  std::optional<Digests> DigestsOf(std::string_view name, const SurveyedPart& part,
                                   const std::stop_token& stop);
  std::optional<Digests> Remembered(const std::string& record, const SurveyedPart& part);
  void Remember(const std::string& record, const SurveyedPart& part, const Digests& digests);

  MetaStore& meta_;
  std::map<std::string, std::string> recent_;  ///< records that meta_ may not have stored yet
};

/// Returns a survey in which every stamp is older than one clock tick of the file system. Waits if
/// necessary. Otherwise a file could change twice within a tick, and have one stamp for two
/// contents.
[[nodiscard]] Result<Survey> SettledSurvey(const Installation& installation, uid_t own_uid,
                                           LookupObserver* observer);

/// Returns the SHA-256 of a file's bytes. Returns none if the file has changed since the survey, if
/// it can't be read, or if `stop` is requested.
[[nodiscard]] std::optional<Digest> DigestOfFile(const SurveyedFile& file,
                                                 const std::stop_token& stop);

}  // namespace cccl_cache::daemon
