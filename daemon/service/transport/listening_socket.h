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
  std::optional<gid_t> group;  ///< of the socket file; none leaves the default group
  /// Its peers are in containers: none is an administrator, and none has files or a state of its
  /// own in common with the users of this node.
  bool for_containers = false;
};

/// A Unix socket on which the daemon listens. The destructor removes the socket file if this object
/// made it and it was not replaced. Not thread-safe.
class ListeningSocket {
 public:
  /// Binds and listens. A missing parent directory is made (0755 where the socket is for others
  /// too, else 0700); a stale socket file is replaced; the file never has a wider mode than asked.
  /// kDenied: others could replace files in the directory. kUnavailable: another daemon answers
  /// there, or the system refuses. Links on the way to the socket are followed once, before
  /// anything is made.
  [[nodiscard]] static Result<ListeningSocket> Bind(const ListenOptions& options);

  /// Returns the sockets that systemd passed to this process (LISTEN_FDS), or none. Removes the
  /// variables from the environment, so it must be called before the first thread starts.
  /// kInvalidRequest: one is not a listening Unix stream socket, or names leave open which are for
  /// containers. A socket whose name
  /// (FileDescriptorName=) is "container" is for containers.
  [[nodiscard]] static Result<std::vector<ListeningSocket>> FromSystemd();

  /// Checks that containers find neither another socket nor one of the daemon's private places, nor
  /// a part of such a place, in the directory of a socket for them: that none of it lies there or
  /// is mounted there. kInvalidRequest names both. kUnavailable: the system does not tell its
  /// mounts.
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
  /// Returns why clients don't find it at its path, with the way out; empty: they do. A process
  /// that can write the directory, such as root of a container, may have put another file there.
  [[nodiscard]] std::string Problem() const;

 private:
  ListeningSocket(FileDescriptor fd, std::string path, bool for_containers);
  [[nodiscard]] bool IsInPlace() const;

  FileDescriptor fd_;
  std::string path_;
  bool for_containers_ = false;
  bool made_ = false;
  std::optional<std::pair<dev_t, ino_t>> file_ = std::nullopt;  ///< at the path; none: not seen
};

}  // namespace cccl_cache::daemon
