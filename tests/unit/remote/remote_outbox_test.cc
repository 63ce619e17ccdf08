// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/remote_outbox.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/remote/deposit_chunks.h"
#include "tests/support/wait_until.h"
#include "tests/unit/remote/fake_redis.h"

namespace remote_outbox_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;
using cccl_cache::Sha256;
using cccl_cache::SigningKey;

constexpr uint64_t kEntryLimit = 1 << 20;
constexpr Account kAlice(1000);
constexpr Account kBob(1001);

ArtifactPtr Sample() {
  auto artifact = std::make_shared<Artifact>();
  artifact->log = std::string(10'000, 'l');
  return artifact;
}

EntryName Named(const std::string& name) {
  return {EntryKind::kArtifact, Sha256(name), Sha256("toolchain")};
}

/// An outbox with room for ten samples, and for `more` bytes of one user.
struct Scene {
  FakeRedis redis = FakeRedis::OnPort();
  Statistics statistics;
  const SigningKey key{SigningKey::Seed{1}};
  const ArtifactPtr sample = Sample();
  RemoteEntries entries{{.prefix = "", .entry_limit = kEntryLimit, .lifetime = 3600s},
                        std::make_shared<const TrustList>(std::set{key.public_key()}),
                        servers};
  RemoteOutbox outbox;
  RedisServers servers;
  FakeConnection peer;

  explicit Scene(const std::vector<RedisAddress>& others = {}, uint64_t more = 0)
      : outbox({.allowance = {5 * sample->Footprint() + more, 10 * sample->Footprint() + 2 * more},
                .entry_limit = kEntryLimit,
                .lifetime = 3600s,
                .chunk_patience = 60s},
               &key, entries, servers, statistics),
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
    outbox.Write(Named(name), {.artifact = sample}, account);
  }
  /// Returns how the command begins that writes this entry.
  [[nodiscard]] std::string WriteOf(const std::string& name) const {
    return "SET " + entries.NameOf(Named(name)) + " ";
  }
  /// Returns whether the connected server has this key.
  bool IsHere(const std::string& place) {
    if (!servers.Send(place, {"GET", place}, [](const RedisReply*) {})) return false;
    REQUIRE(peer.Next() == "GET " + place);
    peer.Send("$-1\r\n");
    return true;
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
    CHECK(got.starts_with(scene.WriteOf("alice")));
  CHECK(got.starts_with(scene.WriteOf("bob")));
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
  CHECK(scene.peer.Next().starts_with(scene.WriteOf("alice")));
  CHECK(scene.peer.Next().starts_with("DEL alice"));
}

TEST_CASE("an answered write makes room for more entries of its user") {
  Scene scene;
  for (int i = 0; i < 20; ++i) scene.Write(kAlice, "alice");
  const uint64_t refused = scene.Refused();
  for (uint64_t i = refused; i < 20; ++i) {
    CHECK(scene.peer.Next().starts_with(scene.WriteOf("alice")));
    scene.peer.Send("+OK\r\n");
  }
  REQUIRE(WaitUntil([&] { return scene.outbox.bytes() == 0; }));
  scene.Write(kAlice, "again");
  CHECK(scene.peer.Next().starts_with(scene.WriteOf("again")));
  CHECK(scene.Refused() == refused);
}

TEST_CASE("between two chunks of a deposit, everything of other places is sent") {
  Scene scene({}, 2 * kDepositChunkBytes);
  const EntryName list{EntryKind::kChunkList, Sha256("large"), {}};
  const std::string place = scene.entries.PlaceOf(list);
  const std::string chunk = scene.entries.NameOf(list) + ":";
  scene.outbox.Write(list,
                     {.deposit = std::make_shared<const std::string>(2 * kDepositChunkBytes, 'd')},
                     kAlice, "token");
  const std::string first = scene.peer.Next();
  CHECK(first.find(" " + chunk + "0 ") != std::string::npos);
  scene.outbox.Release(place, "lease", "token");  // of the large deposit
  scene.outbox.Remove(place, {"large"});
  scene.Write(kBob, "bob");
  scene.outbox.Release("other", "other lease", "other token");
  scene.peer.Send(":1\r\n");
  CHECK(scene.peer.Next().starts_with(scene.WriteOf("bob")));
  scene.peer.Send("+OK\r\n");
  CHECK(scene.peer.Next().ends_with(" other lease other token"));
  scene.peer.Send(":0\r\n");
  CHECK(scene.peer.Next().find(" " + chunk + "1 ") != std::string::npos);
  scene.peer.Send(":1\r\n");
  const std::string last = scene.peer.Next();
  CHECK(last.find(" token CCCLSGN") != std::string::npos);
  scene.outbox.Remove(place, {"large again"});
  CHECK(scene.peer.Next().ends_with(" lease token"));
  CHECK(scene.peer.Next() == "DEL large");
  CHECK(scene.peer.Next() == "DEL large again");
}

TEST_CASE("with several servers, a release does not wait for a large deposit that is not its own") {
  Scene scene({FakeRedis::OnPort().address()});
  const KeysOfTwo keys = FindKeys(scene.servers, scene.peer);
  EntryName list{EntryKind::kChunkList, Sha256("large"), {}};
  for (int i = 0; !scene.IsHere(scene.entries.PlaceOf(list)); ++i) {
    list.key = Sha256(std::to_string(i));
  }
  scene.outbox.Write(list, {.deposit = std::make_shared<const std::string>(8, 'd')}, kAlice,
                     "token");
  CHECK(scene.peer.Next().find(":0 ") != std::string::npos);
  scene.outbox.Release(keys.here, "other lease", "other token");
  scene.peer.Send(":1\r\n");
  CHECK(scene.peer.Next().find(" token CCCLSGN") != std::string::npos);
  CHECK(scene.peer.Next().ends_with(" other lease other token"));
}

/// The scene with a second server, which has the lease.
struct SceneOfTwo {
  FakeRedis other = FakeRedis::OnPort();
  Scene first{{other.address()}};
  const std::string there = FindKeys(first.servers, first.peer).there;
  const std::string here = FindHere();
  FakeConnection at_other = other.Accept();

  SceneOfTwo() {
    at_other.Greet();
    REQUIRE(WaitUntil([this] { return first.servers.state().connected == 2; }));
  }
  /// Returns the name of an entry that the first server has.
  std::string FindHere() {
    for (int i = 0;; ++i) {
      const std::string name = "entry" + std::to_string(i);
      if (first.IsHere(first.entries.NameOf(Named(name)))) return name;
    }
  }
  void Write() { first.Write(kAlice, here); }
  void Release(size_t number) {
    first.outbox.Release(there, there, "token" + std::to_string(number));
  }
  /// Checks that two entries were sent to the first server and that nothing else is pending, so
  /// that no lease was released yet. Then answers the write of the first entry.
  void EndWrite() {
    CHECK(first.peer.Next().starts_with(first.WriteOf(here)));
    CHECK(first.peer.Next().starts_with(first.WriteOf(here)));
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
