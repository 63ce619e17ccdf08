// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/tier.h"
#include "daemon/toolchain/layout.h"
#include "daemon/toolchain/registry.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon {

/// A directory that is removed with the object. Other users can't write in it, whatever the umask.
class TempTree {
 public:
  [[nodiscard]] std::string Path(const std::string& name) const { return directory_ / name; }
  /// Writes a file in place, and makes its directories.
  void Write(const std::string& name, std::string_view contents) const;
  void Directory(const std::string& name) const;
  void Link(const std::string& name, const std::string& target) const;
  void Remove(const std::string& name) const;
  void Rename(const std::string& from, const std::string& to) const;
  void Mode(const std::string& name, unsigned mode) const;

  /// Makes a toolkit tree with all parts.
  void Toolkit(const std::string& name, int major, int minor) const;
  /// Makes the wheels of CUDA 12 below a site-packages directory.
  void Wheels12(const std::string& name, int minor) const;

 private:
  TemporaryDirectory directory_;
};

class FakeMetaStore final : public MetaStore {
 public:
  std::optional<std::string> GetMeta(std::string_view name) override;
  void PutMeta(std::string_view name, std::string_view value) override;

  /// Returns the number of writes: one for every computed digest and every probe.
  [[nodiscard]] size_t writes();
  /// Makes the digest in each record about files wrong. A result with such a digest comes from a
  /// record, not from the files.
  void ForgeFileDigests();

 private:
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> records_;
  size_t writes_ = 0;
};

/// Accepts all programs, and all options except those that the test rejects.
class FakeCompiler final : public Compiler {
 public:
  Result<CompileOutput> Compile(const CompileJob& job, const CompileLimits& limits,
                                std::stop_token stop) override;

  std::set<std::string> rejected_options;
  std::optional<Error> error;              ///< result of every compile
  std::optional<std::string> broken_root;  ///< compiles of this toolchain end as kWorkerCrashed
  std::atomic<int> late_compiles{0};       ///< number of the next compiles that end as kTimedOut
  std::atomic<int> compiles{0};
};

/// The objects that a registry needs, and a toolkit of CUDA 13.0.
struct Node {
  Node() { tree.Toolkit("cuda", 13, 0); }

  TempTree tree;
  FakeMetaStore meta;
  FakeCompiler compiler;
};

/// Returns options of a registry that scans only on request.
[[nodiscard]] RegistryOptions OnlyWhenAsked(SearchPlaces places);

/// A registry over the test's places, which scans only on request.
class TestedRegistry {
 public:
  TestedRegistry(SearchPlaces places, FakeMetaStore& meta, FakeCompiler& compiler);
  TestedRegistry(RegistryOptions options, FakeMetaStore& meta, FakeCompiler& compiler);

  ToolchainRegistry* operator->() { return &registry_; }
  /// Returns the only toolchain. Fails the test if there are none or several.
  ToolchainPtr Only();
  /// Returns the toolchain for a request of this kind, after as many scans as needed.
  Result<ToolchainPtr> Select(const cccl_cache::ToolchainSelector& selector,
                              cccl_cache::BuildKind kind);
  /// Returns the toolchain for a request without a selector.
  Result<ToolchainPtr> Default();
  /// Scans, and returns when the scan is over.
  void Rescan();
  [[nodiscard]] std::vector<ToolchainReport> Reports();

 private:
  std::mutex mutex_;
  std::vector<ToolchainReport> reports_;
  ToolchainRegistry registry_;
};

/// Returns places that consist of these roots only.
[[nodiscard]] SearchPlaces Roots(std::vector<std::string> roots);

}  // namespace cccl_cache::daemon
