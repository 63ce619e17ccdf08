// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/call.h"

namespace cccl_cache {
namespace {

// A daemon may be configured for larger messages than the default 16 MiB; beyond this it is no
// daemon of ours.
constexpr size_t kLargestReply = size_t{256} << 20;

}  // namespace

Call::Call(std::string_view path, const ByteChain& body, MessageSink* sink, Deadline deadline,
           MessageSource* source)
    : path_(path),
      body_(&body),
      sink_(sink),
      source_(source),
      deadline_(deadline),
      unsent_(body.size()),
      assembler_(kLargestReply) {}

bool Call::TakeMore() {
  if (!goes_on() || unsent_ > 0 || ended_) return false;
  const ByteChain* more = source_->Next();
  if (more == nullptr) return said_all_ = source_->done();
  body_ = more;
  sent_ = {};
  unsent_ = more->size();
  return true;
}

void Call::MoveBody(size_t bytes, ByteChain* output) {
  output->ReferTo(*body_, sent_, bytes);
  sent_ = body_->Advance(sent_, bytes);
  unsent_ -= bytes;
}

void Call::AddData(std::string_view bytes) {
  while (!bytes.empty() && !ended_) {
    switch (assembler_.Append(&bytes)) {
      case MessageAssembler::State::kIncomplete:
        break;
      case MessageAssembler::State::kComplete:
        if (!sink_->Take(assembler_.Take())) End(CallEnd::kMalformed);
        break;
      case MessageAssembler::State::kInvalid:
        End(CallEnd::kMalformed);
        break;
    }
  }
}

void Call::End(CallEnd end) {
  if (ended_) return;
  ended_ = true;
  // A message that was cut off is no answer, whatever the status says.
  end_ =
      end == CallEnd::kAnswered && status_.ok() && !assembler_.empty() ? CallEnd::kMalformed : end;
}

}  // namespace cccl_cache
