// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/build_steps.h"

#include <utility>

namespace cccl_cache {
namespace {

constexpr int kMaxRepairs = 2;

}  // namespace

BuildCall::BuildCall(BuildStep step, RequestMessage* request, const DaemonStub& daemon)
    : step_(step), request_(*request) {
  switch (step_) {
    case BuildStep::kLearnInfo:
      AppendMessage({}, &body_);
      break;
    case BuildStep::kSendHeaders:
      request_.HeaderSetMessage().ForEachPiece([&](std::string_view piece, bool copied) {
        copied ? uploaded_.Copy(piece) : uploaded_.Refer(piece);
      });
      daemon.AppendUpload(uploaded_, &body_);
      break;
    case BuildStep::kSendAhead:
      sent_ahead_ = daemon.NextToSendAhead(request_);
      uploaded_.Refer(request_.blobs()[*sent_ahead_].contents);
      daemon.AppendUpload(uploaded_, &body_);
      break;
    case BuildStep::kBuildWithFiles:
      conversation_.emplace(request_);
      request_.AppendWithFilesTo(&body_);
      break;
    default:
      request_.AppendTo(&body_);
  }
}

const char* BuildCall::path() const {
  switch (step_) {
    case BuildStep::kLearnInfo:
      return DaemonStub::kInfoPath;
    case BuildStep::kSendHeaders:
    case BuildStep::kSendAhead:
      return "/cccl_cache.v1.Build/Upload";
    case BuildStep::kBuildWithFiles:
      return "/cccl_cache.v1.Build/BuildWithFiles";
    case BuildStep::kBuildInChunks:
      return "/cccl_cache.v1.Build/BuildInChunks";
    default:
      return "/cccl_cache.v1.Build/Build";
  }
}

MessageSink* BuildCall::sink() {
  if (conversation_) return &*conversation_;
  if (step_ == BuildStep::kBuildInChunks) return &chunked_;
  return &single_;
}

MessageSource* BuildCall::source() { return conversation_ ? &*conversation_ : nullptr; }

Expected<Done> BuildCall::NameUpload() {
  Expected<std::string> sha256 = DaemonStub::ReadUpload(single_.message());
  if (!sha256.ok()) return std::move(sha256).error();
  if (sent_ahead_) {
    request_.NameUpload(*sent_ahead_, *std::move(sha256));
  } else if (*sha256 != request_.header_set_sha256()) {
    return NotUnderstood("an upload");
  }
  return Done{};
}

Expected<BuildReply> BuildCall::TakeReply() {
  ChunkedReply& reply = conversation_ ? conversation_->reply() : chunked_;
  if (step_ == BuildStep::kBuild && single_.received()) {
    return BuildReply::Decode(std::move(single_.message()));
  }
  if (reply.complete()) {
    return BuildReply::DecodeWithContents(std::move(reply.reply()), std::move(reply.contents()));
  }
  return Error{CCCL_CACHE_PROTOCOL, "the daemon's answer to a build can't be understood"};
}

BuildStep BuildSteps::next() const {
  const bool asks_for_minor = request_.names_header_set() && !daemon_.api_minor();
  if (too_large_ || asks_for_minor) return BuildStep::kLearnInfo;
  if (lacks_headers_) return BuildStep::kSendHeaders;
  if (daemon_.NextToSendAhead(request_)) return BuildStep::kSendAhead;
  if ((apart_ || daemon_.elsewhere()) && !no_files_) return BuildStep::kBuildWithFiles;
  return apart_ || reply_ ? BuildStep::kBuildInChunks : BuildStep::kBuild;
}

std::optional<Expected<BuildReply>> BuildSteps::Took(BuildCall* call,
                                                     const Expected<Done>& called) {
  if (call->step() == BuildStep::kLearnInfo) return TookInfo(call, called);
  if (!called.ok()) return Took(call->step(), called.error());
  if (call->step() > BuildStep::kSendAhead) return Took(call->step(), call->TakeReply());
  lacks_headers_ = false;
  if (Expected<Done> named = call->NameUpload(); !named.ok()) return std::move(named).error();
  return std::nullopt;
}

std::optional<Expected<BuildReply>> BuildSteps::TookInfo(BuildCall* call,
                                                         const Expected<Done>& called) {
  if (called.ok()) daemon_.NoteInfo(call->message());
  const std::optional<Error> too_large = std::exchange(too_large_, std::nullopt);
  if (!called.ok() && !too_large) return called.error();
  // An older daemon would ignore the header set and compile without the headers.
  if (daemon_.api_minor().value_or(0) < RequestMessage::kApiMinorOfHeaderSets) {
    request_.InlineHeaders();
  }
  if (too_large && daemon_.Fits(request_)) return *too_large;
  return std::nullopt;
}

std::optional<Expected<BuildReply>> BuildSteps::Took(BuildStep step, Expected<BuildReply> reply) {
  if (!reply.ok()) {
    if (MayGoOn(step, reply.error())) return std::nullopt;
    return reply;
  }
  if (reply->needs_chunks()) {
    reply_ = *std::move(reply);
    return std::nullopt;
  }
  // The second call, which fetches the contents, is a hit: the first call made the artifacts. The
  // caller gets the outcome of the first call with the contents of the second.
  if (!reply_ || !reply_->SameArtifacts(*reply)) return reply;
  reply_->TakeContents(*std::move(reply));
  return *std::exchange(reply_, std::nullopt);
}

bool BuildSteps::MayGoOn(BuildStep step, const Error& error) {
  switch (error.status) {
    case CCCL_CACHE_FILES_NEEDED:
      if (no_files_ || step == BuildStep::kBuildWithFiles || ++repairs_ > kMaxRepairs) return false;
      daemon_.NoteElsewhere();
      return true;
    case CCCL_CACHE_PROTOCOL:
      // The daemon is older than this client and does not know BuildWithFiles.
      return step == BuildStep::kBuildWithFiles && !std::exchange(no_files_, true);
    case CCCL_CACHE_UPLOAD_NEEDED:
      // A daemon that was restarted after the uploads does not have them any more.
      request_.InlineAll();
      lacks_headers_ = request_.names_header_set();
      return ++repairs_ <= kMaxRepairs;
    case CCCL_CACHE_DENIED:
      // The daemon keeps nothing for this user.
      if (step != BuildStep::kSendHeaders) return false;
      lacks_headers_ = false;
      request_.InlineHeaders();
      return true;
    case CCCL_CACHE_TOO_LARGE:
      if (++repairs_ > kMaxRepairs) return false;
      too_large_ = error;
      return true;
    default:
      return false;
  }
}

}  // namespace cccl_cache
