// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/installation.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

namespace cccl_cache::daemon {
namespace {

constexpr uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM |
                             IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

}  // namespace

bool Installation::SameFiles(const Installation& other) const {
  const auto same_path = [](const HeaderDirectory& a, const HeaderDirectory& b) {
    return a.path == b.path;
  };
  return major == other.major && nvrtc.path == other.nvrtc.path &&
         builtins.path == other.builtins.path && nvjitlink.path == other.nvjitlink.path &&
         nvvm.path == other.nvvm.path && libdevice.path == other.libdevice.path &&
         std::ranges::equal(headers, other.headers, same_path);
}

bool Installation::operator==(const Installation& other) const {
  const auto same_names = [](const HeaderDirectory& a, const HeaderDirectory& b) {
    return a.aliases == b.aliases;
  };
  return SameFiles(other) && root == other.root && minor == other.minor && nvrtc == other.nvrtc &&
         builtins == other.builtins && nvjitlink == other.nvjitlink && nvvm == other.nvvm &&
         libdevice == other.libdevice && std::ranges::equal(headers, other.headers, same_names);
}

InstallationWatch::InstallationWatch()
    : inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      mount_table_(open("/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC)) {
  std::optional<std::vector<MountEntry>> mounts = ReadMountTable(mount_table_.get());
  complete_ = inotify_.valid() && mounts;
  const MutexLock lock(mutex_);
  if (mounts) mounts_ = *std::move(mounts);
}

InstallationWatch::Directory* InstallationWatch::Add(const std::string& directory) {
  if (!complete_) return nullptr;
  const int watch = inotify_add_watch(inotify_.get(), directory.c_str(), kEvents);
  if (watch >= 0) {
    watches_[directory] = watch;
    return &directories_[watch];
  }
  complete_ = false;
  return nullptr;
}

void InstallationWatch::OnLookup(const std::string& directory, const std::string& name) {
  if (Directory* watched = Add(directory)) watched->names.insert(name);
}

void InstallationWatch::OnListing(const std::string& directory) {
  if (Directory* watched = Add(directory)) watched->listed = true;
}

bool InstallationWatch::Changed() {
  if (!changed_.load(std::memory_order_acquire)) {
    const MutexLock lock(mutex_);
    Drain();
    if (MountsChanged()) changed_.store(true, std::memory_order_release);
  }
  return changed_.load(std::memory_order_acquire);
}

void InstallationWatch::Drain() {
  alignas(inotify_event) char buffer[16 * 1024];
  while (!changed_.load(std::memory_order_relaxed)) {
    const ssize_t length = read(inotify_.get(), buffer, sizeof(buffer));
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return;
    for (ssize_t at = 0; at < length;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      if (Counts(event->wd, event->mask, event->len > 0 ? event->name : "")) {
        changed_.store(true, std::memory_order_release);
      }
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
}

bool InstallationWatch::Counts(int watch, uint32_t mask, const char* name) const {
  // Events were lost, or the watch was removed. So any file may have changed.
  if ((mask & (IN_Q_OVERFLOW | IN_IGNORED | IN_UNMOUNT | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
    return true;
  }
  const auto directory = directories_.find(watch);
  if (directory == directories_.end()) return false;
  const std::string_view entry = name;
  return entry.empty() || directory->second.Has(entry);  // empty: the directory's own mode or owner
}

bool InstallationWatch::Directory::Has(std::string_view name) const {
  return names.contains(name) || (listed && name != "__pycache__");
}

bool InstallationWatch::MountsChanged() {
  // poll() always reports the mount table as readable (since Linux 2.6.15). It reports a change
  // once, by POLLERR.
  struct pollfd changed = {.fd = mount_table_.get(), .events = POLLPRI, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&changed, 1, 0);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return false;
  std::optional<std::vector<MountEntry>> now = ReadMountTable(mount_table_.get());
  if (ready < 0 || !now) return true;
  const auto other = [this](const MountEntry& mount) { return !Counts(mount); };
  std::erase_if(mounts_, other);
  std::erase_if(*now, other);
  return *now != mounts_;
}

bool InstallationWatch::Counts(const MountEntry& mount) const {
  const size_t slash = mount.point.rfind('/');
  if (slash == std::string::npos || mount.point.size() == 1) return true;
  const auto watch = watches_.find(slash == 0 ? "/" : mount.point.substr(0, slash));
  return watch != watches_.end() &&
         directories_.at(watch->second).Has(std::string_view(mount.point).substr(slash + 1));
}

}  // namespace cccl_cache::daemon
