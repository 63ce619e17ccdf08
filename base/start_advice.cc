// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/start_advice.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/files/own_path.h"

namespace cccl_cache {
namespace {

/// Returns whether systemd runs and has the unit of the machine's daemon.
bool SystemdHasDaemon(const std::string& root) {
  constexpr std::array kUnits = {"/etc/systemd/system", "/usr/local/lib/systemd/system",
                                 "/usr/lib/systemd/system"};
  const auto exists = [&root](const std::string& path) {
    return access((root + path).c_str(), F_OK) == 0;
  };
  return exists("/run/systemd/system") &&
         std::any_of(kUnits.begin(), kUnits.end(), [&exists](const std::string& directory) {
           return exists(directory + "/cccl-cached.socket");
         });
}

}  // namespace

bool MachineHasDaemon(const std::string& root) {
  struct stat status;
  return lstat((root + kSystemSocket).c_str(), &status) == 0 || errno == EACCES;
}

std::string StartAdvice(const std::string& root) {
  const std::string machines =
      "start the machine's daemon (sudo systemctl start cccl-cached.socket)";
  // `run --start` starts no daemon in place of the machine's.
  if (MachineHasDaemon(root)) return machines;
  return SystemdHasDaemon(root) ? machines + ", or " + kStartOwn : kStartOwn;
}

}  // namespace cccl_cache
