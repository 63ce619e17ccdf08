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
  std::optional<gid_t> group;  ///< group of the socket file; none for the system's default
  /// Whether the peers are in containers. Such peers are never administrators. The daemon opens no
  /// files for them, and they share no private data with the users of this node.
  bool for_containers = false;
};

/// A listening Unix socket of the daemon. The destructor removes the socket file if this object
/// made it and no other file has replaced it. Not thread-safe.
class ListeningSocket {
 public:
  /// Makes the socket file and listens on it. Makes a missing parent directory (0755 if other users
  /// may use the socket, else 0700), and replaces a stale socket file. The socket file never has a
  /// wider mode than requested. Symlinks in the path are resolved once, before anything is made.
  /// kDenied: another user could replace files in the directory. kUnavailable: another daemon
  /// answers at the path, or a system call failed.
  [[nodiscard]] static Result<ListeningSocket> Bind(const ListenOptions& options);

  /// Returns the sockets that systemd has passed to this process (LISTEN_FDS), or an empty list.
  /// Removes systemd's variables from the environment, so it must be called before the first thread
  /// starts. A socket with the name "container" (FileDescriptorName=) is for containers.
  /// kInvalidRequest: a descriptor is not a listening Unix stream socket, or a name does not show
  /// whether its socket is for containers.
  [[nodiscard]] static Result<std::vector<ListeningSocket>> FromSystemd();

  /// Checks the directory of each socket for containers, because containers mount it. It must
  /// contain no other socket of the daemon and no private place, as a whole or in part, not even
  /// through a mount. kInvalidRequest names the socket and the place. kUnavailable: the mount table
  /// can't be read.
  [[nodiscard]] static Status CheckApart(const std::vector<ListeningSocket>& sockets,
                                         std::vector<std::string> private_places);

  ListeningSocket(ListeningSocket&& other) noexcept { *this = std::move(other); }
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;
  ~ListeningSocket();

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Returns the path to which the socket is bound. The result is empty for a socket without a
  /// name.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns whether its peers are in containers (ListenOptions::for_containers).
  [[nodiscard]] bool for_containers() const { return for_containers_; }
  /// Returns why clients can't find the socket at its path any more, with the remedy. The result is
  /// empty if they can. Any process that can write the directory may have replaced the socket file,
  /// such as root of a container.
  [[nodiscard]] std::string Problem() const;

 private:
  ListeningSocket(FileDescriptor fd, std::string path, bool for_containers);
  [[nodiscard]] bool IsInPlace() const;

  FileDescriptor fd_;
  std::string path_;
  bool for_containers_ = false;
  bool made_ = false;
  std::optional<std::pair<dev_t, ino_t>> file_ = std::nullopt;  ///< device and inode of the socket
                                                                ///< file; none if unknown
};

}  // namespace cccl_cache::daemon
