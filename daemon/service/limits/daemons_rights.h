// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "base/files/file_descriptor.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The secret by which a client proves that it has all rights of the daemon's process
/// (proto/daemons_rights.h). Only the first object of a process can publish its secret, because
/// clients look for it under a fixed descriptor number. Immutable.
class DaemonsRights {
 public:
  /// Makes and publishes the secret. If it can't be published, no proof is accepted. Also drops
  /// CAP_WAKE_ALARM from this process: a client must have all capabilities of this process to read
  /// the secret, and systemd gives this one to users' service managers but not to their shells.
  DaemonsRights();

  [[nodiscard]] bool AreProvenBy(std::string_view secret) const;

 private:
  std::optional<Digest> digest_;  ///< of the secret; none if it was not published. The time to
                                  ///< compare digests tells nothing about the secret.
  FileDescriptor file_;
};

}  // namespace cccl_cache::daemon
