// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/survey.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <set>

#include "daemon/toolchain/header_tree.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::Digest;
using cccl_cache::Hasher;

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

/// File systems where the local kernel sets ctime: ext, xfs, btrfs, zfs, f2fs, bcachefs, tmpfs,
/// overlay, squashfs, erofs.
bool StampsAreLocal(const std::string& path) {
  static constexpr std::array<uint32_t, 10> kLocal = {
      0xef53,     0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010,
      0xca451a4e, 0x01021994, 0x794c7630, 0x73717368, 0xe0f5e1e2};
  struct statfs file_system {};
  if (statfs(path.c_str(), &file_system) != 0) return false;
  return std::ranges::find(kLocal, static_cast<uint32_t>(file_system.f_type)) != kLocal.end();
}

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
    Add(part, name, *target);
    return Ok{};
  }

  void Add(SurveyedPart& part, std::string name, const TrustedPath& file) {
    const FileStamp stamp = FileStamp::Of(file.status);
    survey_.newest_change_ns = std::max(survey_.newest_change_ns, stamp.changed_ns);
    if (devices_.insert(stamp.device).second && !StampsAreLocal(file.path)) {
      survey_.stamps_are_local = false;
    }
    part.files.push_back({std::move(name), file.path, stamp});
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
    return WalkHeaderTree(
        *top, own_uid_, observer_,
        [&](std::string name, std::string path, const struct stat& status) {
          if (path != fmt::format("{}/{}", headers.path, name)) survey_.headers.linked = true;
          Add(survey_.headers, fmt::format("{}/{}", index, name), {std::move(path), status});
        });
  }

  /// Other spellings count only if nobody else can make them lead elsewhere.
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
      hasher.AppendValue("part", part->stamps.View());
    }
    for (const HeaderDirectory& headers : survey_.header_directories) {
      hasher.AppendValue("directory", headers.path);
      for (const std::string& alias : headers.aliases) hasher.AppendValue("alias", alias);
    }
    survey_.stamps = hasher.Finish();
  }

  static Digest StampsOf(const SurveyedPart& part) {
    Hasher hasher;
    hasher.AppendValue("shape", part.shape);
    for (const SurveyedFile& file : part.files) {
      hasher.AppendValue("name", file.name);
      hasher.AppendValue("path", file.path);
      hasher.AppendValue("device", file.stamp.device);
      hasher.AppendValue("inode", file.stamp.inode);
      hasher.AppendValue("size", file.stamp.size);
      hasher.AppendValue("modified", static_cast<uint64_t>(file.stamp.modified_ns));
      hasher.AppendValue("changed", static_cast<uint64_t>(file.stamp.changed_ns));
    }
    return hasher.Finish();
  }

  const uid_t own_uid_;
  LookupObserver* const observer_;
  Survey survey_;
  std::set<uint64_t> devices_;  ///< those asked already
};

}  // namespace

FileStamp FileStamp::Of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<uint64_t>(status.st_size),
          .modified_ns = Nanoseconds(status.st_mtim),
          .changed_ns = Nanoseconds(status.st_ctim)};
}

Result<Survey> TakeSurvey(const Installation& installation, uid_t own_uid,
                          LookupObserver* observer) {
  return Surveyor(own_uid, observer).Take(installation);
}

}  // namespace cccl_cache::daemon
