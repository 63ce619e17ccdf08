// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/transport/call.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/connection.h"
#include "client/src/transport/readiness.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// One call on one connection, for who waits for several at once. What it is made from must outlive
/// it. Its end is the end of the call, in a forked child only of that process' descriptor. Not
/// thread-safe, does not move.
class Exchange {
 public:
  /// What is said and heard. The body comes first.
  struct Talk {
    std::string_view path;
    const ByteChain& body;
    MessageSink* sink;
    MessageSource* source;
    Deadline deadline;
  };

  Exchange(Channel::Taken taken, const Talk& talk, Readiness* readiness);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Goes on as far as needs no wait; true: it has ended.
  bool Advance();

  // Once it has ended:
  /// The daemon answered, and found nothing wrong.
  [[nodiscard]] bool went_well() const {
    return call_.end() == CallEnd::kAnswered && call_.status().ok();
  }
  /// The connection ended instead, or was refused: another may do.
  [[nodiscard]] bool lost() const;
  /// It was lost when the daemon may have begun with the call.
  [[nodiscard]] bool lost_in_the_middle() const {
    return call_.end() == CallEnd::kLost && !reused_;
  }
  /// The daemon does not even say that it is there.
  [[nodiscard]] bool silent() const { return call_.end() == CallEnd::kSilent; }
  /// What to tell of one that neither went well nor was lost.
  [[nodiscard]] Error ToError(const std::string& socket) const;
  /// It is to bring something within that time, besides what was waited for already.
  void Hurry(std::chrono::milliseconds left) { connection_->Hurry(left); }
  /// Something is to be done then, whatever is heard: Advance.
  [[nodiscard]] Silence::Clock::time_point doubts_at() const { return connection_->doubts_at(); }
  [[nodiscard]] bool going_away() const { return connection_->going_away(); }
  /// Once it has ended, for another call.
  std::unique_ptr<Connection> TakeConnection();

 private:
  void Leave();

  std::unique_ptr<Connection> connection_;  ///< null: taken
  const bool reused_;                       ///< it had been idle, and may have been stale
  Readiness* const readiness_;
  Call call_;
};

}  // namespace cccl_cache
