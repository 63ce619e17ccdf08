// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/client/batch_scene.h"

#include <poll.h>

#include <catch2/catch.hpp>
#include <utility>

using cccl_cache::Batch;
using cccl_cache::Client;
using cccl_cache::Kind;
using cccl_cache::NvrtcBuild;

Client OpenClient(const std::string& socket) {
  return *Client::Open({.socket = socket, .fallback = CCCL_CACHE_FALLBACK_ERROR});
}

void Reply(Many* stream, uint64_t tag, std::string cubin) {
  v1::BuildManyReply reply;
  reply.set_tag(tag);
  *reply.mutable_reply() = HitWithCubin(std::move(cubin));
  stream->Write(reply);
}

void Refuse(Many* stream, uint64_t tag, const std::string& name, uint64_t retry_ms) {
  v1::BuildManyReply reply;
  reply.set_tag(tag);
  reply.mutable_error()->set_name(name);
  reply.mutable_error()->set_message("for a reason");
  reply.mutable_error()->set_retry_ms(retry_ms);
  stream->Write(reply);
}

std::string SourceOf(const v1::BuildManyRequest& request) {
  return request.build().nvrtc().source().inline_bytes();
}

grpc::Status Echo(grpc::ServerContext*, Many* stream) {
  v1::BuildManyRequest request;
  while (stream->Read(&request)) {
    if (request.has_build()) Reply(stream, request.tag(), SourceOf(request));
  }
  return grpc::Status::OK;
}

grpc::Status EchoApart(grpc::ServerContext*, StandInAnswers::WithFiles* stream) {
  v1::BuildWithFilesRequest request;
  stream->Read(&request);
  const v1::Blob& source = request.build().nvrtc().source();
  v1::BuildWithFilesReply data;
  data.set_data(source.upload_sha256() + source.inline_bytes());
  v1::BuildWithFilesReply head;
  *head.mutable_reply() = HitWithCubin("");
  head.mutable_reply()->mutable_artifacts(0)->set_size(data.data().size());
  stream->Write(head);
  stream->Write(data);
  return grpc::Status::OK;
}

NvrtcBuild Source(std::string_view source) { return NvrtcBuild{.source = source}; }

std::string CubinOf(const std::optional<Batch::Finished>& finished) {
  REQUIRE(finished);
  if (!finished->result.ok()) FAIL(finished->result.error().message);
  return std::string(finished->result->artifact(Kind::kCubin));
}

cccl_cache_status StatusOf(const std::optional<Batch::Finished>& finished) {
  REQUIRE(finished);
  REQUIRE_FALSE(finished->result.ok());
  return finished->result.error().status;
}

bool IsReadable(const Batch& batch, std::chrono::milliseconds within) {
  pollfd waiting = {batch.fd(), POLLIN, 0};
  return poll(&waiting, 1, static_cast<int>(within.count())) == 1;
}
