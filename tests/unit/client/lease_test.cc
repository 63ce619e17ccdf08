// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "cccl_cache/client.h"
#include "proto/lease_limit.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace lease_test {

using cccl_cache::Acquired;
using cccl_cache::Client;
using cccl_cache::Deposit;
using cccl_cache::DepositKey;
using cccl_cache::Lease;

namespace {

/// A daemon that runs the test's script for each acquire, and records lists, removals and touches.
struct Scene {
  using Stream = StandInAnswers::Acquiring;

  /// Runs after the first message of a caller, with the key in that message.
  std::function<grpc::Status(const v1::DepositKey&, Stream*)> acquire;
  std::vector<v1::ListDepositsReply> pages;
  std::vector<std::string> asked_after;
  std::string removed;
  std::vector<v1::TouchDepositsRequest> touched;
  cccl_cache::daemon::TemporaryDirectory directory;
  StandInDaemon daemon{directory / "socket", Answers()};
  cccl_cache::Expected<Client> client = Client::Open(daemon.socket());

  StandInAnswers Answers() {
    StandInAnswers answers;
    answers.acquire = [this](Stream* stream) {
      v1::AcquireRequest first;
      if (!stream->Read(&first)) return grpc::Status::OK;
      return acquire(first.key(), stream);
    };
    answers.list_deposits = [this](const v1::ListDepositsRequest& request,
                                   v1::ListDepositsReply* reply) {
      asked_after.push_back(request.after());
      *reply = pages.at(std::min(asked_after.size(), pages.size()) - 1);
      return grpc::Status::OK;
    };
    answers.remove_deposit = [this](const v1::RemoveDepositRequest& request,
                                    v1::RemoveDepositReply* reply) {
      removed = request.key();
      reply->set_removed(request.key() == "aa");
      return grpc::Status::OK;
    };
    answers.touch_deposits = [this](const v1::TouchDepositsRequest& request) {
      touched.push_back(request);
      return grpc::Status::OK;
    };
    return answers;
  }
};

const DepositKey kKey = {.name_space = "org.example", .fields = {{"field", "value"}}};

void Grant(Scene::Stream* stream, uint32_t heartbeat_ms = 60'000) {
  v1::AcquireReply reply;
  reply.mutable_lease()->set_fence(7);
  reply.mutable_lease()->set_key("abcd");
  reply.mutable_lease()->set_heartbeat_ms(heartbeat_ms);
  stream->Write(reply);
}

/// Returns the lease that the scene grants.
Lease Leased(Scene& scene) {
  auto acquired = scene.client->Acquire(kKey);
  REQUIRE(acquired.ok());
  REQUIRE(std::holds_alternative<Lease>(*acquired));
  return std::get<Lease>(*std::move(acquired));
}

v1::DepositDescription Described(const std::string& key) {
  v1::DepositDescription description;
  description.set_key(key);
  description.set_namespace_("org.example");
  description.set_size(5);
  return description;
}

}  // namespace

TEST_CASE("a deposit that exists is returned with its contents and its key") {
  Scene scene;
  scene.acquire = [](const v1::DepositKey& key, Scene::Stream* stream) {
    CHECK(key.namespace_() == "org.example");
    CHECK(key.fields(0).name() == "field");
    CHECK(key.fields(0).value() == "value");
    CHECK_FALSE(key.has_group());
    v1::AcquireReply reply;
    reply.mutable_found()->set_size(6);
    reply.mutable_found()->set_key("abcd");
    stream->Write(reply);
    for (const char* piece : {"con", "tents"}) {
      v1::AcquireReply contents;
      contents.set_contents(std::string(piece).substr(0, 3));
      stream->Write(contents);
    }
    return grpc::Status::OK;
  };
  const auto acquired = scene.client->Acquire(kKey);
  REQUIRE(acquired.ok());
  REQUIRE(std::holds_alternative<Deposit>(*acquired));
  CHECK(std::get<Deposit>(*acquired).contents() == "conten");
  CHECK(std::get<Deposit>(*acquired).key() == "abcd");
}

TEST_CASE("a publication sends the lease's fence and all contents, and ends the lease") {
  Scene scene;
  std::string contents;
  uint64_t fence = 0;
  scene.acquire = [&](const v1::DepositKey&, Scene::Stream* stream) {
    Grant(stream);
    v1::AcquireRequest request;
    while (stream->Read(&request) && !request.has_publication()) contents += request.contents();
    fence = request.publication().fence();
    CHECK(request.publication().size() == contents.size());
    v1::AcquireReply reply;
    reply.mutable_published();
    stream->Write(reply);
    return grpc::Status::OK;
  };
  Lease lease = Leased(scene);
  CHECK(lease.held());
  CHECK(lease.key() == "abcd");
  CHECK(lease.fence() == 7);
  const std::string made(3'000'000, 'm');
  CHECK(lease.Publish(made).ok());
  CHECK_FALSE(lease.held());
  CHECK(contents == made);
  CHECK(fence == 7);
  CHECK(lease.Publish(made).error().status == CCCL_CACHE_LEASE_LOST);
}

TEST_CASE("waits and publications accept a timeout of fifty days") {
  constexpr std::chrono::milliseconds kLong{(int64_t{1} << 32) + 1};  // cut to 32 bits: 1 ms
  Scene scene;
  std::atomic<uint32_t> wait_ms{0};
  scene.acquire = [&](const v1::DepositKey& key, Scene::Stream* stream) {
    wait_ms = key.wait_ms();
    Grant(stream);
    v1::AcquireRequest request;
    while (stream->Read(&request) && !request.has_publication()) {
    }
    v1::AcquireReply reply;
    reply.mutable_published();
    stream->Write(reply);
    return grpc::Status::OK;
  };
  auto acquired = scene.client->Acquire(kKey, kLong);
  REQUIRE(acquired.ok());
  CHECK(wait_ms == UINT32_MAX - 1);
  CHECK(std::get<Lease>(*acquired).Publish(std::string(30'000'000, 'm'), kLong).ok());
}

TEST_CASE("a caller without a timeout waits for as long as another may hold the lease") {
  Scene scene;
  std::atomic<uint32_t> wait_ms{0};
  scene.acquire = [&](const v1::DepositKey& key, Scene::Stream* stream) {
    wait_ms = key.wait_ms();
    v1::AcquireReply reply;
    reply.mutable_released()->set_key("abcd");
    stream->Write(reply);
    return grpc::Status::OK;
  };
  static_cast<void>(Leased(scene));
  CHECK(std::chrono::milliseconds(wait_ms) == cccl_cache::kLeaseLimit);
}

TEST_CASE("a destroyed lease is abandoned by a message") {
  Scene scene;
  std::atomic<bool> abandoned{false};
  scene.acquire = [&](const v1::DepositKey&, Scene::Stream* stream) {
    Grant(stream);
    v1::AcquireRequest request;
    while (stream->Read(&request)) abandoned = abandoned || request.has_abandonment();
    return grpc::Status::OK;
  };
  { const Lease lease = Leased(scene); }
  scene.daemon.Stop(std::chrono::seconds(20));
  CHECK(abandoned);
}

TEST_CASE("a holder's failure is sent, and ends the lease") {
  Scene scene;
  std::atomic<bool> failed{false};
  scene.acquire = [&](const v1::DepositKey& key, Scene::Stream* stream) {
    CHECK(key.accepts_release());
    Grant(stream);
    v1::AcquireRequest request;
    while (stream->Read(&request) && !request.has_abandonment()) {
    }
    failed = request.abandonment().failed();
    return grpc::Status::OK;
  };
  Lease lease = Leased(scene);
  CHECK_FALSE(lease.released());
  lease.Fail();
  CHECK(failed);
  CHECK_FALSE(lease.held());
  CHECK(lease.Publish("made").error().status == CCCL_CACHE_LEASE_LOST);
}

TEST_CASE("a key says that the client does not wait at the limit of leases") {
  Scene scene;
  for (const bool wish : {false, true}) {
    scene.acquire = [wish](const v1::DepositKey& key, Scene::Stream* stream) {
      CHECK(key.released_at_limit() == wish);
      v1::AcquireReply reply;
      reply.mutable_released()->set_key("abcd");
      stream->Write(reply);
      return grpc::Status::OK;
    };
    DepositKey key = kKey;
    key.released_at_limit = wish;
    const auto acquired = scene.client->Acquire(key);
    REQUIRE(acquired.ok());
    CHECK(std::get<Lease>(*acquired).released());
  }
}

TEST_CASE("a key says that the client replaces the deposit") {
  Scene scene;
  for (const bool wish : {false, true}) {
    scene.acquire = [wish](const v1::DepositKey& key, Scene::Stream* stream) {
      CHECK(key.replaces() == wish);
      v1::AcquireReply reply;
      reply.mutable_released()->set_key("abcd");
      stream->Write(reply);
      return grpc::Status::OK;
    };
    DepositKey key = kKey;
    key.replaces = wish;
    CHECK(scene.client->Acquire(key).ok());
  }
}

TEST_CASE("a key says that the client only waits, and a lease of an older daemon is abandoned") {
  Scene scene;
  std::atomic<bool> abandoned{false};
  scene.acquire = [&](const v1::DepositKey& key, Scene::Stream* stream) {
    CHECK(key.waits_only());
    Grant(stream);
    v1::AcquireRequest request;
    while (stream->Read(&request)) abandoned = abandoned || request.has_abandonment();
    return grpc::Status::OK;
  };
  DepositKey key = kKey;
  key.waits_only = true;
  const auto acquired = scene.client->Acquire(key);
  REQUIRE(acquired.ok());
  CHECK(std::get<Lease>(*acquired).released());
  CHECK_FALSE(std::get<Lease>(*acquired).held());
  scene.daemon.Stop(std::chrono::seconds(20));
  CHECK(abandoned);
}

TEST_CASE("a waiter released by the holder's failure gets a lease that is not held") {
  Scene scene;
  scene.acquire = [](const v1::DepositKey&, Scene::Stream* stream) {
    v1::AcquireReply reply;
    reply.mutable_released()->set_key("abcd");
    stream->Write(reply);
    return grpc::Status::OK;
  };
  Lease lease = Leased(scene);
  CHECK(lease.released());
  CHECK_FALSE(lease.held());
  CHECK(lease.key() == "abcd");
  CHECK(lease.fence() == 0);
  CHECK(lease.Publish("made").error().status == CCCL_CACHE_LEASE_LOST);
  lease.Abandon();
  lease.Fail();
}

TEST_CASE("touches are sent in as few messages as the daemon's limit allows") {
  Scene scene;
  const std::string value(1000, 'v');
  const std::vector<DepositKey> keys(7, {.name_space = "org.example", .fields = {{"f", value}}});
  CHECK(scene.client->TouchDeposits({}).ok());
  CHECK(scene.touched.empty());
  REQUIRE(scene.client->TouchDeposits(keys).ok());
  REQUIRE(scene.touched.size() == 3);
  int count = 0;
  for (const auto& request : scene.touched) {
    CHECK(request.ByteSizeLong() <= 4096);
    count += request.keys_size();
    CHECK(request.keys(0).namespace_() == "org.example");
    CHECK(request.keys(0).fields(0).value() == value);
  }
  CHECK(count == 7);
}

TEST_CASE("heartbeats are as frequent as the daemon requires") {
  Scene scene;
  std::atomic<int> heartbeats{0};
  scene.acquire = [&](const v1::DepositKey&, Scene::Stream* stream) {
    Grant(stream, 5);
    v1::AcquireRequest request;
    while (heartbeats < 3 && stream->Read(&request)) {
      if (request.has_heartbeat()) ++heartbeats;
    }
    v1::AcquireReply reply;
    return grpc::Status(grpc::StatusCode::ABORTED, "the lease goes to the next one");
  };
  Lease lease = Leased(scene);
  while (lease.held()) std::this_thread::yield();
  CHECK(heartbeats == 3);
  const auto published = lease.Publish("too late");
  REQUIRE_FALSE(published.ok());
  CHECK(published.error().message.find("the lease goes to the next one") != std::string::npos);
}

TEST_CASE("a publication without a reply is an error") {
  Scene scene;
  scene.acquire = [](const v1::DepositKey&, Scene::Stream* stream) {
    Grant(stream);
    v1::AcquireRequest request;
    while (stream->Read(&request) && !request.has_publication()) {
    }
    return grpc::Status::OK;
  };
  Lease lease = Leased(scene);
  const auto published = lease.Publish("made");
  REQUIRE_FALSE(published.ok());
  CHECK(published.error().status == CCCL_CACHE_PROTOCOL);
  CHECK(published.error().message.ends_with("did not answer a publication as agreed"));
}

TEST_CASE("the end of the daemon ends its leases") {
  Scene scene;
  std::atomic<bool> over{false};
  scene.acquire = [&](const v1::DepositKey&, Scene::Stream* stream) {
    Grant(stream);
    v1::AcquireRequest request;
    while (stream->Read(&request)) {
    }
    over = true;
    return grpc::Status::OK;
  };
  Lease lease = Leased(scene);
  scene.daemon.Stop();
  while (lease.held()) std::this_thread::yield();
  CHECK_FALSE(lease.Publish("made").ok());
}

TEST_CASE("an invalid request is refused before it is sent; the daemon's error is returned") {
  Scene scene;
  scene.acquire = [](const v1::DepositKey&, Scene::Stream*) {
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "not you");
  };
  const auto denied = scene.client->Acquire(kKey);
  REQUIRE_FALSE(denied.ok());
  CHECK(denied.error().status == CCCL_CACHE_DENIED);
  DepositKey nul = kKey;
  nul.name_space = std::string("a\0b", 3);
  const auto refused = scene.client->Acquire(nul);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message == "a namespace or a field's name holds a NUL: only values may");
  DepositKey group = kKey;
  group.group = "no such group";
  CHECK(scene.client->Acquire(group).error().status == CCCL_CACHE_INVALID_REQUEST);
}

TEST_CASE("deposits are listed page by page") {
  Scene scene;
  v1::ListDepositsReply first;
  *first.add_deposits() = Described("aa");
  first.set_more(true);
  v1::ListDepositsReply last;
  *last.add_deposits() = Described("bb");
  last.mutable_deposits(0)->mutable_group()->set_gid(27);
  scene.pages = {first, last};
  const auto deposits = scene.client->ListDeposits();
  REQUIRE(deposits.ok());
  CHECK(scene.asked_after == std::vector<std::string>{"", "aa"});
  REQUIRE(deposits->size() == 2);
  CHECK(cccl_cache::View((*deposits)[0].key) == "aa");
  CHECK((*deposits)[0].is_group == 0);
  CHECK((*deposits)[0].size == 5);
  CHECK((*deposits)[1].is_group == 1);
  CHECK((*deposits)[1].gid == 27);
}

TEST_CASE("a list is an error if the daemon repeats a page or promises more after none") {
  Scene scene;
  v1::ListDepositsReply page;
  *page.add_deposits() = Described("aa");
  page.set_more(true);
  scene.pages = {page};
  CHECK(scene.client->ListDeposits().error().status == CCCL_CACHE_PROTOCOL);
  v1::ListDepositsReply empty;
  empty.set_more(true);
  scene.pages = {empty};
  scene.asked_after.clear();
  CHECK(scene.client->ListDeposits().error().status == CCCL_CACHE_PROTOCOL);
  CHECK(scene.asked_after.size() == 1);
}

TEST_CASE("a removal returns whether there was a deposit") {
  Scene scene;
  CHECK(*scene.client->RemoveDeposit("aa"));
  CHECK(scene.removed == "aa");
  CHECK_FALSE(*scene.client->RemoveDeposit("bb"));
}

}  // namespace lease_test
