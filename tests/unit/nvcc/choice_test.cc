// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/choice.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace cccl_cache::nvcc::choice_test {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = Closure::Kind;

constexpr int kMost = 8;  // results are kept for one command line

/// Returns a stored result whose closure holds, or does not.
std::string Stored(uint64_t made_s, bool holds) {
  KeptStep kept;
  kept.made_s = made_s;
  kept.closure = Closure({{.name = "/", .kind = holds ? Kind::kDirectory : Kind::kAbsent}});
  return kept.Encode();
}

/// A daemon with deposits for the numbers of one run's results, and the lease for the others.
struct Scene {
  using Stream = StandInAnswers::Acquiring;

  std::map<int, std::string> deposits;
  bool removes = true;
  std::vector<int> asked;
  std::vector<uint32_t> waits_ms;
  std::string removed;
  daemon::TemporaryDirectory directory;
  StandInDaemon server{directory / "socket", Answers()};
  Expected<Client> client = Client::Open(server.socket());
  const UserCache facts{directory / "facts", 1};
  Command command = [] {
    Command made;
    made.step.sources = {"a.cu"};
    return made;
  }();

  StandInAnswers Answers() {
    StandInAnswers answers;
    answers.acquire = [this](Stream* stream) {
      v1::AcquireRequest request;
      if (!stream->Read(&request)) return grpc::Status::OK;
      const int number = NumberIn(request.key());
      asked.push_back(number);
      waits_ms.push_back(request.key().wait_ms());
      v1::AcquireReply reply;
      const auto found = deposits.find(number);
      if (found == deposits.end()) {
        reply.mutable_released()->set_key("lease");
        stream->Write(reply);
        return grpc::Status::OK;
      }
      reply.mutable_found()->set_key(std::to_string(number));
      reply.mutable_found()->set_size(found->second.size());
      stream->Write(reply);
      v1::AcquireReply contents;
      contents.set_contents(found->second);
      stream->Write(contents);
      return grpc::Status::OK;
    };
    answers.remove_deposit = [this](const v1::RemoveDepositRequest& request,
                                    v1::RemoveDepositReply* reply) {
      removed = request.key();
      if (removes) deposits.erase(std::stoi(removed));
      reply->set_removed(removes);
      return grpc::Status::OK;
    };
    return answers;
  }
  static int NumberIn(const v1::DepositKey& key) {
    for (const auto& field : key.fields()) {
      if (field.name() == "number") return static_cast<unsigned char>(field.value()[0]);
    }
    return -1;
  }
  Choice Chosen(Clock::time_point until = Clock::now() + std::chrono::hours(1)) {
    return Choose(&*client, command, "", facts, until);
  }
};

TEST_CASE("the first result whose closure holds is the choice") {
  Scene scene;
  scene.deposits = {{0, Stored(1, false)}, {1, "damaged"}, {2, Stored(2, true)}};
  const Choice choice = scene.Chosen();
  REQUIRE(std::holds_alternative<Hit>(choice));
  CHECK(std::get<Hit>(choice).kept.made_s == 2);
  CHECK(scene.asked == std::vector{0, 1, 2});
}

TEST_CASE("a new result gets the first free number") {
  Scene scene;
  scene.deposits = {{0, Stored(1, false)}, {1, Stored(2, false)}};
  const Choice choice = scene.Chosen();
  REQUIRE(std::holds_alternative<Vacancy>(choice));
  CHECK(std::get<Vacancy>(choice).number == 2);
}

TEST_CASE("the oldest of many results gives its number to a new one, unless it can't be removed") {
  Scene scene;
  for (int i = 0; i < kMost; ++i) {
    scene.deposits[i] = Stored(static_cast<uint64_t>(i == 3 ? 1 : 10 + i), false);
  }
  scene.removes = GENERATE(true, false);
  const Choice choice = scene.Chosen();
  CHECK(scene.removed == "3");
  if (scene.removes) {
    REQUIRE(std::holds_alternative<Vacancy>(choice));
    CHECK(std::get<Vacancy>(choice).number == 3);
  } else {
    CHECK(std::holds_alternative<Full>(choice));
  }
}

TEST_CASE("a run whose time to wait is over waits for none of its results") {
  Scene scene;
  for (int i = 0; i < kMost; ++i) scene.deposits[i] = Stored(1, false);
  static_cast<void>(scene.Chosen(Clock::now()));
  // The time that a daemon has for an answer in any case.
  CHECK(scene.waits_ms == std::vector<uint32_t>(kMost + 1, 100));
}

TEST_CASE("a run in a fresh directory needs its own name if a result depends on another's") {
  Scene scene;
  scene.command.fresh = standin::FreshDirectory::Of("/tmp/tmpabcdefgh/a.cu");
  REQUIRE(scene.command.fresh);
  KeptStep kept;
  kept.only_in = "/tmp/tmpijklmnop/a.cu";
  scene.deposits = {{0, kept.Encode()}};
  CHECK(std::holds_alternative<NeedsOwnName>(scene.Chosen()));
}

}  // namespace
}  // namespace cccl_cache::nvcc::choice_test
