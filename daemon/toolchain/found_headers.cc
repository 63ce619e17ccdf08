// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/found_headers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "daemon/core/model/file_descriptor.h"

namespace cccl_cache::daemon {
namespace {

namespace fs = std::filesystem;

std::string Join(const std::string& root, const std::string& name) {
  return (fs::path(root) / name).lexically_normal();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool HoldsCudaHeaders(const std::string& directory) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"cuda_runtime.h", "cuda/std", "cub", "crt/host_defines.h"},
      [&](const char* name) { return Exists(directory + "/" + name); });
}

/// The major that the runtime's headers are of; nothing if these headers don't tell.
std::optional<int> MajorOfHeaders(const std::string& directory) {
  static constexpr std::string_view kDefine = "#define CUDART_VERSION";
  const FileDescriptor fd(open((directory + "/cuda_runtime_api.h").c_str(),
                               O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string beginning(32 * 1024, '\0');
  const ssize_t length = read(fd.get(), beginning.data(), beginning.size());
  if (length <= 0) return std::nullopt;
  std::string_view text(beginning.data(), static_cast<size_t>(length));
  const size_t define = text.find(kDefine);
  if (define == std::string_view::npos) return std::nullopt;
  text.remove_prefix(define + kDefine.size());
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  int version = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), version).ec != std::errc()) {
    return std::nullopt;
  }
  return version / 1000;
}

/// The root as named, each step of the symlinks that its last name may be, and where it really is.
std::vector<std::string> Spellings(const std::string& root) {
  static constexpr int kMaxSteps = 8;
  std::vector<std::string> spellings = {Join(root, "")};
  fs::path step = root;
  std::error_code error;
  for (int i = 0; i < kMaxSteps && fs::is_symlink(step, error); ++i) {
    step = step.parent_path() / fs::read_symlink(step, error);
    spellings.push_back(step.lexically_normal());
  }
  spellings.push_back(fs::weakly_canonical(root, error));
  return spellings;
}

bool SameDirectory(const std::string& a, const std::string& b) {
  std::error_code error;
  return fs::equivalent(a, b, error);
}

}  // namespace

void AddAlias(HeaderDirectory& headers, const std::string& alias) {
  std::vector<std::string>& aliases = headers.aliases;
  if (alias == headers.path || aliases.size() >= kMaxAliases) return;
  if (std::ranges::find(aliases, alias) == aliases.end()) aliases.push_back(alias);
}

std::vector<HeaderDirectory> FindHeaders(const Layout& layout, int major) {
  std::vector<HeaderDirectory> found;
  const std::vector<std::string> spellings = Spellings(layout.root);
  for (const std::string& name : layout.headers) {
    std::error_code error;
    const std::string path = fs::canonical(Join(layout.root, name), error);
    if (error || !HoldsCudaHeaders(path)) continue;
    if (MajorOfHeaders(path).value_or(major) != major) continue;
    auto headers = std::ranges::find_if(
        found, [&](const HeaderDirectory& other) { return SameDirectory(other.path, path); });
    if (headers == found.end()) headers = found.insert(found.end(), {path, {}});
    for (const std::string& spelling : spellings) {
      const std::string alias = Join(spelling, name);
      if (SameDirectory(alias, path)) AddAlias(*headers, alias);
    }
  }
  return found;
}

}  // namespace cccl_cache::daemon
