// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/core/model/toolchain.h"

namespace cccl_cache::daemon {

/// A library or bitcode file of an installation.
struct FoundFile {
  std::string
      found_as;      ///< as it was looked up below the installation's root; empty: there is none
  std::string path;  ///< symlinks resolved

  [[nodiscard]] bool present() const { return !path.empty(); }
  auto operator<=>(const FoundFile&) const = default;
};

/// The parts of one CUDA by name, before anybody looked into them: neither trusted nor identified
/// yet.
struct Installation {
  std::string root;  ///< symlinks resolved
  int major = 0;
  int minor = 0;
  FoundFile nvrtc;
  FoundFile builtins;
  FoundFile nvjitlink;
  FoundFile nvvm;
  FoundFile libdevice;
  std::vector<HeaderDirectory> headers;  ///< in search order

  /// Whether both are made of the same files, whatever they are called.
  [[nodiscard]] bool SameFiles(const Installation& other) const;
  bool operator==(const Installation& other) const;
};

}  // namespace cccl_cache::daemon
