// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/run/advice.h"

#include <chrono>

#include "cccl_cache/client.h"
#include "cli/run/daemon/own.h"

namespace cccl_cache::cli {
namespace {

/// Returns the daemon's advice for a library that is in none of its toolchains.
std::string OfUnknownLibrary(const std::string& library, const std::string& socket) {
  constexpr std::chrono::seconds kPatience{10};  // the daemon may have to read the whole library
  const std::string way_out = "cccl-cache-cli toolchains add " + library;
  Expected<Client> client = Client::Open(socket);
  const Expected<std::string> version =
      client.ok() ? client->FindRelease(library, kPatience) : client.error();
  if (version.ok() && version->empty()) return library + ": the daemon has it by now";
  if (version.ok()) return "it is NVIDIA's " + *version + ": " + way_out;
  const cccl_cache_status status = version.error().status;
  if (status == CCCL_CACHE_TOOLCHAIN_NOT_FOUND || status == CCCL_CACHE_DENIED ||
      status == CCCL_CACHE_OVERLOADED || status == CCCL_CACHE_INVALID_REQUEST) {
    const std::string& why = version.error().message;
    return why.starts_with(library) ? why : library + ": " + why;
  }
  return way_out;
}

}  // namespace

Advisor AdvisorFor(const std::string& socket) {
  return {.no_daemon = [socket] { return WhyNoDaemon(socket); },
          .unknown_library = [socket](const auto& path) { return OfUnknownLibrary(path, socket); }};
}

}  // namespace cccl_cache::cli
