// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cccl_cache/steps.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

#include "client/src/steps/step_value.h"
#include "proto/digest.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/wait_until.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace steps_test {

using cccl_cache::Step;
using cccl_cache::StepField;
using cccl_cache::StepFields;
using cccl_cache::Steps;
using cccl_cache::StepsOptions;
using cccl_cache::StepValue;
using cccl_cache::daemon::WaitUntil;
using namespace std::chrono_literals;

namespace {

/// A daemon that keeps deposits, grants a lease to each caller of another key, and counts.
struct Node {
  using Stream = StandInAnswers::Acquiring;

  std::mutex mutex;
  std::map<std::string, std::string> deposits;  ///< by the digest of a step
  std::atomic<int> asked{0};
  std::atomic<int> leases{0};
  std::atomic<int> failed{0};
  std::atomic<int> abandoned{0};
  std::atomic<int> removed{0};
  std::atomic<uint32_t> wait_ms{0};         ///< of the last caller
  std::atomic<int> released_at_limit{0};    ///< callers that wait for no lease of their user's
  std::atomic<bool> late{false};            ///< whether all waits end in vain
  std::atomic<bool> publishes_late{false};  ///< whether all publications end in vain
  std::atomic<bool> keeps_damaged{false};
  cccl_cache::daemon::TemporaryDirectory directory;
  StandInDaemon daemon{directory / "socket", Answers()};

  StandInAnswers Answers() {
    StandInAnswers answers;
    answers.acquire = [this](Stream* stream) {
      v1::AcquireRequest first;
      if (!stream->Read(&first)) return grpc::Status::OK;
      ++asked;
      wait_ms = first.key().wait_ms();
      if (first.key().released_at_limit()) ++released_at_limit;
      if (late) return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "not in time");
      const std::string key = first.key().fields(0).value();
      if (!first.key().replaces() && SendFound(key, stream)) return grpc::Status::OK;
      if (first.key().waits_only()) {
        v1::AcquireReply none;
        none.mutable_released()->set_key(key);
        stream->Write(none);
        return grpc::Status::OK;
      }
      ++leases;
      const bool in_time = Lend(key, stream);
      --leases;
      return in_time ? grpc::Status::OK
                     : grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "not in time");
    };
    answers.remove_deposit = [this](const v1::RemoveDepositRequest& request,
                                    v1::RemoveDepositReply* reply) {
      const std::lock_guard lock(mutex);
      ++removed;
      if (!keeps_damaged) deposits.erase(request.key());
      reply->set_removed(true);
      return grpc::Status::OK;
    };
    return answers;
  }

  bool SendFound(const std::string& key, Stream* stream) {
    const std::lock_guard lock(mutex);
    const auto found = deposits.find(key);
    if (found == deposits.end()) return false;
    v1::AcquireReply reply;
    reply.mutable_found()->set_size(found->second.size());
    reply.mutable_found()->set_key(key);
    stream->Write(reply);
    v1::AcquireReply contents;
    contents.set_contents(found->second);
    stream->Write(contents);
    return true;
  }

  /// Returns whether the end of the lease was answered.
  bool Lend(const std::string& key, Stream* stream) {
    v1::AcquireReply lease;
    lease.mutable_lease()->set_key(key);
    lease.mutable_lease()->set_heartbeat_ms(60'000);
    stream->Write(lease);
    std::string contents;
    v1::AcquireRequest request;
    while (stream->Read(&request)) {
      contents += request.contents();
      if (request.has_abandonment()) ++(request.abandonment().failed() ? failed : abandoned);
      if (request.has_abandonment()) return true;
      if (!request.has_publication()) continue;
      if (publishes_late) return false;
      const std::lock_guard lock(mutex);
      deposits[key] = contents;
      v1::AcquireReply published;
      published.mutable_published();
      stream->Write(published);
      return true;
    }
    return true;
  }

  Steps Opened(StepsOptions options = {}) {
    options.socket = daemon.socket();
    return Steps("org.example", options);
  }
};

const StepFields kFields = {{"name", "one"}};

std::string Forbidden() {
  FAIL("the value is there already");
  return "";
}

}  // namespace

TEST_CASE("the fields of a step are hashed as Python hashes them") {
  const StepFields fields = {{"whole", -255},
                             {"half", 0.5},
                             {"yes", true},
                             {"none", nullptr},
                             {"text", "a"},
                             {"tuple", StepField::Tuple({1, "b"})},
                             {"bytes", StepField::Bytes("b")}};
  Node node;
  node.Opened().Make(fields, [] { return "made"; });
  REQUIRE(node.deposits.size() == 1);
  CHECK(node.deposits.begin()->first ==
        "ac39a22098e8249e84188154dfecd91cc1af42a782b69168d5cbd20d528a7b61");
}

TEST_CASE("a number that a field can't hold exactly is no field") {
  enum Unscoped { kOne };
  STATIC_REQUIRE_FALSE(std::is_constructible_v<StepField, __int128>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<StepField, long double>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<StepField, Unscoped>);
  CHECK(StepField(std::numeric_limits<int64_t>::min()).bytes().substr(9) == "-8000000000000000");
  CHECK(StepField(std::numeric_limits<uint64_t>::max()).bytes().substr(9) == "ffffffffffffffff");
  CHECK(StepField(0.5F).bytes() == StepField(0.5).bytes());
}

TEST_CASE("a step is made once, and found by all later callers") {
  Node node;
  Steps steps = node.Opened();
  CHECK(steps.Make(kFields, [] { return std::string("made"); }).value() == "made");
  CHECK(steps.Make(kFields, Forbidden).value() == "made");
  CHECK(node.Opened().Make(kFields, Forbidden).value() == "made");
  const auto counts = steps.counts();
  CHECK((counts.made == 1 && counts.published == 1 && counts.hits == 1 && counts.errors == 0));
  CHECK((counts.made_bytes == 4 && counts.hit_bytes == 4));
}

TEST_CASE("an exception of a build passes through and releases all waiters") {
  Node node;
  Steps steps = node.Opened();
  const auto build = []() -> std::string { throw std::runtime_error("unmade"); };
  CHECK_THROWS_WITH(steps.Make(kFields, build), "unmade");
  CHECK(node.failed == 1);
  CHECK(steps.counts().failed == 1);
  CHECK(steps.Make(kFields, [] { return "made"; }).value() == "made");
}

TEST_CASE("a build without a value releases all waiters, and the step has no value") {
  Node node;
  Steps steps = node.Opened();
  const auto build = []() -> std::optional<std::string> { return std::nullopt; };
  CHECK_FALSE(steps.Make(kFields, build).has_value());
  CHECK(node.failed == 1);
  const auto made = [] { return std::optional<std::string>("made"); };
  CHECK(steps.Make(kFields, made).value() == "made");
}

TEST_CASE("a step that is destroyed without a value is left to the next process") {
  Node node;
  {
    Step step = node.Opened().Get(kFields);
    CHECK((!step.has_value() && step.value().empty() && step.held()));
    const Step moved = std::move(step);
    CHECK(moved.held());
  }
  CHECK(WaitUntil([&] { return node.leases == 0; }));
  CHECK((node.abandoned == 1 && node.failed == 0));
}

TEST_CASE("a step keeps its first value") {
  Node node;
  Step step = node.Opened().Get(kFields);
  step.Put("made");
  step.Put("other");
  step.Fail();
  CHECK((step.value() == "made" && !step.held() && node.failed == 0));
  CHECK(node.Opened().Get(kFields).value() == "made");
}

TEST_CASE("a step inside its own build is built at once, without the daemon") {
  Node node;
  Steps outer = node.Opened();
  Steps inner = node.Opened();
  const auto build = [&] {
    CHECK_FALSE(inner.Wait(kFields).has_value());
    return inner.Make(kFields, [] { return "made"; }).value();
  };
  CHECK(outer.Make(kFields, build).value() == "made");
  CHECK(node.asked == 1);
  CHECK((inner.counts().made == 1 && inner.counts().published == 0));
}

TEST_CASE("another step inside a build is made under a lease of its own") {
  Node node;
  Steps steps = node.Opened();
  const auto build = [&] { return steps.Make({{"name", "two"}}, [] { return "made"; }).value(); };
  CHECK(steps.Make(kFields, build).value() == "made");
  CHECK(steps.counts().published == 2);
  CHECK(node.released_at_limit ==
        1);  // the outer step may be one of those that the inner waits for
}

TEST_CASE("a child of a build makes the step once by itself, and then as any process") {
  Node node;
  Steps steps = node.Opened();
  const auto build = [&] {
    const pid_t child = fork();
    if (child == 0) {
      const auto own = [] { return "the child's"; };
      bool right = steps.Make(kFields, own).value() == "the child's";
      right = right && steps.counts().published == 0;
      steps.Make(kFields, own);
      _exit(right && steps.counts().published == 1 ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    return "made";
  };
  CHECK(steps.Make(kFields, build).value() == "made");
  CHECK(node.asked == 2);
}

TEST_CASE("threads wait for the first of them, without the daemon") {
  Node node;
  Steps steps = node.Opened();
  std::atomic<bool> leave{false};
  std::atomic<int> right{0};
  const auto build = [&] {
    while (!leave) std::this_thread::yield();
    return "made";
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (steps.Make(kFields, build).value() == "made") ++right;
    });
  }
  CHECK(WaitUntil([&] { return node.leases == 1; }));
  leave = true;
  for (auto& thread : threads) thread.join();
  CHECK(right == 4);
  CHECK((steps.counts().made == 1 && steps.counts().hits == 3));
}

TEST_CASE("a held step ends after its time, and its late value is deposited") {
  Node node;
  Steps steps = node.Opened({.hold = 1ms});
  Step step = steps.Get(kFields);
  CHECK(WaitUntil([&] { return node.failed == 1; }));
  CHECK(WaitUntil([&] { return !step.held(); }));
  step.Put("late");
  CHECK((steps.counts().expired == 1 && steps.counts().published == 1));
  CHECK(node.Opened().Make(kFields, Forbidden).value() == "late");
}

TEST_CASE("a late value does not replace another") {
  Node node;
  Steps steps = node.Opened({.hold = 1ms});
  Step late = steps.Get(kFields);
  CHECK(WaitUntil([&] { return node.failed == 1; }));
  node.Opened().Make(kFields, [] { return "made"; });
  late.Put("late");
  CHECK(node.Opened().Get(kFields).value() == "made");
}

TEST_CASE("a value is replaced, unless the replacement is late") {
  Node node;
  node.Opened().Make(kFields, [] { return "of no use"; });
  {
    Step late = node.Opened({.hold = 1ms}).Get(kFields, /*replace=*/true);
    CHECK((!late.has_value() && WaitUntil([&] { return node.failed == 1; })));
    late.Put("late");
  }
  CHECK(node.Opened().Get(kFields).value() == "of no use");
  node.Opened().Get(kFields, /*replace=*/true).Put("useful");
  CHECK(node.Opened().Get(kFields).value() == "useful");
}

TEST_CASE("a damaged deposit is removed, and made again") {
  Node node;
  node.Opened().Make(kFields, [] { return "made"; });
  node.deposits.begin()->second.back() = 'E';
  Steps steps = node.Opened();
  CHECK(steps.Make(kFields, [] { return "again"; }).value() == "again");
  CHECK((steps.counts().last_error == CCCL_CACHE_PROTOCOL && steps.counts().published == 1));
  node.deposits.begin()->second.resize(40);
  node.keeps_damaged = true;
  CHECK(steps.Make(kFields, [] { return "once more"; }).value() == "once more");
  CHECK((node.removed == 2 && steps.counts().published == 1));
}

TEST_CASE("a deposit of another step counts as damaged") {
  const std::string key = "the digest of a step";
  const StepValue value(key, 0x0102030405us, "made");
  CHECK(StepValue::FromDeposit("that of another", value.deposit()) == std::nullopt);
  const auto read = StepValue::FromDeposit(key, value.deposit());
  REQUIRE(read);
  CHECK((read->value() == "made" && read->took() == 0x0102030405us));
}

TEST_CASE("a step without a daemon is built each time, and nothing is thrown") {
  Steps steps("org.example", {.group = "no such group", .socket = "/nowhere/socket"});
  for (int i = 0; i < 2; ++i) CHECK(steps.Make(kFields, [] { return "made"; }).value() == "made");
  CHECK_FALSE(steps.Wait(kFields).has_value());
  CHECK((steps.counts().errors == 3 && steps.counts().published == 0));
  CHECK(steps.counts().last_error == CCCL_CACHE_INVALID_REQUEST);
  Steps other("org.example", {.socket = "/nowhere/socket"});
  CHECK(other.Make(kFields, [] { return "made"; }).value() == "made");
  CHECK(other.counts().last_error == CCCL_CACHE_NO_DAEMON);
}

TEST_CASE("after a wait in vain, waits are short until the daemon answers") {
  Node node;
  Steps steps = node.Opened({.wait = 10s});
  node.late = true;
  for (int i = 0; i < 2; ++i) CHECK(steps.Make(kFields, [] { return "made"; }).value() == "made");
  CHECK((node.wait_ms <= 1000 && steps.counts().last_error == CCCL_CACHE_DEADLINE));
  node.late = false;
  steps.Make(kFields, [] { return "made"; });
  CHECK((node.wait_ms <= 1000 && steps.counts().published == 1));
  steps.Make(kFields, Forbidden);
  CHECK(node.wait_ms > 1000);
}

TEST_CASE("after a publication in vain, the next wait is short") {
  Node node;
  Steps steps = node.Opened({.wait = 10s});
  node.publishes_late = true;
  CHECK(steps.Make(kFields, [] { return "made"; }).value() == "made");
  CHECK((node.wait_ms > 1000 && steps.counts().last_error == CCCL_CACHE_DEADLINE));
  steps.Make(kFields, [] { return "made"; });
  CHECK(node.wait_ms <= 1000);
}

TEST_CASE("a hit saves the time of its build, less the wait for it") {
  Node node;
  node.Opened().Make(kFields, [] { return "made"; });
  auto& [digest, deposit] = *node.deposits.begin();
  for (const auto took : {std::chrono::microseconds(1h), std::chrono::microseconds(-1)}) {
    deposit = StepValue(digest, took, "made").deposit();
    Steps steps = node.Opened();
    steps.Make(kFields, Forbidden);
    const auto counts = steps.counts();
    CHECK(counts.hits == 1);
    CHECK(counts.saved_us == (took > 0us ? uint64_t{3'600'000'000} - counts.waited_us : 0));
  }
}

TEST_CASE("a caller that only waits makes nothing") {
  Node node;
  Steps steps = node.Opened();
  CHECK_FALSE(steps.Wait(kFields).has_value());
  CHECK((node.abandoned == 0 && steps.counts().released == 0));
  steps.Make(kFields, [] { return "made"; });
  CHECK(steps.Wait(kFields).value() == "made");
}

}  // namespace steps_test
