// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "base/files/file_descriptor.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The secret by which a client proves that it has all rights of this process
/// (proto/daemons_rights.h). Clients can read the secret of only one object per process. Immutable.
class DaemonsRights {
 public:
  /// Also drops the capability to wake the machine. systemd gives it to users' managers and not to
  /// their shells, and a client must have all capabilities of this process. If the secret can't be
  /// published, no client has a proof.
  DaemonsRights();

  [[nodiscard]] bool AreProvenBy(std::string_view secret) const;

 private:
  std::optional<Digest> digest_;  ///< digest of the secret, because comparing digests discloses
                                  ///< nothing by its time
  FileDescriptor file_;
};

}  // namespace cccl_cache::daemon
