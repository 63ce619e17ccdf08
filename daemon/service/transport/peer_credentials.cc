// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/peer_credentials.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cccl_cache::daemon {
namespace {

Error Failed(const char* what) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("the system does not tell {}: {}", what, strerror(errno))};
}

}  // namespace

Result<Peer> ReadPeerCredentials(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return Failed("who connected (SO_PEERCRED)");
  }
  Peer peer;
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;
  peer.pid = credentials.pid;
  // Nearly everybody is in fewer groups than this; the kernel's limit is 65,536.
  peer.groups.resize(64);
  size = static_cast<socklen_t>(peer.groups.size() * sizeof(gid_t));
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) != 0) {
    if (errno != ERANGE) return Failed("the groups of who connected (SO_PEERGROUPS)");
    peer.groups.resize(size / sizeof(gid_t));
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) != 0) {
      return Failed("the groups of who connected (SO_PEERGROUPS)");
    }
  }
  peer.groups.resize(size / sizeof(gid_t));
  std::sort(peer.groups.begin(), peer.groups.end());
  return peer;
}

}  // namespace cccl_cache::daemon
