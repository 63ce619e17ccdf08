// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/own_call.h"

#include <utility>

#include "client/src/wire/messages.h"

namespace cccl_cache {

OwnCall::OwnCall(uint64_t number, Step step, std::shared_ptr<BuildRequest> request,
                 const DaemonStub& daemon)
    : number_(number), step_(step), request_(std::move(request)), conversation_(*request_) {
  if (step_ == Step::kLearnLimit) AppendEmptyMessage(&body_);
  if (step_ == Step::kBuild) request_->AppendWithFilesTo(&body_);
  if (step_ == Step::kBuildAlone) request_->AppendTo(&body_);
  if (step_ != Step::kSendAhead) return;
  sent_ahead_ = daemon.NextToSendAhead(request_.get(), BuildRequest::kAround);
  daemon.AppendUpload(sent_ahead_->contents, &body_);
}

const char* OwnCall::Path() const {
  switch (step_) {
    case Step::kLearnLimit:
      return DaemonStub::kInfoPath;
    case Step::kSendAhead:
      return DaemonStub::kUploadPath;
    case Step::kBuild:
      return DaemonStub::kWithFilesPath;
    default:
      return DaemonStub::kInChunksPath;
  }
}

void OwnCall::Start(Channel::Taken taken, Deadline deadline, Readiness* readiness) {
  MessageSink* sink = &single_;
  if (step_ == Step::kBuild) sink = &conversation_;
  if (step_ == Step::kBuildAlone) sink = &conversation_.reply();
  MessageSource* const source = step_ == Step::kBuild ? &conversation_ : nullptr;
  exchange_.emplace(std::move(taken), Exchange::Talk{Path(), body_, sink, source, deadline},
                    readiness);
}

Expected<Done> OwnCall::NameUpload() {
  Expected<std::string> sha256 = DaemonStub::ReadUpload(single_.message());
  if (!sha256.ok()) return std::move(sha256).error();
  request_->NameUpload(*sent_ahead_, *std::move(sha256));
  return Done{};
}

Expected<BuildReply> OwnCall::TakeReply() {
  ChunkedReply& reply = conversation_.reply();
  if (!reply.complete()) {
    return Error{CCCL_CACHE_PROTOCOL, "the daemon's answer to a build can't be understood"};
  }
  return BuildReply::DecodeWithContents(std::move(reply.reply()), std::move(reply.contents()));
}

}  // namespace cccl_cache
