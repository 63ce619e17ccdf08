// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/installation.h"

#include <algorithm>

namespace cccl_cache::daemon {

bool Installation::SameFiles(const Installation& other) const {
  const auto same_path = [](const HeaderDirectory& a, const HeaderDirectory& b) {
    return a.path == b.path;
  };
  return major == other.major && nvrtc.path == other.nvrtc.path &&
         builtins.path == other.builtins.path && nvjitlink.path == other.nvjitlink.path &&
         nvvm.path == other.nvvm.path && libdevice.path == other.libdevice.path &&
         std::ranges::equal(headers, other.headers, same_path);
}

bool Installation::operator==(const Installation& other) const {
  const auto same_names = [](const HeaderDirectory& a, const HeaderDirectory& b) {
    return a.aliases == b.aliases;
  };
  return SameFiles(other) && root == other.root && minor == other.minor && nvrtc == other.nvrtc &&
         builtins == other.builtins && nvjitlink == other.nvjitlink && nvvm == other.nvvm &&
         libdevice == other.libdevice && std::ranges::equal(headers, other.headers, same_names);
}

}  // namespace cccl_cache::daemon
