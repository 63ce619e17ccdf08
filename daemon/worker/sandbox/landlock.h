// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Landlock rules under which a process reads files beneath some directories and writes none. As
/// far as the kernel's Landlock supports it, the process neither binds nor connects TCP sockets,
/// reaches abstract sockets of others, nor signals others. Made once, entered by many forks.
/// Landlock guards contents only: it does not restrict stat and descriptors of directories
/// (O_PATH). Immutable.
class LandlockRules {
 public:
  /// Makes the rules. A kernel without Landlock gives rules with abi() 0, which can't be entered. A
  /// directory that does not exist is left out. Returns an error if the kernel has Landlock and
  /// refuses the rules.
  [[nodiscard]] static Result<LandlockRules> Make(const std::vector<std::string>& readable);

  /// Returns the Landlock version of the kernel; 0: none.
  [[nodiscard]] int abi() const { return abi_; }
  /// Applies the rules to this thread and all that it starts, permanently. Needs no_new_privs.
  [[nodiscard]] Status Enter() const;

 private:
  LandlockRules(int abi, FileDescriptor ruleset) : abi_(abi), ruleset_(std::move(ruleset)) {}

  int abi_;
  FileDescriptor ruleset_;
};

}  // namespace cccl_cache::daemon
