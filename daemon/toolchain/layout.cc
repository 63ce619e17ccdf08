// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/files/file_descriptor.h"

namespace cccl_cache::daemon {
namespace {

std::vector<std::string> Environment(std::initializer_list<const char*> names) {
  std::vector<std::string> values;
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && value[0] == '/') values.emplace_back(value);
  }
  return values;
}

std::string Machine() {
  utsname machine_name{};
  return uname(&machine_name) == 0 ? machine_name.machine : "x86_64";
}

namespace fs = std::filesystem;

/// Maximum number of entries of a directory that are read. A directory with more is not meant for
/// toolchains.
constexpr size_t kMaxChildren = 10'000;

/// Returns the children whose names begin with `prefix`, sorted; empty if the directory can't be
/// read.
std::vector<std::string> Children(const std::string& directory, std::string_view prefix) {
  std::vector<std::string> children;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (size_t i = 0; !error && entry != fs::directory_iterator() && i < kMaxChildren; ++i) {
    const std::string name = entry->path().filename();
    if (name.starts_with(prefix)) children.push_back(directory + "/" + name);
    entry.increment(error);
  }
  std::ranges::sort(children);
  return children;
}

bool IsDirectory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Returns the layouts of the wheels in a directory of Python packages. It may have wheels of
/// several major versions side by side.
std::vector<Layout> WheelLayouts(const std::string& site_packages,
                                 const std::vector<std::string>& targets) {
  std::vector<Layout> layouts;
  const std::string nvidia = site_packages + "/nvidia";
  if (!IsDirectory(nvidia)) return layouts;
  for (const std::string& toolkit : Children(nvidia, "cu")) {
    const std::string_view digits = std::string_view(toolkit).substr(nvidia.size() + 3);
    const bool numbered =
        !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (numbered) layouts.push_back(ToolkitLayout(toolkit, targets));
  }
  layouts.push_back(WheelsLayout(site_packages));
  return layouts;
}

/// Returns the package directories of each Python below a prefix such as /usr/lib or VENV/lib.
std::vector<std::string> PackageDirectories(const std::string& prefix) {
  std::vector<std::string> directories;
  for (const std::string& python : Children(prefix, "python3")) {
    for (const char* name : {"/site-packages", "/dist-packages"}) {
      if (IsDirectory(python + name)) directories.push_back(python + name);
    }
  }
  return directories;
}

class CandidateList {
 public:
  explicit CandidateList(const SearchPlaces& places) : targets_(places.targets) {}

  void Add(Layout layout) {
    candidates_.push_back({std::move(layout), asked_for_, /*added=*/false, named_});
  }
  void AddRelease(const std::string& root) {
    AddToolkit(root);
    candidates_.back().added = true;
  }
  void AddToolkit(const std::string& root) { Add(ToolkitLayout(root, targets_)); }
  void AddWheels(const std::string& site_packages) {
    for (Layout& layout : WheelLayouts(site_packages, targets_)) Add(std::move(layout));
  }
  void AddPythons(const std::string& prefix) {
    for (const std::string& directory : PackageDirectories(prefix)) AddWheels(directory);
  }

  /// From now on, added candidates count as named by the user, with this name for messages.
  void NamedBy(std::string name) {
    named_ = std::move(name);
    asked_for_ = true;
  }
  void FoundBySearch() {
    named_.clear();
    asked_for_ = false;
  }
  std::vector<Candidate> Take() { return std::move(candidates_); }

 private:
  const std::vector<std::string>& targets_;
  std::vector<Candidate> candidates_;
  std::string named_;
  bool asked_for_ = false;
};

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

/// Returns CUDA's major version as the headers in this directory define it. Returns none if they do
/// not.
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

/// Returns the paths that lead to the root: the given path, the targets of the symlinks of its last
/// component one after the other, and the real path.
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

SearchPlaces SystemSearchPlaces(std::vector<std::string> roots) {
  const std::string machine = Machine();
  SearchPlaces places = GivenSearchPlaces(std::move(roots));
  places.cuda_homes = Environment({"CUDA_HOME", "CUDA_PATH"});
  places.toolkit_parents = {"/usr/local"};
  places.multiarch = {
      {.libraries = fmt::format("/usr/lib/{}-linux-gnu", machine),
       .headers = "/usr/include",
       .libdevice = {"/usr/lib/nvidia-cuda-toolkit/libdevice", "/usr/lib/cuda/nvvm/libdevice"}}};
  places.python_prefixes = {"/usr/lib", "/usr/local/lib"};
  return places;
}

SearchPlaces GivenSearchPlaces(std::vector<std::string> roots) {
  const std::string machine = Machine();
  SearchPlaces places;
  places.roots = std::move(roots);
  places.targets = {fmt::format("{}-linux", machine)};
  if (machine == "aarch64") places.targets.insert(places.targets.begin(), "sbsa-linux");
  return places;
}

Layout ToolkitLayout(const std::string& root, const std::vector<std::string>& targets) {
  Layout layout{.root = root,
                .nvrtc = {"lib64", "lib"},
                .libdevice = {"nvvm/libdevice"},
                .headers = {"include"}};
  for (const std::string& target : targets) {
    layout.nvrtc.push_back("targets/" + target + "/lib");
    layout.nvrtc.push_back("lib/" + target + "-gnu");
    layout.headers.push_back("targets/" + target + "/include");
  }
  layout.nvrtc.push_back("");
  layout.nvjitlink = layout.nvrtc;
  layout.nvvm = {"nvvm/lib64", "nvvm/lib"};
  layout.nvvm.insert(layout.nvvm.end(), layout.nvrtc.begin(), layout.nvrtc.end());
  layout.libdevice.push_back("");
  const std::vector<std::string> plain = layout.headers;
  for (const std::string& headers : plain) layout.headers.push_back(headers + "/cccl");
  return layout;
}

Layout WheelsLayout(const std::string& site_packages) {
  return {.root = site_packages,
          .nvrtc = {"nvidia/cuda_nvrtc/lib"},
          .nvjitlink = {"nvidia/nvjitlink/lib"},
          .nvvm = {"nvidia/cuda_nvcc/nvvm/lib64", "nvidia/cuda_nvcc/nvvm/lib"},
          .libdevice = {"nvidia/cuda_nvcc/nvvm/libdevice"},
          .headers = {"nvidia/cuda_runtime/include", "nvidia/cuda_cccl/include",
                      "nvidia/cuda_nvcc/include"}};
}

Layout MultiarchLayout(const MultiarchPlace& place) {
  const auto below_root = [](const std::string& path) {
    return path.substr(std::min(path.size(), path.find_first_not_of('/')));
  };
  const std::string libraries = below_root(place.libraries);
  Layout layout{.root = "/",
                .nvrtc = {libraries},
                .nvjitlink = {libraries},
                .nvvm = {libraries},
                .headers = {below_root(place.headers)}};
  for (const std::string& directory : place.libdevice) {
    layout.libdevice.push_back(below_root(directory));
  }
  return layout;
}

std::vector<Candidate> Candidates(const SearchPlaces& places) {
  CandidateList list(places);
  for (const std::string& root : places.roots) {
    list.NamedBy(root);
    list.AddToolkit(root);
    list.AddWheels(root);
    list.AddPythons(root + "/lib");
  }
  for (const std::string& home : places.cuda_homes) {
    list.NamedBy(home);
    list.AddToolkit(home);
  }
  list.FoundBySearch();
  for (const std::string& directory : places.packages) list.AddWheels(directory);
  for (const std::string& parent : places.toolkit_parents) {
    for (const std::string& toolkit : Children(parent, "cuda")) list.AddToolkit(toolkit);
  }
  for (const MultiarchPlace& place : places.multiarch) list.Add(MultiarchLayout(place));
  for (const std::string& prefix : places.python_prefixes) list.AddPythons(prefix);
  if (!places.added.empty()) {
    for (const std::string& release : Children(places.added, "nv")) list.AddRelease(release);
  }
  return list.Take();
}

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
