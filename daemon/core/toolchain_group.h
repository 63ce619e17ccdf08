// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cccl_cached {

/// Whether ".." is a step of this path.
[[nodiscard]] inline bool GoesUp(std::string_view path) {
  return path.find("/../") != std::string_view::npos || path.ends_with("/..");
}

/// What is announced before a look at `name` in the toolchain's directory `top`: the whole entry of
/// `top` that it lies in. So closures are short, and true of all toolchains that have these
/// entries, whatever else they have. A name with ".." is announced as it is.
[[nodiscard]] inline std::string GroupOf(std::string_view name, std::string_view top) {
  if (GoesUp(name) || name.size() <= top.size()) return std::string(name);
  return std::string(name.substr(0, name.find('/', top.size() + 1)));
}

}  // namespace cccl_cached
