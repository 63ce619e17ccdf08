// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/stores.h"

#include <string_view>
#include <utility>

namespace cccl_cache::daemon {

Result<std::unique_ptr<Stores>> Stores::Open(const Configuration& configuration,
                                             FindAccount find_account, Log& log) {
  std::unique_ptr<Stores> stores(new Stores(configuration.memory_limit));
  RocksdbStoreOptions options;
  options.directory = configuration.state_dir;
  options.limit_bytes = configuration.store_limit;
  options.private_limits.per_user = configuration.private_limit_per_uid;
  options.private_limits.in_all = configuration.private_limit;
  options.private_limits.find_account = std::move(find_account);
  options.memory = &stores->memory;
  options.report = [&log](std::string_view text) { log.Write(LogLevel::kWarning, "store", text); };
  options.used_elsewhere = [&memory = stores->memory](const cccl_cache::Digest& key) {
    return memory.Holds(key);
  };
  options.departed = [&departures = stores->departures](const cccl_cache::Digest& key,
                                                        DepartureCause cause) {
    departures.Note(key, cause);
  };
  Result<std::unique_ptr<RocksdbStore>> disk =
      RocksdbStore::Open(std::move(options), stores->statistics);
  if (!disk) return disk.error();
  stores->disk = *std::move(disk);
  return stores;
}

}  // namespace cccl_cache::daemon
