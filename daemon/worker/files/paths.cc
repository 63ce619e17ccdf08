// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/paths.h"

#include <fcntl.h>
#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files/file_descriptor.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
namespace {

/// Calls `take` for each component of the path, except empty components and ".".
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

/// Names that NVRTC gives its own texts in memory. NVRTC calls stat with these names, and with the
/// names of the program and of inline headers, only for the inode numbers. If NVRTC opens such a
/// name, it means a file: for example "./a.h" if "a.h" is the name of an inline header.
constexpr std::string_view kMadeUpByNvrtc[] = {"__nv_nvrtc_builtin_header.h", "__nv_name_map",
                                               "default_program"};

/// Returns the FNV-1a hash of a path. Directories of one job have different numbers, and a
/// directory has the same number in every worker.
uint64_t InodeOf(std::string_view path) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : path) {
    hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  }
  return hash >> 1;  // positive also as int64_t
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

VisiblePaths::VisiblePaths(const WorkerJob& job)
    : working_directory_(WithoutDots(job.visible_working_directory)) {
  for (const WorkerJob::MountPoint& mount : job.mounts) {
    mounts_.push_back({WithoutDots(mount.visible), WithoutDots(mount.target)});
  }
  if (job.kind != BuildKind::kNvrtc) return;
  for (const std::string_view name : kMadeUpByNvrtc) AddMadeUpName(name);
  AddMadeUpName(job.program_name);
  for (const WorkerJob::Header& header : job.headers) AddMadeUpName(header.name);
}

void VisiblePaths::AddMadeUpName(std::string_view name) {
  if (!name.empty()) made_up_.insert(Absolute(name));
}

std::string VisiblePaths::Absolute(std::string_view name) const {
  if (name.starts_with('/')) return WithoutDots(name);
  return WithoutDots(working_directory_ + "/" + std::string(name));
}

const VisiblePaths::Entry* VisiblePaths::Longest(std::string_view path) const {
  const Entry* longest = nullptr;
  for (const Entry& entry : mounts_) {
    if (LiesIn(path, entry.visible) &&
        (longest == nullptr || entry.visible.size() > longest->visible.size())) {
      longest = &entry;
    }
  }
  return longest;
}

VisiblePaths::Place VisiblePaths::Find(std::string_view name) const {
  if (name.empty() || name.size() >= PATH_MAX) return Nowhere{};
  const std::string absolute = Absolute(name);
  const Entry* mount = Longest(absolute);
  if (mount != nullptr && mount->visible == absolute) {
    return Directory{mount->target, InodeOf(mount->target)};
  }
  if (absolute == "/") return Directory{"", InodeOf(absolute)};
  const bool made_up = made_up_.contains(absolute);
  if (mount == nullptr) return Path{absolute, absolute, made_up, ""};
  const size_t prefix = mount->visible == "/" ? 0 : mount->visible.size();
  return Path{mount->target + absolute.substr(prefix), absolute, made_up, mount->visible};
}

TrustedDirectories::TrustedDirectories(std::vector<std::string> directories)
    : directories_(std::move(directories)) {
  for (std::string& directory : directories_) directory = LexicallyNormal(directory);
}

bool TrustedDirectories::Contain(std::string_view normal_path) const {
  return std::ranges::any_of(directories_, [&](const std::string& directory) {
    return LiesInHeaders(normal_path, directory);
  });
}

bool TrustedDirectories::ContainAllTheWay(std::string_view path) const {
  if (!GoesUp(path)) return Contain(path);
  constexpr std::string_view kUp = "/..";
  for (size_t up = path.find(kUp); up != std::string_view::npos; up = path.find(kUp, up + 1)) {
    const size_t end = up + kUp.size();
    if (end != path.size() && path[end] != '/') continue;  // a component like "..hidden"
    if (!Contain(LexicallyNormal(path.substr(0, up))) ||
        !Contain(LexicallyNormal(path.substr(0, end)))) {
      return false;
    }
  }
  return Contain(LexicallyNormal(path));
}

TrustedDirectories::Verdict TrustedDirectories::Judge(const std::string& directory) {
  const auto known = verdicts_.find(directory);
  if (known != verdicts_.end()) return known->second;
  const Verdict verdict = Look(directory);
  verdicts_.emplace(directory, verdict);
  return verdict;
}

TrustedDirectories::Verdict TrustedDirectories::Look(const std::string& directory) {
  const FileDescriptor fd(
      real_files::Open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  // The sandbox permits all directories of the toolchain, so a forbidden one lies elsewhere.
  if (fd.get() == -EACCES) return Verdict::kElsewhere;
  if (!fd.valid()) return Verdict::kAbsent;
  const std::string real_path = real_files::PathOf(fd.get());
  if (real_path.empty()) return Verdict::kElsewhere;
  if (Seen(real_path)) return Verdict::kTrusted;
  if (!GoesUp(directory) && Contain(directory)) {
    linked_.push_back(real_path);
    return Verdict::kTrusted;
  }
  FollowPrefixes(directory);
  return Seen(real_path) ? Verdict::kTrusted : Verdict::kElsewhere;
}

void TrustedDirectories::FollowPrefixes(std::string_view directory) {
  const std::string_view down = directory.substr(0, directory.find("/../"));
  std::string prefix(down.ends_with("/..") ? down.substr(0, down.size() - 3) : down);
  for (; !prefix.empty() && Contain(prefix); prefix.resize(prefix.rfind('/'))) {
    [[maybe_unused]] const Verdict verdict = Judge(prefix);
  }
}

bool TrustedDirectories::Seen(std::string_view real_path) const {
  return Contain(real_path) || std::ranges::any_of(linked_, [&](const std::string& directory) {
           return LiesInHeaders(real_path, directory);
         });
}

}  // namespace cccl_cache::daemon
