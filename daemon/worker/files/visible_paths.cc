// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/visible_paths.h"

#include <limits.h>

#include <utility>

#include "daemon/core/model/toolchain.h"
#include "daemon/worker/files/lexical_path.h"

namespace cccl_cache::daemon {
namespace {

/// NVRTC stats these, and the names of program and inline headers, only to learn inode numbers.
/// Those that it opens name other texts, which a file holds: "./a.h" where "a.h" is inline.
constexpr std::string_view kMadeUpByNvrtc[] = {"__nv_nvrtc_builtin_header.h", "__nv_name_map",
                                               "default_program"};

/// FNV-1a: only has to tell directories apart, and be the same in every worker.
uint64_t InodeOf(std::string_view path) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : path) {
    hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  }
  return hash >> 1;  // positive where a program keeps it signed
}

}  // namespace

VisiblePaths::VisiblePaths(const WorkerJob& job)
    : working_directory_(WithoutDots(job.visible_working_directory)) {
  for (const WorkerJob::MountPoint& mount : job.mounts) {
    mounts_.push_back({WithoutDots(mount.visible), WithoutDots(mount.target)});
  }
  if (job.kind != cccl_cache::BuildKind::kNvrtc) return;
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

}  // namespace cccl_cache::daemon
