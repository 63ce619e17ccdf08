// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cccl_cache/batch.h"
#include "cccl_cache/client.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace interface_test {

using cccl_cache::Batch;
using cccl_cache::BuildOptions;
using cccl_cache::Client;
using cccl_cache::LinkBuild;
using cccl_cache::NvrtcBuild;
using cccl_cache::NvvmBuild;
using cccl_cache::OnMiss;
using cccl_cache::Outcome;
using cccl_cache::Priority;
using cccl_cache::View;
using cccl_cache::daemon::TemporaryDirectory;

namespace {

// Keeps the last request; answers with a hit.
struct Recorder {
  v1::BuildRequest seen;
  TemporaryDirectory directory;
  StandInDaemon daemon{directory / "socket", Answers()};
  Client client = *Client::Open(daemon.socket());

  StandInAnswers Answers() {
    StandInAnswers answers;
    answers.build = [this](auto*, const v1::BuildRequest& request, v1::BuildReply* reply) {
      seen = request;
      *reply = HitWithCubin("c");
      return grpc::Status::OK;
    };
    return answers;
  }
};

}  // namespace

TEST_CASE("a link sends its inputs in order, with their types") {
  Recorder recorder;
  const std::string contents("with\0nul", 8);
  const LinkBuild build{.inputs = {{CCCL_CACHE_INPUT_LTOIR, "a.ltoir", contents},
                                   {CCCL_CACHE_INPUT_ANY, "b", "bytes"}},
                        .options = {"-arch=sm_90", "-lto"}};
  REQUIRE(recorder.client.Build(build, {.toolchain_version = "12.9"}).ok());
  const v1::LinkProgram& link = recorder.seen.link();
  REQUIRE(link.inputs_size() == 2);
  CHECK(link.inputs(0).type() == v1::LINK_INPUT_TYPE_LTOIR);
  CHECK(link.inputs(0).contents().inline_bytes() == contents);
  CHECK(link.inputs(1).type() == v1::LINK_INPUT_TYPE_UNSPECIFIED);
  CHECK(link.inputs(1).name() == "b");
  CHECK(link.options(1) == "-lto");
  CHECK(recorder.seen.toolchain().version() == "12.9");
  CHECK_FALSE(recorder.seen.has_nvrtc());
}

TEST_CASE("single builds and builds of a batch are sent with their priority") {
  StandInAnswers answers;
  std::vector<v1::Priority> seen;
  answers.build = [&](auto*, const v1::BuildRequest& request, v1::BuildReply* reply) {
    seen.push_back(request.priority());
    *reply = HitWithCubin("c");
    return grpc::Status::OK;
  };
  answers.many = [&](auto*, StandInAnswers::Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      seen.push_back(request.build().priority());
      v1::BuildManyReply reply;
      reply.set_tag(request.tag());
      *reply.mutable_reply() = HitWithCubin("c");
      stream->Write(reply);
    }
    return grpc::Status::OK;
  };
  const TemporaryDirectory directory;
  StandInDaemon daemon(directory / "socket", std::move(answers));
  Client client = *Client::Open(daemon.socket());
  const BuildOptions interactive{.priority = Priority::kInteractive};
  REQUIRE(client.Build(NvrtcBuild{}).ok());
  REQUIRE(client.Build(NvrtcBuild{}, interactive).ok());
  Batch batch = *Batch::Open(client);
  REQUIRE(batch.Add(NvrtcBuild{}, 1, {.priority = Priority::kWarmUp}).ok());
  REQUIRE(batch.Next()->result.ok());
  CHECK(seen == std::vector{v1::PRIORITY_NORMAL, v1::PRIORITY_INTERACTIVE, v1::PRIORITY_WARM_UP});
  const BuildOptions wrong{.priority = static_cast<Priority>(9)};
  const auto refused = client.Build(NvrtcBuild{.source = "new"}, wrong);
  const auto not_added = batch.Add(NvrtcBuild{.source = "new"}, 2, wrong);
  CHECK(refused.error().status == CCCL_CACHE_INVALID_REQUEST);
  CHECK(not_added.error().status == CCCL_CACHE_INVALID_REQUEST);
}

TEST_CASE("a build sends its on_miss action; only refuse requires a newer daemon") {
  Recorder recorder;
  using Asked = std::pair<v1::OnMiss, uint32_t>;
  const auto asked = [&](OnMiss on_miss) {
    REQUIRE(recorder.client.Build(NvrtcBuild{}, {.on_miss = on_miss}).ok());
    return Asked(recorder.seen.on_miss(), recorder.seen.min_api_minor());
  };
  CHECK(asked(OnMiss::kWait) == Asked(v1::ON_MISS_WAIT, 0));
  CHECK(asked(OnMiss::kFinish) == Asked(v1::ON_MISS_FINISH, 0));
  CHECK(asked(OnMiss::kRefuse) == Asked(v1::ON_MISS_REFUSE, 3));
  const auto wrong = recorder.client.Build(NvrtcBuild{}, {.on_miss = static_cast<OnMiss>(3)});
  CHECK(wrong.error().status == CCCL_CACHE_INVALID_REQUEST);
}

TEST_CASE("each C function returns zeros for an index that is not below the count") {
  const auto zeros_from = [](auto item, const auto& fill) {
    std::memset(&item, 0x5a, sizeof(item));
    item.struct_size = sizeof(item);
    fill(&item);
    decltype(item) zeros;
    std::memset(&zeros, 0, sizeof(zeros));
    zeros.struct_size = sizeof(zeros);
    return std::memcmp(&item, &zeros, sizeof(zeros)) == 0;
  };
  const TemporaryDirectory directory;
  StandInAnswers answers;
  answers.build = [](auto*, const v1::BuildRequest&, v1::BuildReply* reply) {
    *reply = HitWithCubin("c");
    return grpc::Status::OK;
  };
  answers.list_deposits = [](const auto&, auto*) { return grpc::Status::OK; };
  StandInDaemon daemon(directory / "socket", std::move(answers));
  const std::string socket = daemon.socket();
  cccl_cache_open_options options = {};
  options.struct_size = sizeof(options);
  options.socket = {socket.data(), socket.size()};
  cccl_cache_client* client = nullptr;
  REQUIRE(cccl_cache_open(&options, &client, nullptr) == CCCL_CACHE_OK);

  cccl_cache_nvrtc program = {};
  program.struct_size = sizeof(program);
  cccl_cache_result* result = nullptr;
  REQUIRE(cccl_cache_build_nvrtc(client, &program, nullptr, &result, nullptr) == CCCL_CACHE_OK);
  CHECK(zeros_from(cccl_cache_artifact(),
                   [&](auto* item) { cccl_cache_result_artifact(result, 1, item); }));
  CHECK(zeros_from(cccl_cache_lowered_name(),
                   [&](auto* item) { cccl_cache_result_lowered_name(result, 0, item); }));
  cccl_cache_result_free(result);

  cccl_cache_deposits* deposits = nullptr;
  REQUIRE(cccl_cache_list_deposits(client, 0, &deposits, nullptr) == CCCL_CACHE_OK);
  CHECK(zeros_from(cccl_cache_deposit_info(),
                   [&](auto* item) { cccl_cache_deposits_item(deposits, 0, item); }));
  cccl_cache_deposits_free(deposits);

  cccl_cache_close(client);
}

TEST_CASE("NVVM modules keep their order and their lazy flags") {
  Recorder recorder;
  const NvvmBuild build{.modules = {{"a.ll", "ir"}, {"b.bc", "bc", true}},
                        .options = {"-arch=compute_90"},
                        .add_libdevice = true};
  REQUIRE(recorder.client.Build(build, {.toolchain_id = "0123456789"}).ok());
  const v1::NvvmProgram& nvvm = recorder.seen.nvvm();
  REQUIRE(nvvm.modules_size() == 2);
  CHECK_FALSE(nvvm.modules(0).lazy());
  CHECK(nvvm.modules(1).lazy());
  CHECK(nvvm.modules(1).contents().inline_bytes() == "bc");
  CHECK(nvvm.add_libdevice());
  CHECK(recorder.seen.toolchain().id() == "0123456789");
}

TEST_CASE("an empty source is sent as an empty source") {
  Recorder recorder;
  REQUIRE(recorder.client.Build(NvrtcBuild{}).ok());
  CHECK(recorder.seen.has_nvrtc());
  CHECK(recorder.seen.nvrtc().source().inline_bytes().empty());
}

TEST_CASE("a text with a NUL is refused by its field's name; contents may have NULs") {
  Recorder recorder;
  const std::string nul("a\0b", 3);
  const auto refused = recorder.client.Build(NvrtcBuild{.source = "x", .options = {"-a", nul}});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().status == CCCL_CACHE_INVALID_REQUEST);
  CHECK(refused.error().message.find("nvrtc.options") != std::string::npos);
  CHECK_FALSE(recorder.seen.has_nvrtc());
  CHECK_FALSE(recorder.client.Build(NvrtcBuild{.name = nul}).ok());
  CHECK_FALSE(recorder.client.Build(NvrtcBuild{}, {.working_directory = nul}).ok());
  REQUIRE(recorder.client.Build(NvrtcBuild{.source = nul, .headers = {{"h", nul}}}).ok());
  CHECK(recorder.seen.nvrtc().source().inline_bytes() == nul);
  CHECK(recorder.seen.nvrtc().headers(0).contents().inline_bytes() == nul);
}

TEST_CASE("code that does not compile is an answer with its log and the compiler's code") {
  const TemporaryDirectory directory;
  StandInAnswers answers;
  answers.build = [](auto*, const auto&, v1::BuildReply* reply) {
    reply->set_outcome(v1::OUTCOME_FAILED);
    reply->set_log("k.cu(1): error");
    reply->set_native_code(6);
    reply->set_remembered(true);
    reply->set_reason("does not compile");
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  const auto result = Client::Open(daemon.socket())->Build(NvrtcBuild{.source = "x"});
  REQUIRE(result.ok());
  CHECK(result->outcome() == Outcome::kFailed);
  CHECK_FALSE(result->compiled());
  CHECK(result->log() == "k.cu(1): error");
  CHECK(result->reason() == "does not compile");
  CHECK(result->info().native_code == 6);
  CHECK(result->info().remembered != 0);
  CHECK(result->artifacts().empty());
  CHECK(result->toolchain_id().empty());
}

TEST_CASE("only the fields within struct_size are read and written") {
  Recorder recorder;
  cccl_cache_client* client = nullptr;
  cccl_cache_open_options where = {sizeof(where), cccl_cache::Bytes(recorder.daemon.socket())};
  REQUIRE(cccl_cache_open(&where, &client, nullptr) == CCCL_CACHE_OK);
  cccl_cache_nvrtc program = {};
  program.struct_size = offsetof(cccl_cache_nvrtc, append_toolchain_headers);
  program.append_toolchain_headers = 1;  // beyond struct_size
  cccl_cache_result* result = nullptr;
  REQUIRE(cccl_cache_build_nvrtc(client, &program, nullptr, &result, nullptr) == CCCL_CACHE_OK);
  CHECK_FALSE(recorder.seen.nvrtc().append_toolchain_headers());
  cccl_cache_result_info info;
  std::memset(&info, 0x5a, sizeof(info));
  info.struct_size = offsetof(cccl_cache_result_info, key);
  cccl_cache_result_describe(result, &info);
  CHECK(info.struct_size == offsetof(cccl_cache_result_info, key));
  CHECK(info.outcome == CCCL_CACHE_HIT);
  CHECK(info.key.size == 0x5a5a5a5a5a5a5a5a);
  cccl_cache_result_free(result);
  cccl_cache_close(client);
}

TEST_CASE("texts that the library hands out end with a NUL") {
  Recorder recorder;
  const auto result = recorder.client.Build(NvrtcBuild{});
  REQUIRE(result.ok());
  CHECK(std::strlen(result->info().key.data) == result->info().key.size);
  CHECK(std::strlen(result->info().log.data) == result->info().log.size);
}

TEST_CASE("the error pointer may be null, and freeing null does nothing") {
  const TemporaryDirectory directory;
  const std::string socket = directory / "socket";
  cccl_cache_client* client = nullptr;
  const cccl_cache_open_options where = {sizeof(where), cccl_cache::Bytes(socket)};
  REQUIRE(cccl_cache_open(&where, &client, nullptr) == CCCL_CACHE_OK);
  CHECK(View(cccl_cache_client_socket(client)) == socket);
  int32_t serving = 0;
  CHECK(cccl_cache_check_health(client, 0, &serving, nullptr) == CCCL_CACHE_NO_DAEMON);
  cccl_cache_close(client);
  cccl_cache_close(nullptr);
  cccl_cache_error_free(nullptr);
  cccl_cache_result_free(nullptr);
  cccl_cache_json_free(nullptr);
}

TEST_CASE("a daemon that serves is ready unless it has a problem") {
  const TemporaryDirectory directory;
  StandInAnswers answers;
  std::string problem;
  answers.info = [&problem](v1::InfoReply* reply) {
    reply->set_problem(problem);
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  CHECK(*Client::Open(daemon.socket())->Health());
  const std::string socket = daemon.socket();
  cccl_cache_open_options options = {sizeof(options)};
  options.socket = {socket.data(), socket.size()};
  cccl_cache_client* client = nullptr;
  REQUIRE(cccl_cache_open(&options, &client, nullptr) == CCCL_CACHE_OK);
  int32_t ready = 0;
  REQUIRE(cccl_cache_check_ready(client, 0, &ready, nullptr) == CCCL_CACHE_OK);
  CHECK(ready == 1);
  problem = "the disk is full";
  REQUIRE(cccl_cache_check_ready(client, 0, &ready, nullptr) == CCCL_CACHE_OK);
  CHECK(ready == 0);
  cccl_cache_close(client);
}

TEST_CASE("a timeout that is too long for the C interface becomes the longest one") {
  using cccl_cache::c::Milliseconds;
  CHECK(Milliseconds(std::chrono::hours(24 * 365)) == CCCL_CACHE_NO_TIMEOUT - 1);
  CHECK(Milliseconds(std::chrono::milliseconds(-1)) == 0);
  CHECK(Milliseconds(std::chrono::milliseconds(1500)) == 1500);
}

TEST_CASE("cccl_cache_ask_nvrtc returns either a result or an error") {
  Recorder recorder;
  const std::string socket = recorder.daemon.socket();
  cccl_cache_open_options how = {sizeof(how)};
  how.socket = {socket.data(), socket.size()};
  how.fallback = CCCL_CACHE_FALLBACK_ERROR;
  cccl_cache_client* client = nullptr;
  REQUIRE(cccl_cache_open(&how, &client, nullptr) == CCCL_CACHE_OK);
  cccl_cache_nvrtc program = {sizeof(program)};
  program.source = {"s", 1};
  cccl_cache_answer answer = {sizeof(answer)};
  REQUIRE(cccl_cache_ask_nvrtc(client, &program, nullptr, &answer) == CCCL_CACHE_OK);
  REQUIRE(answer.result != nullptr);
  CHECK(answer.error == nullptr);
  CHECK(answer.outcome == CCCL_CACHE_HIT);
  CHECK(answer.kind == CCCL_CACHE_CUBIN);
  CHECK(std::string(answer.contents.data, answer.contents.size) == "c");
  cccl_cache_result_free(answer.result);
  program.name = {"a\0b", 3};
  REQUIRE(cccl_cache_ask_nvrtc(client, &program, nullptr, &answer) == CCCL_CACHE_INVALID_REQUEST);
  CHECK(answer.result == nullptr);
  REQUIRE(answer.error != nullptr);
  cccl_cache_error_free(answer.error);
  cccl_cache_close(client);
}

}  // namespace interface_test
