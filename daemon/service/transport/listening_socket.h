// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

struct ListenOptions {
  std::string path;  ///< absolute
  mode_t mode = 0600;
  std::optional<gid_t> group;  ///< of the socket file; none for the default group
  /// Whether its peers are in containers: they are never administrators, and share neither files
  /// nor state with the users of this node.
  bool for_containers = false;
};

/// A listening Unix socket of the daemon. The destructor removes the socket file if this object
/// made it and nobody has replaced it. Not thread-safe.
class ListeningSocket {
 public:
  /// Binds and listens. Makes a missing parent directory (0755 if other users may use the socket,
  /// else 0700), and replaces a stale socket file. The file never has a wider mode than requested.
  /// kDenied: others could replace files in the directory. kUnavailable: another daemon answers
  /// there, or the system refuses. Links on the way to the socket are followed once, before
  /// anything is made.
  [[nodiscard]] static Result<ListeningSocket> Bind(const ListenOptions& options);

  /// Returns the sockets that systemd has passed to this process (LISTEN_FDS), or none. Removes the
  /// variables from the environment, so it must be called before the first thread starts. A socket
  /// with the name (FileDescriptorName=) "container" is for containers. kInvalidRequest: a
  /// descriptor is not a listening Unix stream socket, or the names do not show which sockets are
  /// for containers.
  [[nodiscard]] static Result<std::vector<ListeningSocket>> FromSystemd();

  /// Checks that the directory of a socket for containers contains no other socket, and no private
  /// place of the daemon or a part of one, also by a mount. kInvalidRequest names both.
  /// kUnavailable: the system does not show its mounts.
  [[nodiscard]] static Status CheckApart(const std::vector<ListeningSocket>& sockets,
                                         std::vector<std::string> private_places);

  ListeningSocket(ListeningSocket&& other) noexcept { *this = std::move(other); }
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;
  ~ListeningSocket();

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Returns the path without links, which is empty for a socket without a name.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns whether its peers are in containers (ListenOptions::for_containers).
  [[nodiscard]] bool for_containers() const { return for_containers_; }
  /// Returns why clients can't find the socket at its path, with the remedy. Empty if they can. A
  /// process that can write the directory, such as root of a container, may have put another file
  /// there.
  [[nodiscard]] std::string Problem() const;

 private:
  ListeningSocket(FileDescriptor fd, std::string path, bool for_containers);
  [[nodiscard]] bool IsInPlace() const;

  FileDescriptor fd_;
  std::string path_;
  bool for_containers_ = false;
  bool made_ = false;
  std::optional<std::pair<dev_t, ino_t>> file_ = std::nullopt;  ///< of the socket file; none if it
                                                                ///< was not read
};

}  // namespace cccl_cache::daemon
