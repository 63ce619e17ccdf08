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
  std::optional<gid_t> group;      ///< of the socket file; none: as it comes
  bool for_administrators = true;  ///< false: nobody who connects there is one
};

/// A Unix socket on which the daemon listens. Removes the socket file at its end if it made it and
/// the file is still the one that it made. Not thread-safe.
class ListeningSocket {
 public:
  /// Binds and listens. A missing parent directory is made (0755 where the socket is for others
  /// too, else 0700); a stale socket file is replaced; the file never has a wider mode than asked.
  /// kDenied: others could replace files in the directory. kUnavailable: another daemon answers
  /// there, or the system refuses.
  [[nodiscard]] static Result<ListeningSocket> Bind(const ListenOptions& options);

  /// The sockets that systemd handed to this process (LISTEN_FDS), none if it did not. Takes the
  /// variables out of the environment: call it before the first thread starts. kInvalidRequest: one
  /// is not a listening Unix stream socket. One whose name (FileDescriptorName=) is "container" is
  /// not for administrators.
  [[nodiscard]] static Result<std::vector<ListeningSocket>> FromSystemd();

  ListeningSocket(ListeningSocket&& other) noexcept { *this = std::move(other); }
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;
  ~ListeningSocket();

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Empty for a socket without a name.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Whether administrators are administrators if they connect here.
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
