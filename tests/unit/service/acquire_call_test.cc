// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/acquire_call.h"

#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cccl_cache/v1/deposit.grpc.pb.h"
#include "tests/unit/core/stall.h"
#include "tests/unit/service/raw_call.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::acquire_call_test {
namespace {

namespace v1 = cccl_cache::v1;
using Stream = grpc::ClientReaderWriter<v1::AcquireRequest, v1::AcquireReply>;

/// One call of Acquire; its key is sent.
struct Talk {
  explicit Talk(const RunningServer& running, const std::string& name = "a", uint32_t wait_ms = 0,
                bool accepts_release = false)
      : Talk(running.Connect(), name, wait_ms, accepts_release) {}
  explicit Talk(const std::shared_ptr<grpc::Channel>& channel, const std::string& name = "a",
                uint32_t wait_ms = 0, bool accepts_release = false, bool released_at_limit = false)
      : stub(v1::Deposit::NewStub(channel)), stream(stub->Acquire(&context)) {
    v1::AcquireRequest first;
    first.mutable_key()->set_namespace_("n");
    auto& field = *first.mutable_key()->add_fields();
    field.set_name("name");
    field.set_value(name);
    first.mutable_key()->set_wait_ms(wait_ms);
    first.mutable_key()->set_accepts_release(accepts_release);
    first.mutable_key()->set_released_at_limit(released_at_limit);
    stream->Write(first);
  }
  ~Talk() { context.TryCancel(); }

  bool GetsLease() { return stream->Read(&reply) && reply.has_lease(); }
  void Send(const std::string& contents) {
    v1::AcquireRequest message;
    message.set_contents(contents);
    stream->Write(message);
  }
  void SendPublication(uint64_t fence, uint64_t size) {
    v1::AcquireRequest message;
    message.mutable_publication()->set_fence(fence);
    message.mutable_publication()->set_size(size);
    stream->Write(message);
  }
  /// The last message read must be the lease.
  void Publish(const std::string& contents) {
    const uint64_t fence = reply.lease().fence();
    for (size_t at = 0; at < contents.size(); at += 1 << 20) Send(contents.substr(at, 1 << 20));
    SendPublication(fence, contents.size());
    REQUIRE(stream->Read(&reply));
    CHECK(reply.has_published());
    CHECK_FALSE(stream->Read(&reply));
    CHECK(stream->Finish().ok());
  }
  /// Returns "none" if the call ended without a deposit.
  std::string Found() {
    if (!stream->Read(&reply) || !reply.has_found()) return "none";
    const uint64_t size = reply.found().size();
    std::string contents;
    while (stream->Read(&reply)) contents += reply.contents();
    return contents.size() == size ? contents : "none";
  }
  /// Reads to the end, and returns the trailer cccl-error.
  std::string Error() {
    while (stream->Read(&reply)) {
    }
    status = stream->Finish();
    return Trailer(context, "cccl-error");
  }

  std::unique_ptr<v1::Deposit::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<Stream> stream;
  v1::AcquireReply reply;
  grpc::Status status;
};

bool WaitForWaiters(RunningServer& running, size_t count) {
  return Eventually([&] { return running.deposits.gauges().leases.waiting == count; });
}

TEST_CASE("a stalled disk delays no other call of the same connection") {
  testing::Stall stall;
  RunningServer running;
  {
    Talk holder(running);
    REQUIRE(holder.GetsLease());
    holder.Publish("bytes");
  }
  running.store.during_get = [&] { stall.Enter(); };
  const auto channel = running.Connect();
  Talk reads(channel);
  REQUIRE(stall.WaitUntilEntered(1));
  const auto other = v1::Build::NewStub(channel);
  CHECK(BuildOver(*other) == "cubin");
  stall.End();
  CHECK(reads.GetsLease());  // because the fake finds nothing
}

TEST_CASE("an empty deposit is valid") {
  RunningServer running;
  Talk holder(running);
  REQUIRE(holder.GetsLease());
  holder.Publish("");
  CHECK(Talk(running).Found().empty());
}

TEST_CASE("a holder that half-closes its call hands the lease on") {
  RunningServer running;
  Talk holder(running);
  REQUIRE(holder.GetsLease());
  CHECK(holder.reply.lease().heartbeat_ms() == 5000);
  CHECK(holder.reply.lease().key().size() == 64);
  Talk next(running);
  REQUIRE(WaitForWaiters(running, 1));
  holder.stream->WritesDone();
  CHECK(holder.Error() == "cancelled");
  CHECK(next.GetsLease());
}

TEST_CASE("an invalid message of a lease holder ends its call with the reason") {
  RunningServer running;
  Talk holder(running);
  REQUIRE(holder.GetsLease());
  std::string says;
  SECTION("a second key") {
    v1::AcquireRequest message;
    message.mutable_key()->set_namespace_("n");
    holder.stream->Write(message);
    says = "one key";
  }
  SECTION("an empty message") {
    holder.stream->Write({});
    says = "exactly one";
  }
  SECTION("a publication of another size than was sent") {
    holder.Send("x");
    holder.SendPublication(holder.reply.lease().fence(), 2);
    says = "1 were sent";
  }
  CHECK(holder.Error() == "invalid-request");
  CHECK(holder.status.error_message().find(says) != std::string::npos);
  CHECK(Talk(running).GetsLease());
}

TEST_CASE("a deposit has the size limit of a request") {
  ServiceLimits limits;
  limits.source_bytes = 1000;
  RunningServer running(limits);
  Talk holder(running);
  REQUIRE(holder.GetsLease());
  holder.Send(std::string(600, 'x'));
  holder.Send(std::string(600, 'x'));
  CHECK(holder.Error() == "invalid-request");
}

TEST_CASE("the waiters of a deposit that is too large are released at once") {
  ServiceLimits limits;
  limits.source_bytes = 30'000;
  RunningServer running(limits, {.limits = {.bytes_per_uid = 20'000}});
  Talk holder(running);
  REQUIRE(holder.GetsLease());
  const uint64_t fence = holder.reply.lease().fence();
  Talk waits(running, "a", 0, true);
  Talk waits_too(running, "a", 0, true);
  REQUIRE(WaitForWaiters(running, 2));
  std::string error;
  SECTION("for a request") {
    holder.Send(std::string(30'001, 'x'));
    error = "invalid-request";
  }
  SECTION("for its user's quota") {
    holder.Send(std::string(20'001, 'x'));
    holder.SendPublication(fence, 20'001);
    error = "overloaded";
  }
  for (Talk* waiter : {&waits, &waits_too}) {
    REQUIRE(waiter->stream->Read(&waiter->reply));
    CHECK(waiter->reply.has_released());
  }
  CHECK(holder.Error() == error);
  CHECK(Talk(running, "a", 0, true)
            .GetsLease());  // it may fit after an edit, or a change of the limit
}

TEST_CASE("the waiters of a deposit that its user's memory can't hold are released at once") {
  ServiceLimits limits;
  limits.bytes_in_flight_per_uid = 10'000;
  RunningServer running(limits);
  Talk holder(running);
  REQUIRE(holder.GetsLease());
  Talk waits(running, "a", 0, true);
  REQUIRE(WaitForWaiters(running, 1));
  holder.Send(std::string(10'001, 'x'));
  REQUIRE(waits.stream->Read(&waits.reply));
  CHECK(waits.reply.has_released());
  CHECK(holder.Error() == "overloaded");
  CHECK(Talk(running, "a", 0, true).GetsLease());  // it may fit now
}

std::vector<std::unique_ptr<Talk>> AllLeases(RunningServer& running) {
  std::vector<std::unique_ptr<Talk>> holders;
  for (int i = 0; i < 64; ++i) {
    holders.push_back(std::make_unique<Talk>(running, std::to_string(i)));
    REQUIRE(holders.back()->GetsLease());
  }
  return holders;
}

TEST_CASE("a user with the maximum number of leases waits for a free one") {
  RunningServer running;
  auto holders = AllLeases(running);
  Talk hurried(running, "another", 1);
  CHECK(hurried.Error() == "timed-out");
  CHECK(hurried.status.error_message().find("as many leases") != std::string::npos);
  Talk waits(running, "one more");
  REQUIRE(WaitForWaiters(running, 1));
  Talk next(running, "one more");
  REQUIRE(WaitForWaiters(running, 2));
  holders.front()->Publish("x");
  REQUIRE(waits.GetsLease());
  waits.Publish("y");
  CHECK(next.Found() == "y");
  Talk replaces(running, "replaces the published one");
  REQUIRE(replaces.GetsLease());
  Talk last(running, "replaces one that has left");
  REQUIRE(WaitForWaiters(running, 1));
  holders.pop_back();
  CHECK(last.GetsLease());
}

TEST_CASE("a caller that leaves while it waits for a free lease takes none") {
  RunningServer running;
  const auto holders = AllLeases(running);
  auto leaves = std::make_unique<Talk>(running, "one more");
  Talk stays(running, "one more");
  REQUIRE(WaitForWaiters(running, 2));
  leaves.reset();
  REQUIRE(WaitForWaiters(running, 1));
  holders.front()->Publish("x");
  CHECK(stays.GetsLease());
}

TEST_CASE("a touch makes a deposit the most recently used") {
  Deposits::Options options;
  options.limits.bytes_per_uid = 2 * DepositIndex::kLeastCharge;
  RunningServer running({}, options);
  const auto deposit = [&](const std::string& name) {
    Talk holder(running, name);
    REQUIRE(holder.GetsLease());
    holder.Publish(name);
  };
  deposit("touched");
  deposit("not touched");
  v1::TouchDepositsRequest request;
  for (const char* name : {"touched", "never deposited"}) {
    auto& key = *request.add_keys();
    key.set_namespace_("n");
    key.add_fields()->set_name("name");
    key.mutable_fields(0)->set_value(name);
  }
  auto stub = v1::Deposit::NewStub(running.Connect());
  grpc::ClientContext context;
  v1::TouchDepositsReply reply;
  REQUIRE(stub->Touch(&context, request, &reply).ok());
  deposit("third");
  CHECK(Talk(running, "touched").Found() == "touched");
  CHECK(Talk(running, "not touched").GetsLease());
}

TEST_CASE("a touch of a forbidden key is refused like an acquire") {
  RunningServer running;
  auto stub = v1::Deposit::NewStub(running.Connect());
  v1::TouchDepositsRequest request;
  v1::TouchDepositsReply reply;
  auto& key = *request.add_keys();
  {
    grpc::ClientContext context;
    CHECK(stub->Touch(&context, request, &reply).error_message().find("namespace") == 0);
  }
  key.set_namespace_("n");
  key.mutable_group()->set_gid(4'000'000);
  grpc::ClientContext context;
  CHECK(stub->Touch(&context, request, &reply).error_code() == grpc::StatusCode::PERMISSION_DENIED);
}

TEST_CASE("an invalid first message is refused with the name of the wrong field") {
  const auto refused = [](const v1::AcquireRequest& request) {
    RunningServer running;
    const RawAnswer answer =
        CallRaw(running, "/cccl_cache.v1.Deposit/Acquire", request.SerializeAsString());
    CHECK(answer.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    return answer.status.error_message();
  };
  v1::AcquireRequest request;
  CHECK(refused(request).find("exactly one") != std::string::npos);
  request.mutable_key();
  CHECK(refused(request).find("namespace") == 0);
  v1::AcquireRequest heartbeat;
  heartbeat.mutable_heartbeat();
  CHECK(refused(heartbeat).find("must hold the key") != std::string::npos);
}

TEST_CASE("a user's deposits are listed in pages, and removed") {
  RunningServer running;
  for (int i = 0; i < 3; ++i) {
    Talk holder(running, std::to_string(i));
    REQUIRE(holder.GetsLease());
    holder.Publish("contents");
  }
  auto stub = v1::Deposit::NewStub(running.Connect());
  v1::ListDepositsReply list;
  {
    grpc::ClientContext context;
    REQUIRE(stub->List(&context, {}, &list).ok());
  }
  REQUIRE(list.deposits_size() == 3);
  CHECK_FALSE(list.more());
  CHECK(list.deposits(0).key() < list.deposits(1).key());
  CHECK(list.deposits(0).namespace_() == "n");
  CHECK(list.deposits(0).size() == 8);
  CHECK(list.deposits(0).made_at() > 1'700'000'000);
  CHECK_FALSE(list.deposits(0).has_group());
  {
    grpc::ClientContext context;
    v1::ListDepositsRequest request;
    request.set_after(list.deposits(1).key());
    v1::ListDepositsReply rest;
    REQUIRE(stub->List(&context, request, &rest).ok());
    REQUIRE(rest.deposits_size() == 1);
    CHECK(rest.deposits(0).key() == list.deposits(2).key());
  }
  for (const bool there : {true, false}) {
    grpc::ClientContext context;
    v1::RemoveDepositRequest request;
    request.set_key(list.deposits(0).key());
    v1::RemoveDepositReply reply;
    REQUIRE(stub->Remove(&context, request, &reply).ok());
    CHECK(reply.removed() == there);
  }
  grpc::ClientContext context;
  v1::RemoveDepositRequest request;
  request.set_key("no key");
  v1::RemoveDepositReply reply;
  CHECK(stub->Remove(&context, request, &reply).error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("a caller that does not wait at the limit of leases is released, and the key is free") {
  const RunningServer running;
  const auto channel = running.Connect();
  std::vector<std::unique_ptr<Talk>> holders;
  for (uint64_t i = 0; i < kLeasesPerUid; ++i) {
    holders.push_back(std::make_unique<Talk>(channel, std::to_string(i)));
    REQUIRE(holders.back()->GetsLease());
  }
  for (int i = 0; i < 2; ++i) {
    Talk more(channel, "more", 0, true, true);
    REQUIRE(more.stream->Read(&more.reply));
    CHECK(more.reply.has_released());
    CHECK_FALSE(more.stream->Read(&more.reply));
    CHECK(more.stream->Finish().ok());
  }
  holders.pop_back();
  CHECK(Eventually([&] {
    Talk more(channel, "more", 0, true, true);
    return more.GetsLease();
  }));
}

using Kind = cccl_cache::DepositScope::Kind;

const Peer kPeer = {.uid = 1000, .gid = 100, .groups = {27, 65534, 70000}};

DepositAsk AskFor(std::optional<uint32_t> gid = std::nullopt) {
  DepositAsk ask;
  ask.name_space = "org.example";
  ask.fields = {{"name", "value"}};
  ask.gid = gid;
  ask.wait = std::chrono::milliseconds(9);
  return ask;
}

TEST_CASE("a caller that names no group gets only its private deposits") {
  const auto claim = ClaimOf(AskFor(), kPeer);
  REQUIRE(claim.ok());
  CHECK(claim->uid == 1000);
  CHECK(claim->scope.kind == Kind::kUser);
  CHECK(claim->scope.id == 1000);
  CHECK(claim->name_space == "org.example");
  CHECK(claim->wait == std::chrono::milliseconds(9));
}

TEST_CASE("a caller may name its primary group and its supplementary groups") {
  for (const gid_t gid : {100u, 27u, 70000u}) {
    const auto claim = ClaimOf(AskFor(gid), kPeer);
    REQUIRE(claim.ok());
    CHECK(claim->scope.kind == Kind::kGroup);
    CHECK(claim->scope.id == gid);
  }
}

TEST_CASE("a group of others is denied, and so is the overflow group") {
  for (const gid_t gid : {0u, 28u, 65534u}) {
    const auto claim = ClaimOf(AskFor(gid), kPeer);
    REQUIRE_FALSE(claim.ok());
    CHECK(claim.error().code == ErrorCode::kDenied);
    CHECK(claim.error().message ==
          "user 1000 was not in group " + std::to_string(gid) + " when it connected");
  }
}

TEST_CASE("the key of a deposit depends on user, group, namespace and fields") {
  const auto key = [](const DepositAsk& ask, const Peer& peer) { return ClaimOf(ask, peer)->key; };
  const auto mine = key(AskFor(), kPeer);
  CHECK(key(AskFor(), kPeer) == mine);
  CHECK(key(AskFor(), {.uid = 1001, .gid = 100}) != mine);
  CHECK(key(AskFor(100), kPeer) != mine);
  // A user whose uid equals the gid.
  CHECK(key(AskFor(100), kPeer) != key(AskFor(), {.uid = 100, .gid = 100}));
  CHECK(key(AskFor(100), kPeer) == key(AskFor(100), {.uid = 1001, .gid = 100}));
  DepositAsk other = AskFor();
  other.name_space = "org.example2";
  CHECK(key(other, kPeer) != mine);
  other = AskFor();
  other.fields[0].value = "other";
  CHECK(key(other, kPeer) != mine);
}

}  // namespace
}  // namespace cccl_cache::daemon::acquire_call_test
