// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/exchange.h"

#include <utility>

#include "client/src/transport/address.h"

namespace cccl_cache {

Exchange::Exchange(Channel::Taken taken, const Talk& talk, Readiness* readiness)
    : connection_(std::move(taken.connection)),
      reused_(taken.reused),
      readiness_(readiness),
      call_(talk.path, talk.body, talk.sink, talk.deadline, talk.source) {
  connection_->Start(&call_);
  readiness_->Watch(connection_->socket(), true);
}

Exchange::~Exchange() {
  if (connection_ != nullptr && connection_->owned()) Leave();
}

bool Exchange::Advance() {
  if (connection_->Advance(&call_)) return true;
  readiness_->Watch(connection_->socket(), connection_->wants_to_write());
  return false;
}

bool Exchange::lost() const {
  const CallEnd end = call_.end();
  return end == CallEnd::kLost || end == CallEnd::kUnsent || end == CallEnd::kRefused;
}

Error Exchange::ToError(const std::string& socket) const {
  if (call_.end() == CallEnd::kAnswered && !call_.status().ok()) return call_.status().ToError();
  if (silent()) return SaysNothing(socket);
  return {CCCL_CACHE_PROTOCOL,
          "what listens on " + socket +
              " does not speak as agreed: is it cccl-cached, and not older than this client?"};
}

std::unique_ptr<Connection> Exchange::TakeConnection() {
  Leave();
  return std::move(connection_);
}

void Exchange::Leave() {
  connection_->Finish(&call_);
  readiness_->Forget(connection_->socket());
}

}  // namespace cccl_cache
