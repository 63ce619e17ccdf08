// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/containers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/file_descriptor.h"
#include "daemon/service/limits/peer_process.h"

namespace cccl_cache::daemon {
namespace {

/// The most that is read of one text. The mount at "/" is among a container's first mounts.
constexpr size_t kMaxRead = size_t{64} << 10;
/// Longer names of control groups are not told apart. A path has at most 4,096 bytes, and there are
/// some fifteen hierarchies.
constexpr size_t kMaxControlGroup = kMaxRead - 1;

/// Two at most are used up by one call.
constexpr uid_t kMaxNumbers = 0x7ffffff0;

/// Returns the beginning of the file; empty: it can't be read.
std::string BeginningOf(const std::string& path) {
  std::string text(kMaxRead, '\0');
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  size_t filled = 0;
  while (file.valid() && filled < text.size()) {
    const ssize_t got = read(file.get(), text.data() + filled, text.size() - filled);
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  text.resize(filled);
  return text;
}

std::optional<ContainerMark> ReadMark(const PeerProcess& process) {
  auto mark = MarkOf(BeginningOf(process.directory() + "/cgroup"),
                     BeginningOf(process.directory() + "/mountinfo"));
  if (!process.IsAlive()) return std::nullopt;
  return mark;
}

/// Takes the line off the text. None: no whole line is left.
std::optional<std::string_view> TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::string_view TakeWord(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

/// Returns the name of a control group for people: its last line's path.
std::string_view ShortNameOf(std::string_view control_group) {
  constexpr size_t kShown = 200;
  if (control_group.ends_with('\n')) control_group.remove_suffix(1);
  const std::string_view line = control_group.substr(control_group.rfind('\n') + 1);
  return line.substr(line.size() - std::min(line.size(), kShown));
}

}  // namespace

std::optional<ContainerMark> MarkOf(std::string_view control_group, std::string_view mounts) {
  if (control_group.empty() || control_group.size() > kMaxControlGroup) return std::nullopt;
  // id parent major:minor root mount_point options optional... - type source super_options
  while (auto line = TakeLine(mounts)) {
    const std::string_view id = TakeWord(*line);
    TakeWord(*line);
    const std::string_view device = TakeWord(*line);
    const std::string_view root = TakeWord(*line);
    if (TakeWord(*line) != "/") continue;
    // Spaces in names are escaped, so that this is the separator.
    const size_t separator = line->find(" - ");
    if (id.empty() || separator == std::string_view::npos) return std::nullopt;
    std::string_view rest = line->substr(separator + 3);
    TakeWord(rest);
    const std::string_view source = TakeWord(rest);
    return ContainerMark{std::string(control_group),
                         fmt::format("{} {} {} {}", id, device, root, source)};
  }
  return std::nullopt;
}

void Containers::Identify(int socket, Peer& peer) {
  const std::optional<PeerProcess> process = PeerProcess::Of(socket);
  Identify(process ? ReadMark(*process) : std::nullopt, peer);
}

void Containers::Identify(const std::optional<ContainerMark>& mark, Peer& peer) {
  const uid_t uid = peer.uid;
  peer.uid = kOverflowUid;
  peer.counted_as = Account::OfUntoldContainers();
  // Groups are as little this node's as uids are.
  peer.gid = kOverflowGid;
  peer.groups.clear();
  peer.reach = FileReach::kNone;
  peer.administrator = false;
  if (!mark || uid == kOverflowUid) return;
  Hasher hasher;
  hasher.AppendValue("root", mark->root);
  hasher.AppendValue("uid", uid);
  const Digest name = hasher.Finish();
  bool is_new = false;
  {
    const MutexLock lock(mutex_);
    const uid_t next = next_;
    Group* group = GroupOf(Sha256(mark->control_group));
    if (group == nullptr) group = &others_;
    const User* user = UserOf(*group, name);
    if (user == nullptr) return;
    peer.uid = user->number;
    peer.counted_as = group->account;
    is_new = next_ != next;
  }
  if (is_new && report_) {
    report_(fmt::format("uid {} of the container in {} is user {}, counted as {}", uid,
                        ShortNameOf(mark->control_group), peer.uid, peer.counted_as->Name()));
  }
}

std::shared_ptr<const void> Containers::Hold(uid_t user) {
  const MutexLock lock(mutex_);
  const auto found = numbers_.find(user);
  return found == numbers_.end() ? nullptr : found->second.held;
}

Account Containers::AccountOf(uid_t user) const {
  const MutexLock lock(mutex_);
  const auto found = numbers_.find(user);
  return found == numbers_.end() ? Account::OfUntoldContainers() : found->second.account;
}

Containers::Group* Containers::GroupOf(const Digest& control_group) {
  auto found = groups_.find(control_group);
  if (found == groups_.end()) {
    if (!HasNumbers()) return nullptr;
    if (groups_.size() >= limits_.accounts && !RemoveOldest(groups_)) return nullptr;
    found = groups_.emplace(control_group, Group{Account(NextNumber())}).first;
  }
  found->second.last_use = ++uses_;
  return &found->second;
}

Containers::User* Containers::UserOf(Group& group, const Digest& name) {
  auto found = group.users.find(name);
  if (found == group.users.end()) {
    if (!HasNumbers()) return nullptr;
    if (group.users.size() >= limits_.users_per_account && !RemoveOldest(group.users)) {
      return nullptr;
    }
    const uid_t number = NextNumber();
    numbers_.emplace(number, Number{group.account, std::make_shared<const char>()});
    found = group.users.emplace(name, User{number, 0}).first;
  }
  found->second.last_use = ++uses_;
  return &found->second;
}

bool Containers::IsConnected(const Group& group) const {
  return std::ranges::any_of(
      group.users, [this](const auto& each) REQUIRES(mutex_) { return IsConnected(each.second); });
}

bool Containers::IsConnected(const User& user) const {
  return numbers_.at(user.number).held.use_count() > 1;
}

void Containers::Forget(const Group& group) {
  for (const auto& [name, user] : group.users) Forget(user);
}

void Containers::Forget(const User& user) { numbers_.erase(user.number); }

template <typename Map>
bool Containers::RemoveOldest(Map& map) {
  auto oldest = map.end();
  for (auto each = map.begin(); each != map.end(); ++each) {
    const bool older = oldest == map.end() || each->second.last_use < oldest->second.last_use;
    if (older && !IsConnected(each->second)) oldest = each;
  }
  if (oldest == map.end()) return false;
  Forget(oldest->second);
  map.erase(oldest);
  return true;
}

bool Containers::HasNumbers() const { return next_ < kFirstContainerUser + kMaxNumbers; }

}  // namespace cccl_cache::daemon
