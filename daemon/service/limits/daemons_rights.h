// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "base/files/file_descriptor.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The secret by which a client proves that it has all rights of this process
/// (proto/daemons_rights.h). Only one object of a process can be asked for its secret. Immutable.
class DaemonsRights {
 public:
  /// Also drops the capability to wake the machine, which systemd gives to users' managers and not
  /// to their shells: a client must have all capabilities that this process may use. If the secret
  /// can't be laid out, no client has a proof.
  DaemonsRights();

  [[nodiscard]] bool AreProvenBy(std::string_view secret) const;

 private:
  std::optional<Digest> digest_;  ///< its digest: the time of a comparison discloses nothing
  FileDescriptor file_;
};

}  // namespace cccl_cache::daemon
