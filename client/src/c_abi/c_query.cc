// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "client/src/c_abi/handles.h"
#include "client/src/c_abi/this_process.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/wire/message_json.h"
#include "client/src/wire/messages.h"
#include "proto/message_tables.h"

using cccl_cache::After;
using cccl_cache::CancellationDisabled;
using cccl_cache::Fail;
using cccl_cache::ReadStruct;
using cccl_cache::ToBytes;

namespace tables = cccl_cache::tables;

namespace {

struct Question {
  std::string_view name;
  const char* method;
  const cccl_cache::MessageTable& request;
  const cccl_cache::MessageTable& reply;
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

constexpr Question kQuestions[] = {
    {"info", cccl_cache::DaemonStub::kInfoPath, tables::kInfoRequest, tables::kInfoReply},
    {"toolchains", cccl_cache::DaemonStub::kToolchainsPath, tables::kToolchainsRequest,
     tables::kToolchainsReply},
    {"stats", "/cccl_cache.v1.Admin/Stats", tables::kStatsRequest, tables::kStatsReply},
    {"activity", "/cccl_cache.v1.Admin/Activity", tables::kActivityRequest, tables::kActivityReply},
    // The daemon waits this long for a file system that hangs.
    {"explain", "/cccl_cache.v1.Admin/Explain", tables::kExplainRequest, tables::kExplainReply,
     std::chrono::minutes(2)},
    {"evict", "/cccl_cache.v1.Admin/Evict", tables::kEvictRequest, tables::kEvictReply,
     std::chrono::hours(1)},
    {"verify", "/cccl_cache.v1.Admin/Verify", tables::kVerifyRequest, tables::kVerifyReply,
     std::chrono::hours(24)},
    {"zero-stats", "/cccl_cache.v1.Admin/ZeroStats", tables::kZeroStatsRequest,
     tables::kZeroStatsReply},
};

/// Converts the replies of a call to JSON and keeps the last one, which is the answer. Earlier
/// replies have the numbers that are known so far. Not thread-safe.
class LastReply final : public cccl_cache::MessageSink {
 public:
  LastReply(const cccl_cache::MessageTable& table, const cccl_cache_query_options& options)
      : table_(table), options_(options) {}

  void Restart() override { last_.reset(); }
  bool Take(cccl_cache::Message message) override {
    last_ = cccl_cache::ToJson(message.View(), table_);
    if (last_ && options_.progress != nullptr) options_.progress(ToBytes(*last_), options_.context);
    return last_.has_value();
  }

  /// Returns none if no reply was received.
  [[nodiscard]] std::optional<std::string>& last() { return last_; }

 private:
  const cccl_cache::MessageTable& table_;
  const cccl_cache_query_options& options_;
  std::optional<std::string> last_;
};

template <typename Program>
cccl_cache_status Explain(cccl_cache_client* client, const Program* program,
                          const cccl_cache_build_options* given_options, cccl_cache_json** answer,
                          cccl_cache_error** error) {
  const CancellationDisabled guard;
  const cccl_cache::AsThisProcess build(ReadStruct(program), ReadStruct(given_options));
  const cccl_cache::Deadline deadline = After(build.options().timeout_ms);
  cccl_cache::RequestMessage request;
  cccl_cache::Expected<cccl_cache::Done> made = request.SetProgram(build.program());
  if (made.ok()) made = request.SetOptions(build.options());
  if (!made.ok()) return Fail(std::move(made).error(), error);
  const auto reply = client->daemon.Explain(&request, deadline);
  if (!reply.ok()) return Fail(reply.error(), error);
  auto json = cccl_cache::ToJson(reply->View(), tables::kExplainReply);
  if (!json) return Fail(cccl_cache::NotUnderstood("\"explain\""), error);
  *answer = new cccl_cache_json{*std::move(json)};
  return CCCL_CACHE_OK;
}

}  // namespace

cccl_cache_status cccl_cache_query(cccl_cache_client* client, const char* question,
                                   const cccl_cache_query_options* given, cccl_cache_json** answer,
                                   cccl_cache_error** error) {
  const CancellationDisabled guard;
  const cccl_cache_query_options options = ReadStruct(given);
  const std::string_view name(question);
  const Question* const asked = std::ranges::find(kQuestions, name, &Question::name);
  if (asked == std::end(kQuestions)) {
    return Fail({CCCL_CACHE_INVALID_REQUEST, "\"" + std::string(name) + "\" is no question"},
                error);
  }
  const auto request =
      cccl_cache::FromArguments({options.arguments, options.argument_count}, asked->request);
  if (!request.ok()) return Fail(request.error(), error);
  cccl_cache::ByteChain body;
  cccl_cache::AppendMessage(*request, &body);
  LastReply replies(asked->reply, options);
  auto called = client->daemon.channel().Invoke(asked->method, body, &replies,
                                                After(options.timeout_ms, asked->timeout));
  if (!called.ok()) return Fail(std::move(called).error(), error);
  if (!replies.last())
    return Fail(cccl_cache::NotUnderstood("\"" + std::string(name) + "\""), error);
  *answer = new cccl_cache_json{*std::move(replies.last())};
  return CCCL_CACHE_OK;
}

cccl_cache_status cccl_cache_explain_nvrtc(cccl_cache_client* client,
                                           const cccl_cache_nvrtc* program,
                                           const cccl_cache_build_options* options,
                                           cccl_cache_json** answer, cccl_cache_error** error) {
  return Explain(client, program, options, answer, error);
}

cccl_cache_status cccl_cache_explain_link(cccl_cache_client* client, const cccl_cache_link* program,
                                          const cccl_cache_build_options* options,
                                          cccl_cache_json** answer, cccl_cache_error** error) {
  return Explain(client, program, options, answer, error);
}

cccl_cache_status cccl_cache_explain_nvvm(cccl_cache_client* client, const cccl_cache_nvvm* program,
                                          const cccl_cache_build_options* options,
                                          cccl_cache_json** answer, cccl_cache_error** error) {
  return Explain(client, program, options, answer, error);
}

cccl_cache_bytes cccl_cache_json_text(const cccl_cache_json* answer) {
  return ToBytes(answer->text);
}

void cccl_cache_json_free(cccl_cache_json* answer) { delete answer; }
