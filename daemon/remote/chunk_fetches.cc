// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/chunk_fetches.h"

#include <fmt/format.h>

#include <utility>

namespace cccl_cache::daemon {

void ChunkFetches::Add(Fetch fetch) {
  waiting_.push_back(std::move(fetch));
  Start();
}

void ChunkFetches::Start() {
  while (!running_ && !waiting_.empty()) {
    running_ = Running{.fetch = std::move(waiting_.front())};
    waiting_.pop_front();
    AskForChunk();
  }
}

void ChunkFetches::AskForChunk() {
  const Running& running = *running_;
  if (!running.fetch.wanted()) {
    running_.reset();
    return Start();
  }
  if (Clock::now() >= running.fetch.deadline) return End();
  const std::string name = fmt::format("{}:{}", running.fetch.name, running.next);
  const uint64_t number = ++asked_;
  const bool sent =
      link_.Send(running.fetch.place, {"GETRANGE", name, "0", fmt::to_string(kMaxStoredChunk - 1)},
                 [this, number](const RedisReply* reply) {
                   if (number == asked_) TakeChunk(reply);
                 });
  if (!sent) return End();
  link_.At(Clock::now() + patience_, [this, number] {
    if (number != asked_) return;
    link_.NoteSlow();
    End();
  });
}

void ChunkFetches::TakeChunk(const RedisReply* reply) {
  Running& running = *running_;
  const ChunkList& list = running.fetch.list;
  const bool answered = reply != nullptr && reply->kind == RedisReply::Kind::kText;
  const auto chunk = answered ? OpenChunk(list, running.next, reply->text) : std::nullopt;
  if (answered && !chunk && !reply->text.empty()) statistics_.Add(Counter::kRemoteCorrupt);
  if (!chunk) return End();
  running.contents += *chunk;
  ++running.next;
  if (running.contents.size() == list.size) return End();
  AskForChunk();
}

void ChunkFetches::End() {
  ++asked_;
  Running ended = *std::exchange(running_, std::nullopt);
  const bool whole = ended.contents.size() == ended.fetch.list.size;
  ended.fetch.done(whole ? std::optional(std::move(ended.contents)) : std::nullopt);
  Start();
}

}  // namespace cccl_cache::daemon
