// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

namespace cccl_cache::daemon {

/// While it lives, and if the process is root, this thread opens files as nobody (65534) without
/// groups. A second wall beside modes (reach.h), for file systems whose servers decide by uid;
/// where root may not change its ids, as in some containers, modes are the only one. Of other
/// threads nothing changes. To be destroyed by the thread that made it.
class StrangerRights {
 public:
  /// Does nothing if not `wanted`.
  explicit StrangerRights(bool wanted);
  StrangerRights(const StrangerRights&) = delete;
  StrangerRights& operator=(const StrangerRights&) = delete;
  ~StrangerRights();

 private:
  bool changed_ = false;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
};

}  // namespace cccl_cache::daemon
