// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/files/user_cache.h"
#include "daemon/compile/worker_compiler.h"
#include "daemon/configuration/configuration.h"
#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/files/host_files.h"
#include "daemon/toolchain/registry.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Keeps facts about toolchains in the user's cache. A daemon keeps the same facts in its database.
class LocalFacts final : public MetaStore {
 public:
  explicit LocalFacts(UserCache cache) : cache_(std::move(cache)) {}

  std::optional<std::string> GetMeta(std::string_view name) override { return cache_.Get(name); }
  void PutMeta(std::string_view name, std::string_view value) override { cache_.Put(name, value); }

 private:
  const UserCache cache_;
};

/// Builds in this process with the same parts as a daemon of this user, so the bytes, names, log
/// and key of a result are the same. Keeps no results. There are no limits of time or memory,
/// because the parent process can end this process. Also runs builds whose compiler itself reads or
/// writes files; a daemon refuses these. Must be used on one thread.
class LocalBuilder {
 public:
  struct Parts {
    const Configuration& configuration;  ///< names the places where toolchains are searched
    std::string worker;                  ///< path of cccl-cached-worker
    UserCache facts;                     ///< kept facts about toolchains; without them each build
                                         ///< hashes the toolchain's files
    std::string packages;  ///< directory of Python packages, which may contain toolchains too
  };

  explicit LocalBuilder(Parts parts);

  Result<BuildAnswer> Build(std::shared_ptr<const BuildRequest> request);

 private:
  Result<BuildAnswer> BuildPlainly(std::shared_ptr<const BuildRequest> request);

  LocalFacts facts_;
  WorkerCompiler compiler_;
  ToolchainRegistry toolchains_;
  HostFileAccess files_;
  Statistics statistics_;
  EvictionLog eviction_log_;
  BuildCoordinator coordinator_;
};

/// Returns whether the compiler itself would read or write files because of an option. A daemon
/// refuses such builds.
[[nodiscard]] bool NeedsPlainCompile(const BuildRequest& request);

/// Calls the compiler in this process as the client itself would: with the client's names, options
/// and working directory, and with the real file system. So the compiler reads and writes the files
/// of its options, as this user. The answer has no key and no fingerprint. Call it once in a
/// process: it neither restores the working directory nor unloads the compiler. If the compiler
/// crashes, the process ends.
[[nodiscard]] Result<BuildAnswer> CompilePlainly(std::shared_ptr<const BuildRequest> request,
                                                 ToolchainPtr toolchain);

}  // namespace cccl_cache::daemon
