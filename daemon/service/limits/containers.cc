// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/containers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/files/whole_file.h"
#include "daemon/service/limits/peer_process.h"

namespace cccl_cache::daemon {
namespace {

/// Bytes that are read from a file of /proc. They include the mount at "/", because it is among the
/// first lines of /proc/PID/mountinfo in a container.
constexpr size_t kMaxRead = size_t{64} << 10;
/// A container whose /proc/PID/cgroup is longer can't be identified. In practice none is: a path
/// has at most 4,096 bytes, and there are some fifteen hierarchies.
constexpr size_t kMaxControlGroup = kMaxRead - 1;

/// A container may make any number of control groups below its own, and each takes an account. When
/// all accounts are in use, a control group below which there are more than 1/kShares of them loses
/// an account first.
constexpr size_t kShares = 16;

/// A control group without accounts is removed from places_ if it has given fewer numbers than
/// this.
constexpr uint64_t kManyNumbers = uint64_t{1} << 20;

/// Returns whether a connection of this user or group is open. `either` is a User or a Group.
bool IsConnected(const auto& either) { return either.connected.use_count() > 1; }

std::optional<ContainerMark> ReadMark(const PeerProcess& process) {
  auto mark = MarkOf(ReadFileAt(process.directory() + "/cgroup", kMaxRead).value_or(""),
                     ReadFileAt(process.directory() + "/mountinfo", kMaxRead).value_or(""));
  if (!process.IsAlive()) return std::nullopt;
  return mark;
}

/// Removes the first line from the text and returns it. Returns none if no complete line is left.
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

/// Returns a name of the control group for the log: the end of the last line of /proc/PID/cgroup.
std::string_view ShortNameOf(std::string_view control_group) {
  constexpr size_t kShown = 200;
  if (control_group.ends_with('\n')) control_group.remove_suffix(1);
  const std::string_view line = control_group.substr(control_group.rfind('\n') + 1);
  return line.substr(line.size() - std::min(line.size(), kShown));
}

bool IsBelow(std::string_view path, std::string_view parent) {
  return path.starts_with(parent) && (path.size() == parent.size() || path[parent.size()] == '/');
}

/// Returns the paths of a control group in all hierarchies, joined to one path. Leaves out a path
/// that is equal to an earlier path or a parent of it.
std::string PathOf(std::string_view control_group) {
  std::string whole;
  std::vector<std::string_view> earlier;
  while (auto line = TakeLine(control_group)) {
    // The form of a line is number:controllers:path.
    const std::string_view path = line->substr(std::min(line->size(), line->find(":/") + 1));
    const auto holds = [path](std::string_view each) { return IsBelow(each, path); };
    if (path.size() < 2 || std::ranges::any_of(earlier, holds)) continue;
    earlier.push_back(path);
    whole += path;
  }
  return whole;
}

/// Returns the path of the slice that systemd made for a user of this node. It contains all
/// sessions and control groups of the user. Returns none if the path is not below such a slice.
std::optional<std::string_view> SliceOfUser(std::string_view path) {
  constexpr std::string_view kUser = "/user-";
  constexpr std::string_view kSlice = ".slice";
  for (size_t begin = path.find(kUser); begin != std::string_view::npos;
       begin = path.find(kUser, begin + 1)) {
    const size_t end = std::min(path.find('/', begin + 1), path.size());
    std::string_view number = path.substr(begin + kUser.size(), end - begin - kUser.size());
    if (!number.ends_with(kSlice)) continue;
    number.remove_suffix(kSlice.size());
    const bool is_number = number.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_number && !number.empty()) return path.substr(0, end);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ContainerMark> MarkOf(std::string_view control_group, std::string_view mounts) {
  if (control_group.empty() || control_group.size() > kMaxControlGroup) return std::nullopt;
  // The form of a line of mountinfo:
  // id parent major:minor root mount_point options optional... - type source super_options
  while (auto line = TakeLine(mounts)) {
    const std::string_view id = TakeWord(*line);
    TakeWord(*line);
    const std::string_view device = TakeWord(*line);
    const std::string_view root = TakeWord(*line);
    if (TakeWord(*line) != "/") continue;
    // Spaces in names are escaped, so " - " is the separator.
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
  // A group id of a container, like its uid, means another group than the same id on this node.
  peer.gid = kOverflowGid;
  peer.groups.clear();
  peer.reach = FileReach::kNone;
  peer.administrator = false;
  if (!mark || uid == kOverflowUid) return;
  Hasher hasher;
  // The digest includes the control group, because several control groups may share an account.
  hasher.AppendValue("control group", mark->control_group);
  hasher.AppendValue("root", mark->root);
  hasher.AppendValue("uid", uid);
  const Digest name = hasher.Finish();
  const std::string path = PathOf(mark->control_group);
  const auto slice = SliceOfUser(path);
  const Digest name_of_group = Sha256(slice.value_or(mark->control_group));
  const Places places = PlacesOf(slice.value_or(path));
  bool is_new = false;
  {
    const MutexLock lock(mutex_);
    const uid_t next = next_;
    Group* group = GroupOf(name_of_group, places);
    const User* user = group == nullptr ? nullptr : UserOf(*group, name);
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

Containers::Token Containers::Hold(uid_t user) {
  const MutexLock lock(mutex_);
  const auto found = numbers_.find(user);
  if (found == numbers_.end()) return nullptr;
  const Number& number = found->second;
  return std::make_shared<const std::pair<Token, Token>>(number.group.connected,
                                                         number.user.connected);
}

std::optional<Account> Containers::AccountOf(uid_t user) const {
  const MutexLock lock(mutex_);
  const auto found = numbers_.find(user);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second.group.account);
}

Containers::Places Containers::PlacesOf(std::string_view path) {
  Places places = {};
  Hasher way;
  for (uint64_t& place : places) {
    if (path.empty()) break;
    const std::string_view name = path.substr(0, path.find('/', 1));
    way.Append(name);
    path.remove_prefix(name.size());
    const Digest digest = Hasher(way).Finish();
    std::memcpy(&place, digest.bytes.data(), sizeof(place));
  }
  return places;
}

Containers::Group* Containers::GroupOf(const Digest& name, const Places& places) {
  auto found = groups_.find(name);
  if (found == groups_.end()) {
    Account::Way way;
    std::copy_n(places.begin(), way.size(), way.begin());
    if (!HasNumbers(Account(0, way))) return nullptr;
    if (groups_.size() >= limits_.accounts) {
      const auto forgotten = GroupToForget(places);
      if (forgotten == groups_.end()) return &others_;
      Forget(forgotten);
    }
    const Account account(NextNumber(Account(0, way)), way);
    for (const uint64_t place : account.way()) ++places_[place].accounts;
    found = groups_.emplace(name, Group{account, places}).first;
  }
  found->second.last_use = ++uses_;
  return &found->second;
}

Containers::User* Containers::UserOf(Group& group, const Digest& name) {
  auto found = group.users.find(name);
  if (found == group.users.end()) {
    if (!HasNumbers(group.account)) return nullptr;
    if (group.users.size() >= limits_.users_per_account && !RemoveOldestUser(group)) {
      return nullptr;
    }
    const uid_t number = NextNumber(group.account);
    found = group.users.emplace(name, User{number, 0}).first;
    numbers_.emplace(number, Number{group, found->second});
  }
  found->second.last_use = ++uses_;
  return &found->second;
}

Containers::Groups::iterator Containers::GroupToForget(const Places& places) {
  struct Branch {
    size_t accounts = 0;
    Groups::iterator oldest;  // the least recently used account without connections; or end()
  };
  const size_t few = std::max<size_t>(limits_.accounts / kShares, 1);
  std::vector<Groups::iterator> below;  // the accounts below the control group of this level
  for (auto each = groups_.begin(); each != groups_.end(); ++each) below.push_back(each);
  bool is_on_own_way = true;
  for (size_t level = 0;; ++level) {
    std::map<uint64_t, Branch> branches;  // keyed by the control group of this level; 0: the path
                                          // of the account has ended
    const auto branch_of = [&](uint64_t place) REQUIRES(mutex_) {
      return &branches.try_emplace(place, Branch{0, groups_.end()}).first->second;
    };
    for (const Groups::iterator each : below) {
      Branch& branch = *branch_of(each->second.places[level]);
      ++branch.accounts;
      if (IsConnected(each->second)) continue;
      const bool older =
          branch.oldest == groups_.end() || each->second.last_use < branch.oldest->second.last_use;
      if (older) branch.oldest = each;
    }
    Branch* const own = is_on_own_way ? branch_of(places[level]) : nullptr;
    if (own != nullptr) ++own->accounts;
    // Picks the branch with the most accounts that has an account without connections. Branches
    // with at most `few` accounts count as equally large. Among equally large branches, the one
    // with the least recently used account is picked.
    uint64_t largest = 0;
    const Branch* found = nullptr;
    for (const auto& [place, branch] : branches) {
      if (branch.oldest == groups_.end()) continue;
      const size_t size = std::max(branch.accounts, few);
      const size_t found_size = found == nullptr ? 0 : std::max(found->accounts, few);
      const bool older = found != nullptr && size == found_size &&
                         branch.oldest->second.last_use < found->oldest->second.last_use;
      if (size <= found_size && !older) continue;
      largest = place;
      found = &branch;
    }
    if (found == nullptr) return groups_.end();
    // If all accounts of the new account's branch have connections, a smaller branch was picked. A
    // smaller branch does not give up an account for a larger one.
    if (own != nullptr && own->accounts > std::max(found->accounts, few)) return groups_.end();
    const bool is_last = largest == 0 || level + 1 == places.size();
    if (found->accounts <= few || is_last) return found->oldest;
    is_on_own_way &= places[level] == largest;
    std::erase_if(
        below, [&](const Groups::iterator each) { return each->second.places[level] != largest; });
  }
}

bool Containers::RemoveOldestUser(Group& group) {
  auto oldest = group.users.end();
  for (auto each = group.users.begin(); each != group.users.end(); ++each) {
    const bool older =
        oldest == group.users.end() || each->second.last_use < oldest->second.last_use;
    if (older && !IsConnected(each->second)) oldest = each;
  }
  if (oldest == group.users.end()) return false;
  numbers_.erase(oldest->second.number);
  group.users.erase(oldest);
  return true;
}

void Containers::Forget(Groups::iterator group) {
  for (const auto& [digest, user] : group->second.users) numbers_.erase(user.number);
  for (const uint64_t each : group->second.account.way()) {
    const auto place = places_.find(each);
    if (--place->second.accounts == 0 && place->second.given < kManyNumbers) places_.erase(place);
  }
  groups_.erase(group);
}

bool Containers::HasNumbers(const Account& account) const {
  const uint64_t left = limits_.numbers - (next_ - kFirstContainerUser);
  uint64_t given = 0;
  for (const uint64_t each : account.way()) {
    const auto place = places_.find(each);
    if (place != places_.end()) given += place->second.given;
  }
  // A call of Identify needs at most two numbers: one for the account and one for the user.
  return left > given + 1;
}

uid_t Containers::NextNumber(const Account& account) {
  for (const uint64_t each : account.way()) ++places_[each].given;
  return next_++;
}

}  // namespace cccl_cache::daemon
