// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/host_file_access.h"

#include "daemon/files/files_elsewhere.h"
#include "daemon/files/host_files.h"
#include "daemon/files/reach.h"

namespace cccl_cache::daemon {

std::unique_ptr<RequesterFiles> HostFileAccess::Of(const Peer& peer, RootDirectories directories) {
  if (!directories.view || directories.view != options_.own_view) {
    std::string why = directories.view
                          ? "this client's paths lead elsewhere than the daemon's (another mount "
                            "namespace or root), so only the client can send its files"
                          : "this client does not say what its paths mean "
                            "(BuildRequest.files_view), so the daemon can't read them";
    return std::make_unique<FilesElsewhere>(std::move(directories), std::move(why));
  }
  return std::make_unique<HostFiles>(Reach(peer.uid, options_.own_uid), std::move(directories),
                                     options_.own_directories, memory_,
                                     MemoryAccount{options_.memory, peer.account()});
}

}  // namespace cccl_cache::daemon
