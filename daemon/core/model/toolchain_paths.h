// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Paths of a toolchain's headers by their letters, for the daemon and its workers.
namespace cccl_cache::daemon {

/// Whether ".." is a step of this path.
[[nodiscard]] inline bool GoesUp(std::string_view path) {
  return path.find("/../") != std::string_view::npos || path.ends_with("/..");
}

/// Whether `path` is `directory` or lies in it; both without "." and "//".
[[nodiscard]] inline bool LiesIn(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

/// Whether it lies in a header directory and belongs to the toolchain. What Python leaves there
/// when it runs does not.
[[nodiscard]] inline bool LiesInHeaders(std::string_view path, std::string_view directory) {
  if (!LiesIn(path, directory)) return false;
  const std::string below = std::string(path.substr(directory.size())) + "/";
  return below.find("/__pycache__/") == std::string::npos;
}

/// The name that a worker announces before it looks at `name` in the toolchain's directory `top`:
/// that of the whole entry of `top` that it lies in. So closures are short, and true of all
/// toolchains that have these entries, whatever else they have. A name with ".." is announced as it
/// is.
[[nodiscard]] inline std::string EntryOf(std::string_view name, std::string_view top) {
  if (GoesUp(name) || name.size() <= top.size()) return std::string(name);
  return std::string(name.substr(0, name.find('/', top.size() + 1)));
}

}  // namespace cccl_cache::daemon
