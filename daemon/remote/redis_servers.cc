// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// Replies of all links come together on the first one's thread, so that callers need no locks. A
// node is used only under the mutex, and destroyed without it: its thread may be in Arrived().
#include "daemon/remote/redis_servers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

namespace cccl_cache::daemon {
namespace {

using std::chrono::milliseconds;

/// Each takes a thread and a connection. Slots of further ones are as if they were not answered.
constexpr size_t kMaxNodes = 32;
constexpr int kMaxRedirects = 3;  // of one command
// A command is kept until it is answered, to be sent elsewhere. A large one is kept only within a
// cluster; one that is not kept ends with the redirect.
constexpr size_t kSmall = 4 << 10;
constexpr uint64_t kMaxHeldBytes = 64 << 20;
constexpr milliseconds kRetry{5};
constexpr std::chrono::seconds kMapPause{1};
constexpr std::chrono::seconds kLongestMapPause{600};  // where the map can't be had
// After so many slow answers in a row the connection is closed, and builds don't wait any more.
constexpr int kMaxSlow = 3;

}  // namespace

/// A command on its way.
struct RedisServers::Errand {
  Errand(Then called, std::atomic<uint64_t>& held) : then(std::move(called)), held_bytes(held) {}
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  ~Errand() { held_bytes -= bytes.size(); }

  const Then then;
  std::atomic<uint64_t>& held_bytes;
  std::string bytes;  ///< empty: not kept
  int redirects = 0;
};

RedisServers::RedisServers(Options options)
    : options_(std::move(options)),
      cluster_(!options_.others.empty()),
      map_pause_(kMapPause),
      first_(++last_id_, options_.link, true) {
  const MutexLock lock(mutex_);
  for (const RedisAddress& address : options_.others) {
    const uint32_t id = ++last_id_;
    others_.emplace(id, std::make_unique<Node>(id, OptionsFor(address), true));
  }
}

RedisServers::~RedisServers() {
  std::map<uint32_t, std::unique_ptr<Node>> others;
  {
    const MutexLock lock(mutex_);
    last_id_ = 0;  // makes no more nodes
    others.swap(others_);
  }
}

RedisLink::Options RedisServers::OptionsFor(const RedisAddress& address) const {
  RedisLink::Options options = options_.link;
  options.address = address;
  return options;
}

bool RedisServers::Send(std::string_view key, const std::vector<std::string_view>& command,
                        Then then) {
  std::string bytes = RedisLink::Encode(command);
  const auto errand = std::make_shared<Errand>(std::move(then), held_bytes_);
  const bool kept =
      (bytes.size() <= kSmall || cluster_) && held_bytes_ + bytes.size() <= kMaxHeldBytes;
  if (kept) {
    errand->bytes = bytes;
    held_bytes_ += bytes.size();
  }
  const MutexLock lock(mutex_);
  Node* const node = FindOwner(key);
  return node != nullptr && Transmit(*node, errand, std::move(bytes), false);
}

bool RedisServers::Transmit(Node& node, const ErrandPtr& errand, std::string bytes, bool asking) {
  node.sent.push_back(Clock::now());
  const bool sent = node.link.SendEncoded(
      std::move(bytes),
      [this, id = node.id, errand](RedisReply* reply) { Arrived(id, errand, reply); }, asking);
  if (!sent) node.sent.pop_back();
  return sent;
}

/// Runs on the thread of the node's link.
void RedisServers::Arrived(uint32_t id, const ErrandPtr& errand, RedisReply* reply) {
  {
    const MutexLock lock(mutex_);
    if (Node* const node = FindNode(id); node != nullptr && !node->sent.empty()) {
      const bool in_time = Clock::now() - node->sent.front() <= options_.patience;
      node->sent.pop_front();
      if (reply != nullptr && in_time) node->slow_in_a_row = 0;
    }
  }
  if (id == first_.id) return Take(id, errand, reply);
  const auto moved = reply == nullptr ? std::shared_ptr<RedisReply>()
                                      : std::make_shared<RedisReply>(std::move(*reply));
  first_.link.At(Clock::now(), [this, id, errand, moved] { Take(id, errand, moved.get()); });
}

void RedisServers::Take(uint32_t id, const ErrandPtr& errand, RedisReply* reply) {
  if (reply != nullptr && reply->kind == RedisReply::Kind::kError) {
    const auto redirect = ParseRedisRedirect(reply->text);
    if (redirect && Follow(id, *redirect, errand)) return;
  }
  errand->then(reply);
}

/// Returns false if the command ends with the redirect.
bool RedisServers::Follow(uint32_t id, const RedisRedirect& redirect, const ErrandPtr& errand) {
  if (!options_.link.address.path.empty()) {
    // A site that names a socket has not named its network.
    if (!std::exchange(told_, true) && options_.link.report) {
      options_.link.report(fmt::format(
          "Redis at {}: it belongs to a cluster, whose other nodes a socket does not reach: name "
          "some of them as redis://HOST:PORT,HOST:PORT or rediss://",
          ToUrl(options_.link.address)));
    }
    return false;
  }
  uint32_t target = 0;
  Dropped dropped;
  {
    const MutexLock lock(mutex_);
    cluster_ = true;
    const Node* const teller = FindNode(id);
    if (teller != nullptr) {
      const RedisAddress address = AddressOf(redirect.node, *teller);
      if (FindNodeAt(address) == nullptr) MakeRoom(dropped);
      if (const Node* const node = NodeAt(address)) target = node->id;
    }
    if (target != 0 && !redirect.once) {
      owners_.resize(kRedisSlots);
      owners_[redirect.slot] = target;
    }
  }
  if (!redirect.once) AskForMap(id);
  if (target == 0 || errand->bytes.empty() || ++errand->redirects > kMaxRedirects) return false;
  Resend(target, errand, redirect.once);
  return true;
}

void RedisServers::Resend(uint32_t id, const ErrandPtr& errand, bool asking) {
  const auto now = Clock::now();
  bool is_new = false;
  {
    const MutexLock lock(mutex_);
    Node* const node = FindNode(id);
    if (node != nullptr && Transmit(*node, errand, errand->bytes, asking)) return;
    is_new = node != nullptr && now < node->made + options_.first_connection;
  }
  if (!is_new) return errand->then(nullptr);
  At(now + kRetry, [this, id, errand, asking] { Resend(id, errand, asking); });
}

void RedisServers::LookForSuccessors() {
  At(Clock::now(), [this] {
    uint32_t id = 0;
    {
      const MutexLock lock(mutex_);
      const bool any_gone = std::ranges::any_of(Owners(), [this](uint32_t owner) REQUIRES(mutex_) {
        const Node* const node = FindNode(owner);
        return node != nullptr && !node->link.connected();
      });
      const Node* const connected = FindConnected();
      if (any_gone && connected != nullptr) id = connected->id;
    }
    if (id != 0) AskForMap(id);
  });
}

void RedisServers::AskForMap(uint32_t id) {
  if (map_asked_ || Clock::now() < next_map_) return;
  const auto take = [this, id](RedisReply* reply) {
    const auto moved = reply == nullptr ? std::shared_ptr<RedisReply>()
                                        : std::make_shared<RedisReply>(std::move(*reply));
    first_.link.At(Clock::now(), [this, id, moved] { TakeMap(id, moved.get()); });
  };
  const MutexLock lock(mutex_);
  Node* const node = FindNode(id);
  map_asked_ =
      node != nullptr && node->link.Send({"CLUSTER", "SLOTS"}, take, RedisReplies::Arrays::kMap);
}

void RedisServers::TakeMap(uint32_t id, const RedisReply* reply) {
  map_asked_ = false;
  const auto ranges = reply == nullptr ? std::vector<RedisSlotRange>() : ParseRedisSlots(*reply);
  // Without the right to ask, or with too many ranges for a reply, redirects still tell.
  map_pause_ = ranges.empty() ? std::min<Clock::duration>(2 * map_pause_, kLongestMapPause)
                              : Clock::duration(kMapPause);
  next_map_ = Clock::now() + map_pause_;
  if (ranges.empty()) return;
  Dropped dropped;
  const MutexLock lock(mutex_);
  const Node* const teller = FindNode(id);
  if (teller == nullptr) return;
  std::vector<RedisAddress> addresses;  // of each range
  std::set<uint32_t> used = {id};
  for (const RedisSlotRange& range : ranges) {
    addresses.push_back(AddressOf(range.node, *teller));
    if (const Node* const node = FindNodeAt(addresses.back())) used.insert(node->id);
  }
  DropOthers(used, dropped);
  owners_.assign(kRedisSlots, 0);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Node* const node = NodeAt(addresses[i]);
    if (node == nullptr) continue;
    std::fill(owners_.begin() + ranges[i].first, owners_.begin() + ranges[i].last + 1, node->id);
  }
}

void RedisServers::DropOthers(const std::set<uint32_t>& used, Dropped& dropped) {
  for (auto each = others_.begin(); each != others_.end();) {
    const bool stays = each->second->named || used.contains(each->first);
    if (!stays) dropped.push_back(std::move(each->second));
    each = stays ? std::next(each) : others_.erase(each);
  }
}

std::set<uint32_t> RedisServers::Owners() const {
  if (owners_.empty()) return {0};
  std::set<uint32_t> owners;
  std::ranges::unique_copy(owners_, std::inserter(owners, owners.end()));
  return owners;
}

RedisServers::Node* RedisServers::FindNode(uint32_t id) {
  if (id == first_.id) return &first_;
  const auto found = others_.find(id);
  return found == others_.end() ? nullptr : found->second.get();
}

// A node that is not the right one says which is.
RedisServers::Node* RedisServers::FindOwner(std::string_view key) {
  if (!owners_.empty()) {
    Node* const owner = FindNode(owners_[RedisSlotOf(key)]);
    if (owner != nullptr && owner->link.connected()) return owner;
  }
  return FindConnected();
}

RedisServers::Node* RedisServers::FindConnected() {
  if (first_.link.connected()) return &first_;
  const auto any =
      std::ranges::find_if(others_, [](const auto& each) { return each.second->link.connected(); });
  return any == others_.end() ? nullptr : any->second.get();
}

RedisAddress RedisServers::AddressOf(const RedisNodeName& name, const Node& teller) const {
  RedisAddress address = options_.link.address;  // TLS and user are those of the site
  address.host = name.host.empty() ? teller.address.host : name.host;
  address.port = name.port;
  return address;
}

RedisServers::Node* RedisServers::FindNodeAt(const RedisAddress& address) {
  const auto is_it = [&address](const Node& node) {
    return node.address.port == address.port && node.address.host == address.host;
  };
  if (is_it(first_)) return &first_;
  const auto found =
      std::ranges::find_if(others_, [&](const auto& each) { return is_it(*each.second); });
  return found == others_.end() ? nullptr : found->second.get();
}

RedisServers::Node* RedisServers::NodeAt(const RedisAddress& address) {
  if (Node* const known = FindNodeAt(address)) return known;
  if (last_id_ == 0 || others_.size() + 1 >= kMaxNodes) return nullptr;
  const uint32_t id = ++last_id_;
  try {
    return others_.emplace(id, std::make_unique<Node>(id, OptionsFor(address), false))
        .first->second.get();
  } catch (const std::system_error&) {
    return nullptr;  // no thread is left for its link
  }
}

void RedisServers::MakeRoom(Dropped& dropped) {
  if (others_.size() + 1 < kMaxNodes) return;
  const std::set<uint32_t> owners = Owners();
  const auto idle = std::ranges::find_if(others_, [&](const auto& each) {
    const Node& node = *each.second;
    return !node.named && !node.link.connected() && !owners.contains(node.id) &&
           Clock::now() >= node.made + options_.first_connection;
  });
  if (idle == others_.end()) return;
  dropped.push_back(std::move(idle->second));
  others_.erase(idle);
}

void RedisServers::At(Clock::time_point time, std::function<void()> work) {
  first_.link.At(time, std::move(work));
}

// Answers of one node that are slow at the same time count as one.
void RedisServers::NoteSlow() {
  const auto now = Clock::now();
  const MutexLock lock(mutex_);
  const auto note = [&](Node& node) {
    if (node.sent.empty() || now < node.sent.front() + options_.patience) return;
    if (now < node.last_slow + options_.patience) return;
    node.last_slow = now;
    if (++node.slow_in_a_row < kMaxSlow) return;
    node.slow_in_a_row = 0;
    node.link.BreakOff(fmt::format("{} answers in a row took longer than {} ms", kMaxSlow,
                                   options_.patience.count()));
  };
  note(first_);
  for (const auto& [id, node] : others_) note(*node);
}

bool RedisServers::connected() const {
  if (first_.link.connected()) return true;
  const MutexLock lock(mutex_);
  return std::ranges::any_of(others_,
                             [](const auto& each) { return each.second->link.connected(); });
}

RedisServers::State RedisServers::state() const {
  State all;
  std::vector<RedisLink::State> gone;
  const MutexLock lock(mutex_);
  const std::set<uint32_t> owners = Owners();
  const auto add = [&](const Node& node) {
    const RedisLink::State one = node.link.state();
    all.connects += one.connects;
    all.unsent_bytes += one.unsent_bytes;
    all.pending += one.pending;
    // A node that was named may have the slots of which nothing is known.
    if (!owners.contains(node.id) && !(node.named && owners.contains(0))) return;
    ++all.nodes;
    if (!one.connected) gone.push_back(one);
  };
  add(first_);
  for (const auto& [id, node] : others_) add(*node);
  all.address = ToUrl(first_.address);
  all.connected = all.nodes - gone.size();
  if (gone.empty()) return all;
  all.problem = gone.front().problem;
  if (all.nodes > 1) all.problem = fmt::format("{}: {}", gone.front().address, all.problem);
  if (gone.size() > 1) all.problem += fmt::format(" (and {} more)", gone.size() - 1);
  return all;
}

}  // namespace cccl_cache::daemon
