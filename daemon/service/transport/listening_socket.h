// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

struct ListenOptions {
  std::string path;  ///< absolute
  mode_t mode = 0600;
  std::optional<gid_t> group;      ///< of the socket file; none leaves the default group
  bool for_administrators = true;  ///< if false, no peer that connects there is an administrator
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
  /// kInvalidRequest: one is not a listening Unix stream socket. A socket whose name
  /// (FileDescriptorName=) is "container" is not for administrators.
  [[nodiscard]] static Result<std::vector<ListeningSocket>> FromSystemd();

  ListeningSocket(ListeningSocket&& other) noexcept { *this = std::move(other); }
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;
  ~ListeningSocket();

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Returns the path without links, which is empty for a socket without a name.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns whether administrators have their rights if they connect here.
  [[nodiscard]] bool for_administrators() const { return for_administrators_; }

 private:
  ListeningSocket(FileDescriptor fd, std::string path, bool for_administrators);
  void Unlink();

  FileDescriptor fd_;
  std::string path_;
  bool for_administrators_ = true;
  bool made_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace cccl_cache::daemon
