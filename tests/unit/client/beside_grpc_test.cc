// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// libcccl_cache.so.1 in a process that uses its own gRPC, protobuf and nghttp2: neither disturbs
// the other.
#include <google/protobuf/util/json_util.h>
#include <nghttp2/nghttp2.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cccl_cache/batch.h"
#include "cccl_cache/client.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace beside_grpc_test {

using cccl_cache::Batch;
using cccl_cache::Client;
using cccl_cache::Kind;
using cccl_cache::NvrtcBuild;
using cccl_cache::daemon::TemporaryDirectory;

namespace {

constexpr int kRounds = 100;

bool BuildsOverTheLibrary(const std::string& socket, const std::string& source) {
  auto client = Client::Open(socket);
  Batch batch = *Batch::Open(*client);
  if (!batch.Add(NvrtcBuild{.source = source}, 1).ok()) return false;
  const auto alone = client->Build(NvrtcBuild{.source = source});
  const auto one_of_many = batch.Next();
  return alone.ok() && alone->artifact(Kind::kCubin) == source && one_of_many &&
         one_of_many->result.ok() && one_of_many->result->artifact(Kind::kCubin) == source;
}

bool BuildsOverStockGrpc(v1::Build::Stub& stub, const std::string& source) {
  grpc::ClientContext context;
  v1::BuildRequest request;
  request.mutable_nvrtc()->mutable_source()->set_inline_bytes(source);
  v1::BuildReply reply;
  return stub.Build(&context, request, &reply).ok() && reply.artifacts(0).contents() == source;
}

bool ConvertsByProtobuf(const std::string& key) {
  v1::BuildReply reply = HitWithCubin("c");
  reply.set_key(key);
  std::string json;
  v1::BuildReply again;
  return google::protobuf::util::MessageToJsonString(reply, &json).ok() &&
         google::protobuf::util::JsonStringToMessage(json, &again).ok() && again.key() == key;
}

/// Lets this program's own nghttp2 client and server talk to each other.
bool SpeaksHttp2() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session* client = nullptr;
  nghttp2_session* server = nullptr;
  nghttp2_session_client_new(&client, callbacks, nullptr);
  nghttp2_session_server_new(&server, callbacks, nullptr);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_submit_settings(client, NGHTTP2_FLAG_NONE, nullptr, 0);
  const uint8_t* said = nullptr;
  bool understood = true;
  while (understood) {
    const ssize_t size = nghttp2_session_mem_send(client, &said);
    if (size <= 0) break;
    understood = nghttp2_session_mem_recv(server, said, static_cast<size_t>(size)) == size;
  }
  const bool wants = nghttp2_session_want_write(server) != 0;  // to acknowledge the settings
  nghttp2_session_del(client);
  nghttp2_session_del(server);
  return understood && wants;
}

}  // namespace

TEST_CASE("the library and the program's own gRPC, protobuf and nghttp2 work side by side") {
  const TemporaryDirectory directory;
  StandInAnswers answers;
  answers.build = [](auto*, const v1::BuildRequest& request, v1::BuildReply* reply) {
    *reply = HitWithCubin(request.nvrtc().source().inline_bytes());
    return grpc::Status::OK;
  };
  answers.many = [](auto*, StandInAnswers::Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      v1::BuildManyReply reply;
      reply.set_tag(request.tag());
      *reply.mutable_reply() = HitWithCubin(request.build().nvrtc().source().inline_bytes());
      stream->Write(reply);
    }
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  const auto stub = v1::Build::NewStub(
      grpc::CreateChannel("unix:" + daemon.socket(), grpc::InsecureChannelCredentials()));
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < kRounds; ++round) {
        const std::string text = std::to_string(thread) + " " + std::to_string(round);
        right += BuildsOverTheLibrary(daemon.socket(), text) ? 1 : 0;
        right += BuildsOverStockGrpc(*stub, text) ? 1 : 0;
        right += ConvertsByProtobuf(text) ? 1 : 0;
        right += SpeaksHttp2() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 4 * 4 * kRounds);
}

}  // namespace beside_grpc_test
