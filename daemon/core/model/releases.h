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

/// A compiler library in reception. Blocks as long as the disk does. Used by one thread at a time.
/// An unfinished library is deleted.
class IncomingRelease {
 public:
  virtual ~IncomingRelease() = default;

  /// Returns the version of the release ("13.0.88").
  [[nodiscard]] virtual std::string_view version() const = 0;

  /// Takes the next bytes of the files, one file after the other. kInvalidRequest: the bytes differ
  /// from the announced digests.
  virtual Status Append(std::string_view bytes) = 0;
  /// Returns whether all bytes have arrived.
  [[nodiscard]] virtual bool Complete() const = 0;
  /// Keeps the library and has it identified. Returns the id of its toolchain.
  virtual Result<std::string> Finish() = 0;
};

/// Keeps copies of NVIDIA's releases that users add. Thread-safe. Every call blocks as long as the
/// disk does.
class Releases {
 public:
  /// The id of a toolchain that has the library already, or the library to receive.
  using Offer = std::variant<std::string, std::unique_ptr<IncomingRelease>>;

  virtual ~Releases() = default;

  /// Starts to receive the library whose files have these digests. kToolchainNotFound: it is no
  /// known release. kOverloaded: there is no room. kDenied: the daemon keeps no releases, or none
  /// from the overflow uid.
  virtual Result<Offer> Receive(const Peer& peer, std::span<const Digest> files) = 0;
};

}  // namespace cccl_cache::daemon
