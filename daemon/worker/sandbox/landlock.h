// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Landlock rules under which a process reads files beneath some directories, writes none, and (as
/// far as the kernel's Landlock knows these) neither binds nor connects TCP sockets, reaches
/// abstract sockets of others, nor signals others. Made once, entered by many forks. Stat and paths
/// of directories (O_PATH) are beyond Landlock: it guards contents. Immutable.
class LandlockRules {
 public:
  /// Without Landlock in the kernel: rules with abi() 0, which can't be entered. A directory that
  /// does not exist is left out. Errors: the kernel has Landlock and refuses the rules.
  [[nodiscard]] static Result<LandlockRules> Make(const std::vector<std::string>& readable);

  /// The version that the kernel speaks; 0: none.
  [[nodiscard]] int abi() const { return abi_; }
  /// For this thread and all that it starts, for ever. Needs no_new_privs.
  [[nodiscard]] Status Enter() const;

 private:
  LandlockRules(int abi, FileDescriptor ruleset) : abi_(abi), ruleset_(std::move(ruleset)) {}

  int abi_;
  FileDescriptor ruleset_;
};

}  // namespace cccl_cache::daemon
