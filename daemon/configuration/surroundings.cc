// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/surroundings.h"

#include <sched.h>
#include <unistd.h>

#include <string_view>

namespace cccl_cache::daemon {

Surroundings Surroundings::OfThisProcess() {
  Surroundings surroundings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    surroundings.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  surroundings.uid = geteuid();
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    surroundings.processors = static_cast<uint64_t>(CPU_COUNT(&allowed));
  } else if (const long online = sysconf(_SC_NPROCESSORS_ONLN); online > 0) {
    surroundings.processors = static_cast<uint64_t>(online);
  }
  return surroundings;
}

}  // namespace cccl_cache::daemon
