// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A compiler library that a user sends to the daemon. All functions may block as long as the disk
/// does. Used by one thread at a time. If the object is destroyed before Finish, what was received
/// is deleted.
class IncomingRelease {
 public:
  virtual ~IncomingRelease() = default;

  /// Returns the version of NVIDIA's release, such as "13.0.88".
  [[nodiscard]] virtual std::string_view version() const = 0;

  /// Receives the next bytes of the files, which are sent one after another. Returns
  /// kInvalidRequest if the bytes do not have the announced digests.
  virtual Status Append(std::string_view bytes) = 0;
  /// Returns whether all bytes have arrived.
  [[nodiscard]] virtual bool Complete() const = 0;
  /// Stores the library and identifies its toolchain. Returns the toolchain's id.
  virtual Result<std::string> Finish() = 0;
};

/// Stores the compiler libraries of NVIDIA's releases that users have sent. All functions may block
/// as long as the disk does. Thread-safe.
class Releases {
 public:
  /// The id of the toolchain that has this library already, or an object that receives the library.
  using Offer = std::variant<std::string, std::unique_ptr<IncomingRelease>>;

  virtual ~Releases() = default;

  /// Begins to receive a library whose files have these digests. Returns kToolchainNotFound if they
  /// belong to no known release, and kOverloaded if there is no room. Returns kDenied if the daemon
  /// accepts no releases, or if the peer has the overflow uid.
  virtual Result<Offer> Receive(const Peer& peer, std::span<const Digest> files) = 0;
};

}  // namespace cccl_cache::daemon
