// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/nobody_listens.h"

#include <sys/stat.h>

#include <cstring>

namespace cccl_cache {
namespace {

std::string Cause(const std::string& path, int error) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || S_ISSOCK(status.st_mode)) return std::strerror(error);
  return S_ISDIR(status.st_mode) ? "it is a directory and no socket" : "it is a file and no socket";
}

// A program's own word is not known from the environment's: where both are the same, both are true.
std::string Origin(const SocketSearch& search, const std::string& path) {
  if (path == search.named_path) return "which CCCL_CACHE_SOCKET names";
  if (path == search.system_path) return "the default where no other socket is named";
  if (path == search.UsersPath()) return "this user's own";
  return "which --socket or the program names";
}

}  // namespace

Error NobodyListens(const SocketSearch& search, const std::string& path, int error) {
  return {CCCL_CACHE_NO_DAEMON,
          "no cccl-cached listens on " + path + ", " + Origin(search, path) + " (" +
              Cause(path, error) +
              "): start it (systemctl start cccl-cached; for this user alone systemctl --user "
              "start cccl-cached, or cccl-cached --socket PATH), or name its socket in "
              "CCCL_CACHE_SOCKET"};
}

Error SaysNothing(const std::string& socket) {
  return {CCCL_CACHE_UNAVAILABLE,
          "cccl-cached at " + socket +
              " does not even say that it is there: it is stopped or hangs, or the machine does "
              "not let it run; systemctl restart cccl-cached starts it anew"};
}

}  // namespace cccl_cache
