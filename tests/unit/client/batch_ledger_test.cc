// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/batch_ledger.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <utility>

#include "cccl_cache/build.h"
#include "tests/unit/client/canned_replies.h"

namespace batch_ledger_test {

using cccl_cache::BuildLedger;
using cccl_cache::BuildReply;
using cccl_cache::BuildSteps;
using cccl_cache::DaemonStub;
using cccl_cache::Deadline;
using cccl_cache::Message;
using cccl_cache::RequestMessage;
using cccl_cache::ResultCache;
using namespace std::chrono_literals;

namespace {

BuildReply ClosedAnswer() {
  v1::BuildReply reply = HitWithCubin("cubin");
  reply.set_closed(true);
  const std::string bytes = reply.SerializeAsString();
  Message message = Message::WithRoomFor(bytes.size());
  std::memcpy(message.bytes.get(), bytes.data(), bytes.size());
  return *BuildReply::Decode(std::move(message));
}

}  // namespace

TEST_CASE("the age of an unread answer counts from its request") {
  ResultCache memory(1 << 20);
  BuildLedger builds(&memory);
  DaemonStub daemon(std::string("/nowhere"));
  const cccl_cache_nvrtc program = {sizeof(program)};
  const cccl_cache_build_options options = {sizeof(options)};
  RequestMessage named;
  REQUIRE(named.SetProgram(program).ok());
  REQUIRE(named.SetNamedOptions(options).ok());
  const auto now = BuildLedger::Clock::now();
  const auto answer_after = [&](std::chrono::seconds passed) {
    const auto request = std::make_shared<RequestMessage>();
    builds.Finish(builds.Add({.tag = 1,
                              .request = request,
                              .steps = BuildSteps(&daemon, request.get()),
                              .name = memory.NameOf(named),
                              .deadline = Deadline::After(1min),
                              .patience = Deadline::After(1min),
                              .start = now - passed}),
                  ClosedAnswer());
  };
  answer_after(10s);
  CHECK(memory.Find(named, now) == nullptr);
  answer_after(9s);
  CHECK(memory.Find(named, now) != nullptr);
  CHECK(memory.Find(named, now + 1s) == nullptr);
}

}  // namespace batch_ledger_test
