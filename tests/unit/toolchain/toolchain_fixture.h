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

/// A directory that is removed with the object. Others can't write in it, whatever the umask.
class TempTree {
 public:
  [[nodiscard]] std::string Path(const std::string& name) const { return directory_ / name; }
  /// Written in place if it is there; directories are made.
  void Write(const std::string& name, std::string_view contents) const;
  void Directory(const std::string& name) const;
  void Link(const std::string& name, const std::string& target) const;
  void Remove(const std::string& name) const;
  void Rename(const std::string& from, const std::string& to) const;
  void Mode(const std::string& name, unsigned mode) const;

  /// A toolkit tree with all parts.
  void Toolkit(const std::string& name, int major, int minor) const;
  /// The wheels of CUDA 12 below a site-packages directory.
  void Wheels12(const std::string& name, int minor) const;

 private:
  TemporaryDirectory directory_;
};

class FakeMetaStore final : public MetaStore {
 public:
  std::optional<std::string> GetMeta(std::string_view name) override;
  void PutMeta(std::string_view name, std::string_view value) override;

  /// Every digest that was computed and every probe that ran was written.
  [[nodiscard]] size_t writes();
  /// Replaces the digest in each record about files, to reveal a reader that believes it.
  void ForgeFileDigests();

 private:
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> records_;
  size_t writes_ = 0;
};

/// Accepts an empty program, and the options that the test sets.
class FakeCompiler final : public Compiler {
 public:
  Result<CompileOutput> Compile(const CompileJob& job, const CompileLimits& limits,
                                std::stop_token stop) override;

  std::set<std::string> rejected_options;
  std::optional<Error> error;              ///< every compile ends so
  std::optional<std::string> broken_root;  ///< compiles of this toolchain end as kWorkerCrashed
  std::atomic<int> late_compiles{0};       ///< as many compiles, the next ones, end as kTimedOut
  std::atomic<int> compiles{0};
};

/// What a registry needs, and a toolkit of CUDA 13.0.
struct Node {
  Node() { tree.Toolkit("cuda", 13, 0); }

  TempTree tree;
  FakeMetaStore meta;
  FakeCompiler compiler;
};

/// Of a registry that looks only when asked to.
[[nodiscard]] RegistryOptions OnlyWhenAsked(SearchPlaces places);

/// A registry over the test's places, which scans only on request.
class TestedRegistry {
 public:
  TestedRegistry(SearchPlaces places, FakeMetaStore& meta, FakeCompiler& compiler);
  TestedRegistry(RegistryOptions options, FakeMetaStore& meta, FakeCompiler& compiler);

  ToolchainRegistry* operator->() { return &registry_; }
  /// The only toolchain; fails the test if there is none or more.
  ToolchainPtr Only();
  /// What a request of this kind gets, after as many looks as that takes.
  Result<ToolchainPtr> Select(const cccl_cache::ToolchainSelector& selector,
                              cccl_cache::BuildKind kind);
  /// What a request without wishes gets.
  Result<ToolchainPtr> Default();
  /// Returns when it is over.
  void Rescan();
  [[nodiscard]] std::vector<ToolchainReport> Reports();

 private:
  std::mutex mutex_;
  std::vector<ToolchainReport> reports_;
  ToolchainRegistry registry_;
};

/// Places with nothing in them but these roots.
[[nodiscard]] SearchPlaces Roots(std::vector<std::string> roots);

}  // namespace cccl_cache::daemon
