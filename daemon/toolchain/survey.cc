// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/survey.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/file_system_magic.h"
#include "proto/component_id.h"

namespace cccl_cache::daemon {
namespace {

/// Returns whether inotify reports every change on the file system of this path. That is true for
/// local file systems, which no other host can change, and for read-only images (squashfs, erofs).
bool ChangesAreReported(const std::string& path) {
  static constexpr std::array<uint32_t, 10> kLocal = {
      EXT4_SUPER_MAGIC, kXfsMagic,   kBtrfsMagic,           kZfsMagic,      kF2fsMagic,
      kBcachefsMagic,   TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC, SQUASHFS_MAGIC, kErofsMagic};
  struct statfs file_system {};
  if (statfs(path.c_str(), &file_system) != 0) return false;
  return std::ranges::find(kLocal, static_cast<uint32_t>(file_system.f_type)) != kLocal.end();
}

struct DirectoryCloser {
  void operator()(DIR* directory) const { closedir(directory); }
};
using OpenDirectory = std::unique_ptr<DIR, DirectoryCloser>;

OpenDirectory Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return OpenDirectory(fd < 0 ? nullptr : fdopendir(fd));
}

/// The directory that the walk visits: its real path, and its name relative to the top directory
/// ("" or "cub/").
struct Place {
  std::string path;
  std::string prefix;
  int depth = 0;
};

// Limits for the tree below one header directory: the number of entries, and the depth.
constexpr int kMaxHeaderFiles = 100'000;
constexpr int kMaxHeaderDepth = 32;

/// A function that is called for each regular file. `name` is relative to the header directory;
/// `path` is absolute.
using HeaderVisitor =
    std::function<void(std::string name, std::string path, const struct statx& status)>;

/// Visits all regular files below a trusted directory and follows symlinks. The order is
/// unspecified. Fails if another user can change one of the files, or if the tree is too large.
class HeaderWalk {
 public:
  HeaderWalk(uid_t own_uid, LookupObserver* observer, const HeaderVisitor& visit)
      : own_uid_(own_uid), observer_(observer), visit_(visit) {}

  Status Walk(const Place& place) {
    if (place.depth > kMaxHeaderDepth) return TooLarge(place.path);
    if (observer_ != nullptr) observer_->OnListing(place.path);
    const OpenDirectory directory = Open(place.path);
    if (directory == nullptr) return Failed(place.path);
    errno = 0;
    while (const dirent* entry = readdir(directory.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || name == "__pycache__") continue;
      if (Status visited = Visit(place, dirfd(directory.get()), entry->d_name); !visited.ok()) {
        return visited;
      }
      errno = 0;
    }
    return errno == 0 ? Status(Ok{}) : Failed(place.path);
  }

 private:
  static Error Failed(const std::string& path) {
    return {ErrorCode::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno))};
  }

  static Error TooLarge(const std::string& path) {
    return {ErrorCode::kDenied,
            fmt::format("{} has more than {} files or {} levels: is this a directory of headers?",
                        path, kMaxHeaderFiles, kMaxHeaderDepth)};
  }

  Status Visit(const Place& place, int directory, const char* name) {
    if (++entries_ > kMaxHeaderFiles) return TooLarge(place.path);
    const std::string path = place.path + "/" + name;
    struct statx status {};
    if ((errno = StatusAt(directory, name, &status)) != 0) return Failed(path);
    if (S_ISLNK(status.stx_mode)) return VisitLink(place, path, name);
    if (!S_ISDIR(status.stx_mode) && !S_ISREG(status.stx_mode)) return Ok{};
    const PathRole role = S_ISDIR(status.stx_mode) ? PathRole::kHolder : PathRole::kFile;
    struct stat rights {};
    rights.st_mode = status.stx_mode;
    rights.st_uid = status.stx_uid;
    rights.st_gid = status.stx_gid;
    if (auto reason = WhyNotTrusted(path, rights, role, own_uid_)) {
      return Error{ErrorCode::kDenied, *reason};
    }
    return VisitTarget(place, path, status, name);
  }

  /// Visits the target of a symlink under the symlink's name, even if the target is outside the
  /// header directory. A dangling symlink is skipped; the observer reports it if its target appears
  /// later.
  Status VisitLink(const Place& place, const std::string& link, const char* name) {
    Result<TrustedPath> target = FollowTrusted(link, own_uid_, PathRole::kHolder, observer_);
    if (target.ok()) {
      struct statx status {};
      if ((errno = StatusAt(AT_FDCWD, target->path, &status)) != 0) return Failed(target->path);
      return VisitTarget(place, target->path, status, name);
    }
    if (target.error().code == ErrorCode::kUnavailable) return Ok{};
    return target.error();
  }

  Status VisitTarget(const Place& place, const std::string& path, const struct statx& status,
                     const char* name) {
    if (S_ISDIR(status.stx_mode)) {
      return Walk({path, place.prefix + name + "/", place.depth + 1});
    }
    visit_(place.prefix + name, path, status);
    return Ok{};
  }

  const uid_t own_uid_;
  LookupObserver* const observer_;
  const HeaderVisitor& visit_;
  int entries_ = 0;
};

class Surveyor {
 public:
  Surveyor(uid_t own_uid, LookupObserver* observer) : own_uid_(own_uid), observer_(observer) {}

  Result<Survey> Take(const Installation& installation) {
    Status done = AddFile(survey_.nvrtc, "library", installation.nvrtc);
    if (done.ok()) done = AddFile(survey_.nvrtc, "builtins", installation.builtins);
    if (done.ok()) done = AddFile(survey_.nvjitlink, "library", installation.nvjitlink);
    if (done.ok()) done = AddFile(survey_.nvvm, "library", installation.nvvm);
    if (done.ok()) done = AddFile(survey_.nvvm, "libdevice", installation.libdevice);
    for (size_t i = 0; done.ok() && i < installation.headers.size(); ++i) {
      done = AddHeaders(installation.headers, i);
    }
    if (!done.ok()) return done.error();
    if (gone_) return Error{ErrorCode::kUnavailable, fmt::format("{} is gone", *gone_)};
    Seal();
    return std::move(survey_);
  }

 private:
  Status AddFile(SurveyedPart& part, const char* name, const FoundFile& file) {
    if (!file.present()) return Ok{};
    Result<TrustedPath> target =
        FollowTrusted(file.found_as, own_uid_, PathRole::kHolder, observer_);
    if (!target.ok()) return target.error();
    if (target->path != file.path || !S_ISREG(target->status.st_mode)) {
      return Error{ErrorCode::kUnavailable,
                   fmt::format("{} leads to {} now", file.found_as, target->path)};
    }
    Add(part, name, target->path, stamps_.At(target->path));
    return Ok{};
  }

  void Add(SurveyedPart& part, std::string name, std::string path,
           const std::optional<StampReader::Stamp>& read) {
    if (!read) {
      gone_ = std::move(path);
      return;
    }
    const ContentStamp& stamp = read->stamp;
    survey_.newest_change_ns = std::max(survey_.newest_change_ns, stamp.ctime_ns);
    part.stamps_prove = part.stamps_prove && read->proves;
    if (devices_.insert(stamp.device).second && !ChangesAreReported(path)) {
      survey_.changes_are_reported = false;
    }
    part.files.push_back({std::move(name), std::move(path), stamp});
  }

  Status AddHeaders(const std::vector<HeaderDirectory>& all, size_t index) {
    const HeaderDirectory& headers = all[index];
    Result<TrustedPath> top =
        FollowTrusted(headers.path, own_uid_, PathRole::kPassedThrough, observer_);
    if (!top.ok()) return top.error();
    if (top->path != headers.path || !S_ISDIR(top->status.st_mode)) {
      return Error{ErrorCode::kUnavailable, fmt::format("{} has moved", headers.path)};
    }
    survey_.header_directories.push_back({headers.path, TrustedAliases(headers, top->status)});
    const size_t outer = OutermostOf(all, index);
    if (outer != index) {
      survey_.headers.shape +=
          fmt::format("{}={}{}\n", index, outer, headers.path.substr(all[outer].path.size()));
      return Ok{};
    }
    survey_.headers.shape += fmt::format("{}\n", index);
    const HeaderVisitor visit = [&](std::string name, std::string path,
                                    const struct statx& status) {
      if (path != fmt::format("{}/{}", headers.path, name)) survey_.headers.linked = true;
      const auto read = stamps_.At(path, status);
      Add(survey_.headers, fmt::format("{}/{}", index, name), std::move(path), read);
    };
    return HeaderWalk(own_uid_, observer_, visit).Walk({top->path, "", 0});
  }

  /// Returns those aliases of the header directory that only root and the daemon's user can
  /// redirect.
  std::vector<std::string> TrustedAliases(const HeaderDirectory& headers,
                                          const struct stat& status) {
    std::vector<std::string> trusted;
    for (const std::string& alias : headers.aliases) {
      const auto target = FollowTrusted(alias, own_uid_, PathRole::kPassedThrough, observer_);
      if (target.ok() && target->status.st_dev == status.st_dev &&
          target->status.st_ino == status.st_ino) {
        trusted.push_back(alias);
      }
    }
    return trusted;
  }

  void Seal() {
    Hasher hasher;
    for (SurveyedPart* part :
         {&survey_.nvrtc, &survey_.headers, &survey_.nvjitlink, &survey_.nvvm}) {
      std::ranges::sort(part->files, {}, &SurveyedFile::name);
      part->stamps = StampsOf(*part);
      if (part != &survey_.headers) part->component_stamp = ComponentStampOf(*part);
      hasher.AppendValue("part", part->stamps.View());
    }
    for (const HeaderDirectory& headers : survey_.header_directories) {
      hasher.AppendValue("directory", headers.path);
      for (const std::string& alias : headers.aliases) hasher.AppendValue("alias", alias);
    }
    survey_.stamps = hasher.Finish();
  }

  [[nodiscard]] Digest StampsOf(const SurveyedPart& part) const {
    Hasher hasher;
    hasher.AppendValue("shape", part.shape);
    for (const SurveyedFile& file : part.files) {
      hasher.AppendValue("name", file.name);
      hasher.AppendValue("path", file.path);
      hasher.AppendValue("stamp", stamps_.TextOf(file.stamp));
    }
    return hasher.Finish();
  }

  [[nodiscard]] std::optional<Digest> ComponentStampOf(const SurveyedPart& part) const {
    if (part.files.empty() || !part.stamps_prove) return std::nullopt;
    std::vector<std::string> stamps;
    // The files are sorted by name, so the library is last. DigestOfStamps expects it first.
    for (auto file = part.files.rbegin(); file != part.files.rend(); ++file) {
      stamps.push_back(stamps_.TextOf(file->stamp));
    }
    return DigestOfStamps(stamps);
  }

  const uid_t own_uid_;
  LookupObserver* const observer_;
  StampReader stamps_;
  Survey survey_;
  std::optional<std::string> gone_;  ///< a file that was removed during the survey
  std::set<uint64_t> devices_;       ///< devices that ChangesAreReported has checked
};

}  // namespace

Result<Survey> TakeSurvey(const Installation& installation, uid_t own_uid,
                          LookupObserver* observer) {
  return Surveyor(own_uid, observer).Take(installation);
}

}  // namespace cccl_cache::daemon
