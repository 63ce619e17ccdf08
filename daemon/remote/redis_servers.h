// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "daemon/remote/redis_link.h"
#include "daemon/remote/redis_slots.h"

namespace cccl_cache::daemon {

/// One Redis, or the masters of a Redis cluster (docs/internals/decisions/0053), each behind a
/// RedisLink. Every command is for one key and goes to the node that has it. That there is a
/// cluster, and who has what, is learned from redirects. A node whose answers are slow several
/// times in a row is left alone until it is connected again. Thread-safe; no call waits.
class RedisServers {
 public:
  using Clock = RedisLink::Clock;

  struct Options {
    RedisLink::Options link;           ///< for each connection; its address is the first node's
    std::vector<RedisAddress> others;  ///< more nodes of the same cluster
    std::chrono::milliseconds patience{20};  ///< a slower answer counts against its node
    /// A command that is sent to a node not known before waits so long for the connection to it.
    std::chrono::milliseconds first_connection{1000};
  };

  struct State {
    std::string address;  ///< of the first node
    /// Why a node is not connected, with the way out, for the first such node; empty: all are.
    std::string problem;
    size_t nodes = 0;  ///< masters that have slots, as far as is known; 1 if there is no cluster
    size_t connected = 0;  ///< of these
    uint64_t connects = 0;
    uint64_t unsent_bytes = 0;
    size_t pending = 0;
  };

  /// As RedisLink::Then, always on the first link's thread. Not called any more once this object
  /// has begun to end.
  using Then = RedisLink::Then;

  /// Begins to connect to all nodes that are named.
  explicit RedisServers(Options options);
  ~RedisServers();
  RedisServers(const RedisServers&) = delete;
  RedisServers& operator=(const RedisServers&) = delete;

  /// Sends a command for this key. Returns false, and never calls `then`, if no node is connected
  /// or a bound is reached.
  bool Send(std::string_view key, const std::vector<std::string_view>& command, Then then);
  /// Runs `work` on the first link's thread: see RedisLink::At.
  void At(Clock::time_point time, std::function<void()> work);
  /// Asks a cluster for its map if a node that has slots is not connected: another node may have
  /// them by now.
  void LookForSuccessors();
  /// To be called when an answer has taken longer than the patience.
  void NoteSlow();

  /// Returns whether any node is connected.
  [[nodiscard]] bool connected() const;
  /// Returns whether commands for different keys are carried out in the order of their Send().
  [[nodiscard]] bool keeps_order() const { return !cluster_.load(std::memory_order_relaxed); }
  [[nodiscard]] State state() const;

 private:
  struct Errand;
  using ErrandPtr = std::shared_ptr<Errand>;
  struct Node;
  /// Nodes that were dropped: to be destroyed without the mutex.
  using Dropped = std::vector<std::unique_ptr<Node>>;
  struct Node {
    Node(uint32_t number, const RedisLink::Options& options, bool is_named)
        : id(number), named(is_named), address(options.address), link(options) {}

    const uint32_t id;
    const bool named;  ///< by the site, and so never dropped
    const RedisAddress address;
    const Clock::time_point made = Clock::now();
    // Guarded by mutex_.
    std::deque<Clock::time_point> sent;  ///< when each command that is not answered was
    int slow_in_a_row = 0;
    Clock::time_point last_slow;

    RedisLink link;  ///< its thread uses the servers, but no member above
  };

  bool Transmit(Node& node, const ErrandPtr& errand, std::string bytes, bool asking)
      REQUIRES(mutex_);
  void Arrived(uint32_t id, const ErrandPtr& errand, RedisReply* reply);

  // All of these run on the first link's thread.
  void Take(uint32_t id, const ErrandPtr& errand, RedisReply* reply);
  bool Follow(uint32_t id, const RedisRedirect& redirect, const ErrandPtr& errand);
  void Resend(uint32_t id, const ErrandPtr& errand, bool asking);
  void AskForMap(uint32_t id);
  void TakeMap(uint32_t id, const RedisReply* reply);

  /// Returns the nodes that have slots. 0 is one of them if the node of some slot is not known.
  [[nodiscard]] std::set<uint32_t> Owners() const REQUIRES(mutex_);
  [[nodiscard]] Node* FindNode(uint32_t id) REQUIRES(mutex_);
  [[nodiscard]] Node* FindOwner(std::string_view key) REQUIRES(mutex_);
  [[nodiscard]] Node* FindConnected() REQUIRES(mutex_);
  /// Returns the address that the teller means.
  [[nodiscard]] RedisAddress AddressOf(const RedisNodeName& name, const Node& teller) const;
  [[nodiscard]] Node* FindNodeAt(const RedisAddress& address) REQUIRES(mutex_);
  /// Returns the node at this address, new if need be. Null: there are too many.
  [[nodiscard]] Node* NodeAt(const RedisAddress& address) REQUIRES(mutex_);
  /// Drops one node that is not connected and has no slot, if all places are taken.
  void MakeRoom(Dropped& dropped) REQUIRES(mutex_);
  /// Drops nodes that are not among these, and that were not named by the site.
  void DropOthers(const std::set<uint32_t>& used, Dropped& dropped) REQUIRES(mutex_);
  [[nodiscard]] RedisLink::Options OptionsFor(const RedisAddress& address) const;

  const Options options_;
  std::atomic<bool> cluster_ = false;
  std::atomic<uint64_t> held_bytes_ = 0;  ///< of commands that may have to be sent again

  // Of the first link's thread.
  bool map_asked_ = false;
  Clock::time_point next_map_;  ///< not asked for before
  Clock::duration map_pause_;
  bool told_ = false;  ///< that redirects are not followed

  mutable Mutex mutex_;
  uint32_t last_id_ GUARDED_BY(mutex_) = 0;
  std::map<uint32_t, std::unique_ptr<Node>> others_ GUARDED_BY(mutex_);
  std::vector<uint32_t> owners_ GUARDED_BY(mutex_);  ///< node of each slot; 0: unknown. Or empty

  Node first_;  ///< its thread uses the members above
};

}  // namespace cccl_cache::daemon
