// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/accounts.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/service/limits/peer_process.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

using Clock = std::chrono::steady_clock;

/// The first subordinate uid if /etc/login.defs does not set it. useradd has the same default.
constexpr uid_t kSubordinateUidMin = 100'000;
constexpr std::chrono::seconds kLookAgain{10};
/// How long a name is kept before the next look-up. A user may be added, and a uid may pass to
/// another user, while the daemon runs.
constexpr std::chrono::minutes kNameBelieved{10};
constexpr size_t kMaxNames = 65'536;
constexpr size_t kMaxAsked = 1'024;
constexpr size_t kMaxEntry = size_t{1} << 20;  // limit of one user's entry, in bytes

struct Range {
  uid_t first;
  uid_t last;
  Account account;
};

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Looks up a user. `get` calls getpwnam_r or getpwuid_r. None if there is no such user.
template <typename Get>
std::optional<uid_t> Look(const Get& get) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(4096);
  while (get(&entry, buffer.data(), buffer.size(), &found) == ERANGE && buffer.size() < kMaxEntry) {
    buffer.resize(2 * buffer.size());
  }
  if (found == nullptr) return std::nullopt;
  return found->pw_uid;
}

/// The properties of a file that change when the file changes.
using Stamp = std::tuple<dev_t, ino_t, off_t, time_t, long>;
Stamp StampOf(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

uid_t ReadSubordinateUidMin(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::string value;
    if (!(words >> name >> value) || name != "SUB_UID_MIN") continue;
    // 0 is ignored, because with it all users would count as one.
    if (const auto number = Number(value); number && *number > 0)
      return static_cast<uid_t>(*number);
  }
  return kSubordinateUidMin;
}

/// Returns the ranges in lines of the form "owner:first:count". Skips other lines.
std::vector<Range> ReadRanges(const Accounts::Sources& sources) {
  std::vector<Range> ranges;
  std::ifstream file(sources.subordinate_uids);
  for (std::string line; std::getline(file, line);) {
    const size_t first_colon = line.find(':');
    const size_t last_colon = line.rfind(':');
    if (first_colon == std::string::npos || first_colon == last_colon) continue;
    const std::string_view numbers(line);
    const auto first = Number(numbers.substr(first_colon + 1, last_colon - first_colon - 1));
    const auto count = Number(numbers.substr(last_colon + 1));
    constexpr uint64_t kMax = uint64_t{1} << 32;
    if (!first || !count || *count == 0 || *first >= kMax || *count > kMax - *first) continue;
    const std::string owner = line.substr(0, first_colon);
    std::optional<uid_t> uid = sources.find_uid(owner);
    if (const auto number = Number(owner); !uid && number) uid = static_cast<uid_t>(*number);
    const auto begin = static_cast<uid_t>(*first);
    // A container of root does not run as root, so it must not use the part of the budgets that is
    // reserved for root.
    const bool own = uid && !Account(*uid).privileged();
    ranges.push_back(
        {begin, static_cast<uid_t>(begin + (*count - 1)), Account(own ? *uid : begin)});
  }
  return ranges;
}

/// Returns whether the id map of a process has all ids, as in the first user namespace.
bool HoldsAll(const std::string& map) {
  std::ifstream words(map);
  uint64_t first = 1;
  uint64_t outside = 1;
  uint64_t count = 0;
  return words >> first >> outside >> count && first == 0 && outside == 0 && count == 0xffffffff;
}

bool IsInOwnUserNamespace(const std::string& directory) {
  struct stat own;
  struct stat other;
  if (stat("/proc/self/ns/user", &own) != 0) return false;
  if (stat((directory + "/ns/user").c_str(), &other) == 0) {
    return own.st_dev == other.st_dev && own.st_ino == other.st_ino;
  }
  // A service user may not look at the namespace of a process of root, but may read its id maps. In
  // a container, the id map has only a part of the ids.
  if (errno != EACCES || geteuid() == 0) return false;
  for (const char* map : {"/uid_map", "/gid_map"}) {
    if (!HoldsAll(std::string("/proc/self") + map) || !HoldsAll(directory + map)) return false;
  }
  return true;
}

}  // namespace

class Accounts::State {
 public:
  explicit State(Sources sources) : sources_(std::move(sources)) {}

  /// Returns the account of a uid. None if it is not known yet whether the uid has a name; then the
  /// name is looked up later. Look-ups for stored uids may take only half of the queue, so that
  /// there is room for connections. They may take nothing before the files were read, because only
  /// the files show which uids need no name.
  std::optional<Account> Find(uid_t uid, bool stored) {
    const MutexLock lock(mutex_);
    const auto range = std::ranges::find_if(
        ranges_, [uid](const Range& each) { return each.first <= uid && uid <= each.last; });
    if (range != ranges_.end()) return range->account;
    if (uid < subordinate_uid_min_) return Account(uid);
    const auto name = names_.find(uid);
    const bool known = name != names_.end();
    const bool fresh = known && Clock::now() < name->second.believed_until;
    const size_t most = !stored ? kMaxAsked : files_were_read_ ? kMaxAsked / 2 : 0;
    if (!fresh && asked_.size() < most && std::ranges::find(asked_, uid) == asked_.end()) {
      asked_.push_back(uid);
      changed_.NotifyAll();
    }
    if (!known) return std::nullopt;
    return name->second.exists ? Account(uid) : Account::OfNameless();
  }

  void Settle() {
    const MutexLock lock(mutex_);
    // The current round may have begun before this call, so the end of the next round is awaited.
    const uint64_t enough = wanted_rounds_ = rounds_ + 2;
    changed_.NotifyAll();
    changed_.Wait(mutex_, [&]() REQUIRES(mutex_) { return rounds_ >= enough; });
  }

  void Stop() {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }

  void Run() {
    NameThread("accounts");
    MutexLock lock(mutex_);
    while (!stopped_) {
      lock.Unlock();
      ReadAgainIfChanged();
      lock.Lock();
      while (!asked_.empty() && !stopped_) {
        const uid_t uid = asked_.front();
        lock.Unlock();
        const bool exists = sources_.has_name(uid);
        lock.Lock();
        asked_.pop_front();
        Remember(uid, exists);
      }
      ++rounds_;
      changed_.NotifyAll();
      changed_.WaitFor(mutex_, kLookAgain, [this]() REQUIRES(mutex_) {
        return stopped_ || rounds_ < wanted_rounds_ || !asked_.empty();
      });
    }
  }

 private:
  struct Name {
    bool exists;
    Clock::time_point believed_until;
  };

  void ReadAgainIfChanged() EXCLUDES(mutex_) {
    const std::pair stamps(StampOf(sources_.subordinate_uids), StampOf(sources_.login_defaults));
    if (read_ == stamps) return;
    std::vector<Range> ranges = ReadRanges(sources_);
    const uid_t subordinate_uid_min = ReadSubordinateUidMin(sources_.login_defaults);
    read_ = stamps;
    const MutexLock lock(mutex_);
    ranges_ = std::move(ranges);
    subordinate_uid_min_ = subordinate_uid_min;
    files_were_read_ = true;
  }

  void Remember(uid_t uid, bool exists) REQUIRES(mutex_) {
    // When all names are dropped, they are looked up again. This is simple, and happens rarely.
    if (names_.size() >= kMaxNames) names_.clear();
    names_[uid] = {exists, Clock::now() + kNameBelieved};
  }

  const Sources sources_;
  std::optional<std::pair<Stamp, Stamp>> read_;  ///< used only by the thread

  Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  uint64_t rounds_ GUARDED_BY(mutex_) = 0;  // number of rounds that have read the files and looked
                                            // up the names
  uint64_t wanted_rounds_ GUARDED_BY(mutex_) = 0;
  bool files_were_read_ GUARDED_BY(mutex_) = false;
  std::vector<Range> ranges_ GUARDED_BY(mutex_);  // in the order of the file
  uid_t subordinate_uid_min_ GUARDED_BY(mutex_) = kSubordinateUidMin;
  std::map<uid_t, Name> names_ GUARDED_BY(mutex_);
  std::deque<uid_t> asked_ GUARDED_BY(mutex_);
};

std::optional<uid_t> Accounts::FindUid(const std::string& name) {
  return Look([&](auto... out) { return getpwnam_r(name.c_str(), out...); });
}

bool Accounts::HasName(uid_t uid) {
  return Look([&](auto... out) { return getpwuid_r(uid, out...); }).has_value();
}

Accounts::Accounts(Sources sources) : state_(std::make_shared<State>(std::move(sources))) {
  // Detached, because the look-up of a name must not keep the daemon from ending.
  std::thread([state = state_] { state->Run(); }).detach();
}

Accounts::~Accounts() { state_->Stop(); }

Account Accounts::Of(uid_t uid) {
  const Account account = state_->Find(uid, false).value_or(Account::OfNameless());
  return account.IsContainers() ? Account::OfNameless() : account;
}

std::optional<Account> Accounts::OfStored(uid_t uid) {
  return IsContainerUser(uid) ? containers_.AccountOf(uid) : state_->Find(uid, true);
}

void Accounts::Settle() { state_->Settle(); }

bool Administrators::Include(int socket, const Peer& peer) const {
  const bool member =
      group_ && (peer.gid == *group_ || std::ranges::binary_search(peer.groups, *group_));
  if (peer.uid != 0 && peer.uid != geteuid() && !member) return false;
  const auto process = PeerProcess::OfSocketOrPid(socket, peer.pid);
  return process && IsInOwnUserNamespace(process->directory()) && process->IsAlive();
}

}  // namespace cccl_cache::daemon
