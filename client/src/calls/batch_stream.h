// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>

#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/build_request.h"

namespace cccl_cache {

/// What is said and heard in one call of BuildMany. Not thread-safe.
class BatchStream final : public MessageSink, public MessageSource {
 public:
  /// Called for each answer as it comes: the build's number on the wire, and its answer.
  using Answered = std::function<void(uint64_t, Expected<BuildReply>)>;

  explicit BatchStream(Answered answered) : answered_(std::move(answered)) {}

  /// The request is not copied: shared until it has been sent.
  void Ask(uint64_t number, std::shared_ptr<const BuildRequest> request);
  /// The daemon is to forget a build, if it was asked for it; its answer is not told.
  void Cancel(uint64_t number);
  /// What was asked and has no answer yet.
  [[nodiscard]] const std::set<uint64_t>& awaited() const { return awaited_; }
  /// No more will be asked.
  void Close() { closed_ = true; }
  [[nodiscard]] bool closed() const { return closed_; }

  void Restart() override {}
  bool Take(Message message) override;
  const ByteChain* Next() override;
  [[nodiscard]] bool done() const override { return closed_ && to_say_.empty(); }

 private:
  struct Saying {
    uint64_t number = 0;
    std::shared_ptr<const BuildRequest> request;  ///< null: cancel
  };

  const Answered answered_;
  std::set<uint64_t> awaited_;
  std::deque<Saying> to_say_;
  Saying said_;  ///< what message_ refers to
  ByteChain message_;
  bool closed_ = false;
};

}  // namespace cccl_cache
