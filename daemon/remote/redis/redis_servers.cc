// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis/redis_servers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proto/digest.h"

namespace cccl_cache::daemon {
namespace {

using Links = std::vector<std::unique_ptr<RedisLink>>;

Links LinksTo(const RedisLink::Options& first, const std::vector<RedisAddress>& others) {
  Links links;
  links.push_back(std::make_unique<RedisLink>(first));
  for (const RedisAddress& address : others) {
    RedisLink::Options options = first;
    options.address = address;
    links.push_back(std::make_unique<RedisLink>(std::move(options)));
  }
  return links;
}

}  // namespace

RedisServers::RedisServers(const RedisLink::Options& link, const std::vector<RedisAddress>& others)
    : links_(LinksTo(link, others)) {}

// All threads end before the first link is destroyed, because a callback may use any link.
RedisServers::~RedisServers() {
  for (const auto& link : links_) link->Stop();
}

bool RedisServers::Send(std::string_view key, const std::vector<std::string_view>& command,
                        Then then) {
  return SendBy(LinkOf(key), command, std::move(then));
}

bool RedisServers::SendToAny(const std::vector<std::string_view>& command, Then then) {
  const auto link =
      std::ranges::find_if(links_, [](const auto& each) { return each->connected(); });
  return link != links_.end() && SendBy(**link, command, std::move(then));
}

bool RedisServers::SendBy(RedisLink& link, const std::vector<std::string_view>& command,
                          Then then) {
  if (&link == links_.front().get()) return link.Send(command, std::move(then));
  return link.Send(command, [this, then = std::move(then)](RedisReply* reply) {
    const auto moved = reply == nullptr ? std::shared_ptr<RedisReply>()
                                        : std::make_shared<RedisReply>(std::move(*reply));
    At(Clock::now(), [then, moved] { then(moved.get()); });
  });
}

// The choice depends on host and port only. Users and databases may differ between nodes, but all
// nodes must find a key at the same server.
RedisLink& RedisServers::LinkOf(std::string_view key) const {
  if (links_.size() == 1) return *links_.front();
  const auto score = [key](const auto& link) {
    return Sha256(fmt::format("{}:{}/{}", link->address().host, link->address().port, key));
  };
  return **std::ranges::max_element(links_, {}, score);
}

void RedisServers::At(Clock::time_point time, std::function<void()> work) {
  links_.front()->At(time, std::move(work));
}

void RedisServers::NoteSlow() {
  for (const auto& link : links_) link->NoteSlow();
}

bool RedisServers::connected() const {
  return std::ranges::any_of(links_, [](const auto& link) { return link->connected(); });
}

RedisServers::State RedisServers::state() const {
  State all;
  all.address = ToUrl(links_.front()->address());
  all.servers = links_.size();
  for (const auto& link : links_) {
    const RedisLink::State one = link->state();
    all.connected += one.connected ? 1 : 0;
    all.connects += one.connects;
    all.unsent_bytes += one.unsent_bytes;
    all.pending += one.pending;
    if (one.connected || !all.problem.empty()) continue;
    all.problem = all.servers == 1 ? one.problem : fmt::format("{}: {}", one.address, one.problem);
  }
  const size_t gone = all.servers - all.connected;
  if (gone > 1) all.problem += fmt::format(" (and {} more)", gone - 1);
  return all;
}

}  // namespace cccl_cache::daemon
