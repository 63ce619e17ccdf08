// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/host_file_access.h"

#include "daemon/files/host_files.h"
#include "daemon/files/reach.h"

namespace cccl_cached {

std::unique_ptr<RequesterFiles> HostFileAccess::Of(const Peer& peer, RootDirectories directories) {
  return std::make_unique<HostFiles>(Reach(peer.uid, options_.own_uid), std::move(directories),
                                     options_.own_directories, memory_);
}

}  // namespace cccl_cached
