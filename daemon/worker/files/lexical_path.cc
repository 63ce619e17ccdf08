// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/lexical_path.h"

namespace cccl_cache::daemon {
namespace {

/// Calls `take` with each component that is neither empty nor ".".
template <typename Take>
void ForEachComponent(std::string_view path, Take take) {
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view component = path.substr(0, slash);
    if (!component.empty() && component != ".") take(component);
    if (slash == std::string_view::npos) return;
    path.remove_prefix(slash + 1);
  }
}

void Append(std::string& path, std::string_view component) {
  path.push_back('/');
  path.append(component);
}

}  // namespace

std::string WithoutDots(std::string_view path) {
  std::string clean;
  clean.reserve(path.size());
  ForEachComponent(path, [&](std::string_view component) { Append(clean, component); });
  return clean.empty() ? "/" : clean;
}

std::string LexicallyNormal(std::string_view path) {
  std::string normal;
  normal.reserve(path.size());
  ForEachComponent(path, [&](std::string_view component) {
    if (component != "..") return Append(normal, component);
    const size_t slash = normal.rfind('/');
    if (slash != std::string::npos) normal.resize(slash);
  });
  return normal.empty() ? "/" : normal;
}

}  // namespace cccl_cache::daemon
