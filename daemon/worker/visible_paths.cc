// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/visible_paths.h"

#include <limits.h>

#include <utility>

#include "daemon/worker/lexical_path.h"

namespace cccl_cached {
namespace {

/// NVRTC stats these, and the names of program and inline headers, only to learn inode numbers.
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

std::string CleanOrEmpty(std::string_view path) { return path.empty() ? "" : WithoutDots(path); }

}  // namespace

VisiblePaths::VisiblePaths(const WorkerJob& job, Outside outside)
    : working_directory_(WithoutDots(job.visible_working_directory)) {
  const bool asks = outside == Outside::kAsks;
  for (const WorkerJob::MountPoint& mount : job.mounts) {
    entries_.push_back(
        {WithoutDots(mount.visible), CleanOrEmpty(mount.target), asks && !mount.trusted});
  }
  // Where real paths are seen and no working directory is known, "/" stands for "somewhere": it
  // must not hide what absolute names mean.
  const bool nowhere = !asks && job.working_directory.empty() && working_directory_ == "/";
  if (!job.visible_working_directory.empty() && !nowhere) {
    entries_.push_back({working_directory_, CleanOrEmpty(job.working_directory), asks});
  }
  parents_.insert("/");
  for (const Entry& entry : entries_) {
    for (size_t slash = entry.visible.rfind('/'); slash != 0 && slash != std::string::npos;
         slash = entry.visible.rfind('/', slash - 1)) {
      parents_.insert(entry.visible.substr(0, slash));
    }
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
  for (const Entry& entry : entries_) {
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
  if (made_up_.contains(absolute)) return Nowhere{};
  const Entry* entry = Longest(absolute);
  if (entry != nullptr && entry->asked) return Path{absolute, absolute};
  if (entry != nullptr && entry->visible == absolute) {
    return Directory{entry->target, InodeOf(entry->target.empty() ? absolute : entry->target)};
  }
  if (parents_.contains(absolute)) return Directory{"", InodeOf(absolute)};
  if (entry == nullptr) return Path{absolute, absolute};
  if (entry->target.empty()) return Nowhere{};
  const size_t prefix = entry->visible == "/" ? 0 : entry->visible.size();
  return Path{entry->target + absolute.substr(prefix), absolute};
}

}  // namespace cccl_cached
