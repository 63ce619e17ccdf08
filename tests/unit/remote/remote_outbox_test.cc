// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/remote_outbox.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/wait_until.h"
#include "tests/unit/remote/fake_redis.h"

namespace remote_outbox_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;
using cccl_cache::Sha256;
using cccl_cache::SigningKey;

constexpr Account kAlice(1000);
constexpr Account kBob(1001);

ArtifactPtr Sample() {
  auto artifact = std::make_shared<Artifact>();
  artifact->log = std::string(10'000, 'l');
  return artifact;
}

/// An outbox with room for ten samples.
struct Scene {
  FakeRedis redis = FakeRedis::OnPort();
  Statistics statistics;
  const SigningKey key{SigningKey::Seed{1}};
  const ArtifactPtr sample = Sample();
  RemoteOutbox outbox;
  RedisServers servers;
  FakeConnection peer;

  explicit Scene(const std::vector<RedisAddress>& others = {})
      : outbox({.allowance = {5 * sample->Footprint(), 10 * sample->Footprint()},
                .entry_limit = 1 << 20,
                .lifetime = 3600s},
               &key, servers, statistics),
        servers(Options(), others),
        peer(redis.Accept()) {
    peer.Greet();
    REQUIRE(WaitUntil([this] { return servers.connected(); }));
  }
  ~Scene() { outbox.Finish(); }

  RedisLink::Options Options() const {
    RedisLink::Options options;
    options.address = redis.address();
    options.connect_timeout = options.patience = 60s;
    return options;
  }
  void Write(Account account, const std::string& name) {
    outbox.Write(name, {EntryKind::kArtifact, Sha256(name), Sha256("toolchain")},
                 {.artifact = sample}, account);
  }
  [[nodiscard]] uint64_t Refused() const { return statistics.Get(Counter::kRemoteWritesFailed); }
};

TEST_CASE("a user that fills the outbox leaves room for others") {
  Scene scene;
  for (int i = 0; i < 20; ++i) scene.Write(kAlice, "alice");
  const uint64_t refused = scene.Refused();
  CHECK(refused >= 15);
  CHECK(refused < 20);
  scene.Write(kBob, "bob");
  CHECK(scene.Refused() == refused);
  std::string got = scene.peer.Next();
  for (uint64_t i = refused; i < 20; ++i, got = scene.peer.Next())
    CHECK(got.starts_with("SET alice"));
  CHECK(got.starts_with("SET bob"));
}

TEST_CASE("entries of containers fill at most half of the outbox") {
  Scene scene;
  for (uid_t i = 0; i < 20; ++i)
    scene.Write(Account(cccl_cache::kFirstContainerUser + i), "contained");
  CHECK(scene.Refused() >= 15);
  const uint64_t refused = scene.Refused();
  scene.Write(kAlice, "alice");
  CHECK(scene.Refused() == refused);
}

TEST_CASE("the removal of an entry is sent after its write") {
  Scene scene;
  scene.Write(kAlice, "alice");
  scene.outbox.Remove("alice", {"alice"});
  CHECK(scene.peer.Next().starts_with("SET alice"));
  CHECK(scene.peer.Next().starts_with("DEL alice"));
}

TEST_CASE("an answered write makes room for more entries of its user") {
  Scene scene;
  for (int i = 0; i < 20; ++i) scene.Write(kAlice, "alice");
  const uint64_t refused = scene.Refused();
  for (uint64_t i = refused; i < 20; ++i) {
    CHECK(scene.peer.Next().starts_with("SET alice"));
    scene.peer.Send("+OK\r\n");
  }
  REQUIRE(WaitUntil([&] { return scene.outbox.bytes() == 0; }));
  scene.Write(kAlice, "again");
  CHECK(scene.peer.Next().starts_with("SET again"));
  CHECK(scene.Refused() == refused);
}

/// The scene with a second server, which has the lease.
struct SceneOfTwo {
  FakeRedis other = FakeRedis::OnPort();
  Scene first{{other.address()}};
  const KeysOfTwo keys = FindKeys(first.servers, first.peer);
  FakeConnection at_other = other.Accept();

  SceneOfTwo() {
    at_other.Greet();
    REQUIRE(WaitUntil([this] { return first.servers.state().connected == 2; }));
  }
  void Write() { first.Write(kAlice, keys.here); }
  void Release(size_t number) {
    first.outbox.Release(keys.there, keys.there, "token" + std::to_string(number));
  }
  /// Checks that two entries were sent to the first server and that nothing else is pending, so
  /// that no lease was released yet. Then answers the write of the first entry.
  void EndWrite() {
    CHECK(first.peer.Next().starts_with("SET " + keys.here));
    CHECK(first.peer.Next().starts_with("SET " + keys.here));
    CHECK(first.servers.state().pending == 2);
    first.peer.Send("+OK\r\n");
  }
};

TEST_CASE("with several servers, a lease is released only after earlier entries were written") {
  SceneOfTwo scene;
  scene.Write();
  scene.Release(0);
  scene.Write();
  scene.EndWrite();
  CHECK(scene.at_other.Next().starts_with("EVAL"));
}

TEST_CASE("above the limit of leases that wait for entries, the oldest are not released") {
  SceneOfTwo scene;
  scene.Write();
  constexpr size_t kMore = 10;
  for (size_t i = 0; i < RemoteOutbox::kMaxHeld + kMore; ++i) scene.Release(i);
  scene.Write();
  scene.EndWrite();
  for (size_t i = kMore; i < RemoteOutbox::kMaxHeld + kMore; ++i)
    CHECK(scene.at_other.Next().ends_with(" token" + std::to_string(i)));
}

}  // namespace remote_outbox_test
