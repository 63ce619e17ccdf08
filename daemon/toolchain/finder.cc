// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/finder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/toolchain/layout.h"

namespace cccl_cache::daemon {
namespace {

namespace fs = std::filesystem;

/// The oldest supported major version. NVRTC's interface has not changed since 11.2.
constexpr int kOldestMajor = 11;

FoundFile Find(const std::string& directory, const std::string& name) {
  const std::string found_as = (fs::path(directory) / name).lexically_normal();
  std::error_code error;
  const fs::path path = fs::canonical(found_as, error);
  if (error) return {};
  return {found_as, path};
}

/// Returns the minor version in the name of a library's real file: 4 if libnvrtc.so.12 is a symlink
/// to libnvrtc.so.12.4.127. Returns none if that name has no minor version.
std::optional<int> MinorOfFile(const FoundFile& file, std::string_view stem) {
  const auto name = LibraryName::Parse(fs::path(file.path).filename().native(), stem);
  if (!name || name->numbers.size() < 3) return std::nullopt;
  return name->numbers[1];
}

/// Finds the installations of one layout. Its directories may have several major versions side by
/// side. Each of them is one installation.
class LayoutSearch {
 public:
  explicit LayoutSearch(const Layout& layout) : layout_(layout) {
    std::error_code error;
    root_ = fs::canonical(layout.root, error);
    shown_root_ = root_ == "/" ? Directory(layout.nvrtc.front()) : root_;
  }

  std::vector<Installation> Search(std::vector<RejectedToolchain>& incomplete) {
    if (root_.empty()) return {};
    FindCompilers(incomplete);
    FindLinkers();
    FindNvvm(incomplete);
    std::vector<Installation> found;
    // The newest version comes first, because versions in one directory have no other order.
    for (auto installation = by_major_.rbegin(); installation != by_major_.rend(); ++installation) {
      found.push_back(std::move(installation->second));
    }
    return found;
  }

 private:
  Installation& OfMajor(int major) {
    Installation& installation = by_major_[major];
    installation.root = shown_root_;
    installation.major = major;
    return installation;
  }

  [[nodiscard]] std::string Directory(const std::string& name) const {
    return (fs::path(root_) / name).lexically_normal();
  }

  void FindCompilers(std::vector<RejectedToolchain>& incomplete) {
    for (const std::string& name : layout_.nvrtc) {
      const std::string directory = Directory(name);
      for (const LibraryName& library : LibrariesIn(directory, "libnvrtc")) {
        if (library.numbers.empty() || library.numbers[0] < kOldestMajor) continue;
        const int major = library.numbers[0];
        if (by_major_.contains(major)) continue;
        const FoundFile nvrtc = Find(directory, library.file);
        if (nvrtc.present() && !AddCompiler(directory, nvrtc, major)) {
          incomplete.push_back(
              {shown_root_,
               fmt::format("{} has no libnvrtc-builtins.so.{}.* beside it; install the "
                           "package of NVRTC completely",
                           nvrtc.found_as, major)});
        }
      }
    }
  }

  bool AddCompiler(const std::string& directory, const FoundFile& nvrtc, int major) {
    const std::optional<int> minor = MinorOfFile(nvrtc, "libnvrtc");
    std::optional<LibraryName> chosen;
    for (const LibraryName& builtins : LibrariesIn(directory, "libnvrtc-builtins")) {
      if (builtins.numbers.size() < 2 || builtins.numbers[0] != major) continue;
      if (minor && builtins.numbers[1] != *minor) continue;
      if (!chosen || chosen->numbers[1] < builtins.numbers[1]) chosen = builtins;
    }
    if (!chosen) return false;
    const FoundFile builtins = Find(directory, chosen->file);
    if (!builtins.present()) return false;
    Installation& installation = OfMajor(major);
    installation.minor = chosen->numbers[1];
    installation.nvrtc = nvrtc;
    installation.builtins = builtins;
    installation.headers = FindHeaders(layout_, major);
    return true;
  }

  void FindLinkers() {
    for (const std::string& name : layout_.nvjitlink) {
      const std::string directory = Directory(name);
      for (const LibraryName& library : LibrariesIn(directory, "libnvJitLink")) {
        if (library.numbers.empty() || library.numbers[0] < kOldestMajor) continue;
        const FoundFile linker = Find(directory, library.file);
        Installation& installation = OfMajor(library.numbers[0]);
        if (!linker.present() || installation.nvjitlink.present()) continue;
        installation.nvjitlink = linker;
        if (!installation.nvrtc.present()) {
          installation.minor = MinorOfFile(linker, "libnvJitLink").value_or(0);
        }
      }
    }
    std::erase_if(by_major_, [](const auto& entry) {
      return !entry.second.nvrtc.present() && !entry.second.nvjitlink.present();
    });
  }

  /// Adds libNVVM to the installation with the newest NVRTC or nvJitLink of this layout. The
  /// version of libNVVM does not show to which one it belongs, because it is not a version of CUDA.
  void FindNvvm(std::vector<RejectedToolchain>& incomplete) {
    const FoundFile nvvm = FirstNvvm();
    if (!nvvm.present()) return;
    if (by_major_.empty()) {
      incomplete.push_back(
          {shown_root_, fmt::format("{} has neither NVRTC nor nvJitLink beside it, which "
                                    "tell the version; install one of them",
                                    nvvm.found_as)});
      return;
    }
    Installation& newest = by_major_.rbegin()->second;
    newest.nvvm = nvvm;
    for (const std::string& name : layout_.libdevice) {
      if (!newest.libdevice.present()) newest.libdevice = Find(Directory(name), "libdevice.10.bc");
    }
  }

  FoundFile FirstNvvm() {
    for (const std::string& name : layout_.nvvm) {
      for (const LibraryName& library : LibrariesIn(Directory(name), "libnvvm")) {
        if (FoundFile nvvm = Find(Directory(name), library.file); nvvm.present()) return nvvm;
      }
    }
    return {};
  }

  const Layout& layout_;
  std::string root_;
  std::string shown_root_;  ///< the root for messages; the directory of the libraries if the root
                            ///< is /
  std::map<int, Installation> by_major_;
};

void Merge(std::vector<Installation>& all, Installation installation) {
  const auto known = std::ranges::find_if(
      all, [&](const Installation& other) { return other.SameFiles(installation); });
  if (known == all.end()) {
    all.push_back(std::move(installation));
    return;
  }
  for (size_t i = 0; i < known->headers.size(); ++i) {
    for (const std::string& alias : installation.headers[i].aliases) {
      AddAlias(known->headers[i], alias);
    }
  }
}

/// Reports each place that the configuration or the environment names and in which no toolchain is.
/// `named` tells for each place whether something was found.
void ReportEmpty(const std::map<std::string, bool>& named, FoundInstallations& found) {
  for (const auto& [place, held_something] : named) {
    if (!held_something) found.incomplete.push_back({place, WhyNothingFound(place)});
  }
}

namespace fs = std::filesystem;

constexpr std::string_view kGoodPlaces =
    "name a CUDA toolkit, a site-packages directory, a virtual environment or a directory of these "
    "libraries";

bool Allows(const fs::path& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

std::string Forbidden(const char* what, const fs::path& path) {
  return fmt::format(
      "uid {}, as which toolchains are looked for, may not {} {}: allow it, or name a place that "
      "it can read",
      geteuid(), what, path.native());
}

/// Returns the first directory on the way to `place` that can't be entered.
fs::path Barrier(const fs::path& place) {
  fs::path reached;
  for (const fs::path& name : place) {
    reached /= name;
    if (!Allows(reached, X_OK)) break;
  }
  return reached;
}

}  // namespace

FoundInstallations FindInstallations(const SearchPlaces& places) {
  FoundInstallations found;
  std::map<std::string, bool> named;
  for (const Candidate& candidate : Candidates(places)) {
    const size_t incomplete_before = found.incomplete.size();
    std::vector<Installation> here = LayoutSearch(candidate.layout).Search(found.incomplete);
    const bool something = !here.empty() || found.incomplete.size() > incomplete_before;
    if (candidate.asked_for) named[candidate.named] |= something;
    for (Installation& installation : here) {
      installation.added = candidate.added;
      Merge(found.installations, std::move(installation));
    }
  }
  ReportEmpty(named, found);
  return found;
}

std::optional<LibraryName> LibraryName::Parse(std::string_view file, std::string_view stem) {
  if (!file.starts_with(stem)) return std::nullopt;
  std::string_view rest = file.substr(stem.size());
  if (!rest.starts_with(".so")) return std::nullopt;
  rest.remove_prefix(3);
  LibraryName name{std::string(file), {}};
  while (!rest.empty()) {
    int number = 0;
    if (rest.front() != '.') return std::nullopt;
    const char* const end = rest.data() + rest.size();
    const auto [after, error] = std::from_chars(rest.data() + 1, end, number);
    if (error != std::errc() || number < 0) return std::nullopt;
    name.numbers.push_back(number);
    rest = std::string_view(after, static_cast<size_t>(end - after));
  }
  return name;
}

std::vector<LibraryName> LibrariesIn(const std::string& directory, std::string_view stem) {
  std::vector<LibraryName> libraries;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    if (auto name = LibraryName::Parse(entry->path().filename().native(), stem)) {
      libraries.push_back(std::move(*name));
    }
    entry.increment(error);
  }
  std::ranges::sort(libraries, [](const LibraryName& a, const LibraryName& b) {
    return a.numbers.size() != b.numbers.size() ? a.numbers.size() < b.numbers.size()
                                                : a.numbers < b.numbers;
  });
  return libraries;
}

std::string WhyNothingFound(const std::string& place) {
  if (!Allows(place, F_OK)) {
    if (errno == EACCES) return Forbidden("enter", Barrier(fs::path(place).parent_path()));
    if (errno == ENOENT) return fmt::format("it does not exist: {}", kGoodPlaces);
    return fmt::format("it can't be reached ({}): {}", std::strerror(errno), kGoodPlaces);
  }
  std::error_code error;
  if (!fs::is_directory(place, error)) return fmt::format("it is no directory: {}", kGoodPlaces);
  if (!Allows(place, X_OK)) return Forbidden("enter", place);
  if (!Allows(place, R_OK)) return Forbidden("list", place);
  return fmt::format("it holds no libnvrtc.so.N and no libnvJitLink.so.N; {}", kGoodPlaces);
}

}  // namespace cccl_cache::daemon
