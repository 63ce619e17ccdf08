// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/run/environment.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/files/own_path.h"
#include "client/interpose/c_library.h"
#include "client/interpose/level.h"
#include "client/interpose/loaded_names.h"
#include "client/interpose/wait.h"
#include "proto/digest.h"

namespace cccl_cache::cli {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

namespace {

namespace fs = std::filesystem;

using interpose::kAuditor;
using interpose::kExec;
/// The environment variable with the paths of the real libraries that preloaded stand-ins replace.
constexpr const char* kLibraries = "CCCL_CACHE_RUN_LIBRARIES";
// Directories that may contain the stand-ins, relative to the program's directory, so that an
// installation can be moved as a whole. The second one is in the wheel.
constexpr std::array<const char*, 3> kPlaces = {CCCL_CACHE_INSTALLED_STANDINS, "cccl-cached",
                                                CCCL_CACHE_BUILT_STANDINS};
constexpr const char* kTunables = "GLIBC_TUNABLES";
constexpr std::string_view kRoom = "glibc.rtld.optional_static_tls=";
constexpr unsigned long kRoomBytes = 3200;  // bytes per thread; jemalloc 5.3 needs 2,632 of them

/// Returns whether the loader and the stand-ins read the path as a whole. The loader splits
/// LD_PRELOAD at spaces and colons and LD_AUDIT at colons, and replaces names after a $. Other
/// lists are split at semicolons.
bool IsPlain(const fs::path& path) {
  return path.native().find_first_of(" :;$") == std::string::npos;
}

/// Creates a symlink to `directory` in the directory `made`, which only this user may access.
/// Returns the path of the symlink, or "" on failure.
fs::path LinkIn(const std::string& made, const fs::path& directory) {
  const FollowedDirectory links = OwnDirectory(made);
  struct stat status;
  if (!links.refusal.empty() || !IsPlain(links.path) || lstat(links.path.c_str(), &status) != 0 ||
      status.st_uid != geteuid() || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return {};
  }
  // The link's name depends only on the target. So a nested `run` gets the same path, and
  // recognises that its libraries are in LD_PRELOAD already.
  fs::path link = fs::path(links.path) / Sha256(directory.native()).Hex().substr(0, 16);
  if (symlink(directory.c_str(), link.c_str()) != 0 && errno != EEXIST) return {};
  std::error_code error;
  return fs::read_symlink(link, error) == directory ? link : fs::path();
}

/// Returns a path of `directory` that may be used in lists such as LD_PRELOAD: the path itself, or
/// a symlink if the path has characters at which such lists are split. Every path in a list must
/// come from this function.
Expected<fs::path> NameForLists(const fs::path& directory) {
  if (IsPlain(directory)) return directory;
  struct Place {
    const char* variable;
    const char* below;
    size_t makes;  ///< number of last components that are made if missing
  };
  // The first candidate is preferred: all nodes of a job share it, and unlike $XDG_RUNTIME_DIR it
  // remains after the user has logged out.
  for (const Place& place :
       {Place{"XDG_CACHE_HOME", "/cccl-cache-run", 2}, Place{"HOME", "/.cache/cccl-cache-run", 2},
        Place{"XDG_RUNTIME_DIR", "/cccl-cache-run", 1}}) {
    const std::string base = Variable(place.variable);
    if (!base.starts_with('/')) continue;
    MakeLastDirectories(base + place.below, place.makes);
    if (fs::path link = LinkIn(base + place.below, directory); !link.empty()) return link;
  }
  return Error{CCCL_CACHE_UNAVAILABLE,
               "the loader would split " + directory.string() +
                   " at its blanks, colons, semicolons and $, and take a part for a library. No "
                   "link to it can be made in a directory that is only this user's: install "
                   "cccl-cache-cli in another directory, or set XDG_CACHE_HOME to a directory "
                   "without these letters that no other user can write"};
}

/// Returns the directory of the stand-ins as a path that may be used in lists (see NameForLists).
Expected<fs::path> FindStandIns() {
  Expected<fs::path> found = InstalledStandIns();
  return found.ok() ? NameForLists(*found) : found;
}

/// Adds the variable `name` with its present value behind `first`. The value is a list of paths
/// with colons between them.
void Prepend(const char* name, const std::string& first, Variables* variables) {
  const std::string others = Variable(name);
  variables->emplace_back(name, others.empty() ? first : first + ":" + others);
}

/// Returns the path, with symlinks resolved, of the library that the loader finds for this name.
/// Returns "" if it finds none.
std::string Found(const std::string& soname) {
  void* const library = dlopen(soname.c_str(), RTLD_LAZY | RTLD_LOCAL);
  link_map* map = nullptr;
  std::error_code error;
  std::string path;
  if (library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) {
    path = fs::canonical(map->l_name, error).string();
  }
  if (library != nullptr) dlclose(library);
  return path;
}

/// Returns the major versions of CUDA in the order of the search. A version in LD_LIBRARY_PATH
/// comes before one that is only in the system's directories.
std::array<std::string, 2> Majors() {
  std::istringstream directories(Variable("LD_LIBRARY_PATH"));
  std::error_code error;
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (fs::exists(directory + "/libnvrtc.so.13", error)) break;
    if (fs::exists(directory + "/libnvrtc.so.12", error)) return {"12", "13"};
  }
  return {"13", "12"};
}

/// The stand-ins for LD_PRELOAD, and the real libraries that they replace. Both are lists of paths
/// with colons between them.
struct Preloaded {
  std::string standins;
  std::string real;
};

/// Returns the stand-ins for the first major version of which the loader finds libraries, or empty
/// lists if it finds none. Only one version is used, because stand-ins of two versions export the
/// same names.
Expected<Preloaded> FindPreloaded(const fs::path& standins) {
  for (const std::string& major : Majors()) {
    Preloaded found;
    for (const char* name : {"libnvrtc.so.", "libnvJitLink.so."}) {
      const std::string path = Found(name + major);
      const size_t level = path.empty() ? interpose::kLevelCount : interpose::LevelOf(path.c_str());
      if (level == interpose::kLevelCount) continue;
      const fs::path real = path;
      const Expected<fs::path> directory = NameForLists(real.parent_path());
      if (!directory.ok()) return directory.error();
      const char* colon = found.real.empty() ? "" : ":";
      found.standins += colon + (standins / interpose::kLevels[level].standin).string();
      found.real += colon + (*directory / real.filename()).string();
    }
    if (!found.real.empty()) return found;
  }
  return Preloaded{};
}

/// Sets GLIBC_TUNABLES so that libraries with initial-exec thread-local variables, such as jemalloc
/// and tcmalloc, can be loaded. With an auditor, the loader sizes the static TLS block before it
/// knows the program's libraries, and leaves only about 1,700 bytes for them. Preloaded stand-ins
/// use a part of these. Other settings in the variable are kept.
void AddRoomForThreads(Variables* variables) {
  std::istringstream parts(Variable(kTunables));
  std::string tunables;
  for (std::string part; std::getline(parts, part, ':');) {
    if (part.starts_with(kRoom)) {
      if (std::strtoul(part.c_str() + kRoom.size(), nullptr, 0) >= kRoomBytes) return;
      continue;
    }
    tunables += part + ":";
  }
  variables->emplace_back(kTunables, tunables.append(kRoom) + std::to_string(kRoomBytes));
}

Expected<Done> AddStandIns(const fs::path& standins, How how, Variables* variables) {
  const std::string auditor = (standins / kAuditor).string();
  const std::string audits = Variable("LD_AUDIT");
  const std::string exec = (standins / kExec).string();
  // If this process itself runs under `run`, the variables are already set. A program in between
  // may have removed one, which is then set again below.
  const std::string preloads = Variable("LD_PRELOAD");
  if (preloads.find(exec) != std::string::npos) return Done{};
  // So they are in a container with this cache as a device, if its C library suffices.
  if (how == How::kBest && interpose::AuditsAreFree() &&
      preloads.find(interpose::kPlaceholder) != std::string::npos) {
    return Done{};
  }
  const bool audited = audits.find(auditor) != std::string::npos;
  if (audited || how == How::kAudit ||
      (how == How::kBest && interpose::AuditsAreFree() && audits.empty())) {
    if (!audited) Prepend("LD_AUDIT", auditor, variables);
    Prepend("LD_PRELOAD", exec, variables);
    AddRoomForThreads(variables);
    return Done{};
  }
  const Expected<Preloaded> preloaded = FindPreloaded(standins);
  if (!preloaded.ok()) return preloaded.error();
  const Preloaded& found = *preloaded;
  if (found.real.empty() && how == How::kPreload) {
    return Error{CCCL_CACHE_UNAVAILABLE,
                 "the loader finds neither libnvrtc.so.13 nor libnvrtc.so.12 of a known release: "
                 "add its directory to LD_LIBRARY_PATH, or use --how audit"};
  }
  // If no library was found, the compiler programs such as ptxas are still redirected.
  Prepend("LD_PRELOAD", found.real.empty() ? exec : exec + ":" + found.standins, variables);
  if (!found.real.empty()) variables->emplace_back(kLibraries, found.real);
  AddRoomForThreads(variables);
  return Done{};
}

}  // namespace

Expected<fs::path> InstalledStandIns() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::string tried;
  for (const char* place : kPlaces) {
    const fs::path found = fs::canonical(own / place, error);
    if (!error && fs::exists(found / kAuditor, error) && fs::exists(found / kExec, error)) {
      return found;
    }
    tried += (tried.empty() ? "" : " or ") + (own / place).lexically_normal().string();
  }
  return Error{CCCL_CACHE_UNAVAILABLE,
               std::string(kAuditor) + " and " + kExec + " are not together in " + tried +
                   ": install all of the package that cccl-cache-cli is from"};
}

Variables ContainerEnvironment(const fs::path& standins) {
  return {{"LD_AUDIT", (standins / kAuditor).string()},
          {"LD_PRELOAD", (standins / interpose::kPlaceholder).string()},
          {kTunables, std::string(kRoom) + std::to_string(kRoomBytes)}};
}

bool IsUnderRun() {
  return Variable("LD_AUDIT").find("libcccl_cache_") != std::string::npos ||
         Variable("LD_PRELOAD").find("libcccl_cache_") != std::string::npos;
}

Expected<Variables> RunEnvironment(How how, std::optional<std::chrono::milliseconds> wait,
                                   const std::string& socket) {
  const Expected<fs::path> standins = FindStandIns();
  if (!standins.ok()) return standins.error();
  Variables variables;
  if (Expected<Done> done = AddStandIns(*standins, how, &variables); !done.ok()) {
    return std::move(done).error();
  }
  if (wait) variables.emplace_back(interpose::kWaitVariable, std::to_string(wait->count()));
  if (!socket.empty()) {
    std::error_code unknown;  // of a working directory that was removed
    const fs::path whole = fs::absolute(socket, unknown);
    variables.emplace_back("CCCL_CACHE_SOCKET", unknown ? socket : whole.string());
  }
  return variables;
}

void Execute(const std::vector<std::string>& words, const Variables& variables) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  auto* start = &execvp;
  // exec is called through the library that redirects compilers, because `words` may start ptxas
  // itself.
  if (const auto standins = FindStandIns(); standins.ok()) {
    void* const library = dlopen((*standins / kExec).c_str(), RTLD_NOW);
    void* const found = library == nullptr ? nullptr : dlsym(library, "execvp");
    if (found != nullptr) start = reinterpret_cast<decltype(start)>(found);
  }
  start(arguments[0], arguments.data());
}

}  // namespace cccl_cache::cli
