// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/deposit_writer.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>

#include "daemon/remote/signed_entry.h"
#include "daemon/remote/signed_lease.h"
#include "tests/support/wait_until.h"
#include "tests/unit/remote/fake_redis.h"

namespace deposit_writer_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;
using cccl_cache::Sha256;
using cccl_cache::SigningKey;

const EntryName kDeposit{EntryKind::kDeposit, Sha256("deposit"), {}};
const EntryName kList{EntryKind::kChunkList, Sha256("deposit"), {}};
constexpr uint64_t kEntryLimit = 1000;

SharedEntry Contents(const std::string& contents) {
  return {.deposit = std::make_shared<const std::string>(contents)};
}

std::chrono::sys_seconds Now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

struct Scene {
  const SigningKey key{SigningKey::Seed{1}};
  const SigningKey stranger{SigningKey::Seed{2}};
  FakeRedis redis;
  RemoteEntries entries{{.prefix = "", .entry_limit = kEntryLimit, .lifetime = 3600s},
                        std::make_shared<const TrustList>(std::set{key.public_key()}),
                        servers};
  DepositWriter writer{{.entry_limit = kEntryLimit, .lifetime = 3600s, .chunk_patience = 60s},
                       &key,
                       entries,
                       servers};
  RedisServers servers{Options(), {}};
  FakeConnection peer = redis.Accept();

  Scene() {
    peer.Greet();
    REQUIRE(WaitUntil([this] { return servers.connected(); }));
  }

  RedisLink::Options Options() const {
    RedisLink::Options options;
    options.address = redis.address();
    options.connect_timeout = options.patience = 60s;
    return options;
  }
  /// Begins to write a deposit.
  std::future<WriteEnd> Write(const std::string& token) {
    return std::async(std::launch::async, [this, token] {
      std::promise<WriteEnd> end;
      writer.Write(
          {kDeposit, Contents("made"), token}, [] {}, [&](WriteEnd told) { end.set_value(told); });
      return end.get_future().get();
    });
  }
  void Answer(const std::string& text) {
    peer.Send("$" + std::to_string(text.size()) + "\r\n" + text + "\r\n");
  }
  [[nodiscard]] std::string Lease(const SigningKey& signer) const {
    return *SignLease(kDeposit.key, {std::string(kLeaseTokenBytes, 'a'), 1}, signer, Now());
  }
  [[nodiscard]] static std::string Entry(const EntryName& name, const SigningKey& signer,
                                         size_t size = 8) {
    // Digests, so that the entry is no smaller when it is compressed.
    std::string contents;
    while (contents.size() < size) contents += Sha256(contents).View();
    return *SignEntry(name, Contents(contents), signer, Now());
  }
  /// Answers a writer without a lease that looks at these values. Returns the end of the write's
  /// command: what counts as nothing.
  std::string Junk(const std::string& lease, const std::string& deposit, const std::string& list) {
    auto end = Write("");
    CHECK(peer.Next().starts_with("GETRANGE " + entries.LeaseOn(kDeposit.key, kDeposit).name));
    Answer(lease);
    CHECK(peer.Next().starts_with("GETRANGE " + entries.NameOf(kDeposit)));
    Answer(deposit);
    CHECK(peer.Next().starts_with("GETRANGE " + entries.NameOf(kList)));
    Answer(list);
    const std::string command = peer.Next();
    CHECK(command.starts_with("EVAL "));
    peer.Send(":0\r\n");
    CHECK(end.get() == WriteEnd::kFenced);
    const std::string lifetime = " 3600 ";
    return command.substr(command.rfind(lifetime) + lifetime.size());
  }
};

TEST_CASE("a writer that holds the lease looks at nothing") {
  Scene scene;
  auto end = scene.Write("token");
  CHECK(scene.peer.Next().ends_with(" 3600   "));
  scene.peer.Send(":1\r\n");
  CHECK(end.get() == WriteEnd::kWritten);
}

TEST_CASE("to a writer without a lease, only what it can't verify counts as nothing") {
  Scene scene;
  CHECK(scene.Junk("", "", "") == "  ");
  CHECK(scene.Junk(scene.Lease(scene.key), scene.Entry(kDeposit, scene.key),
                   scene.Entry(kList, scene.key)) == "  ");
  CHECK(scene.Junk("junk", "of a deposit", "of a list") == "junk of a deposit of a list");
  const std::string lease = scene.Lease(scene.stranger);
  const std::string entry = scene.Entry(kDeposit, scene.stranger);
  CHECK((scene.Junk(lease, entry, "") == lease + " " + entry + " "));
  const std::string large = scene.Entry(kDeposit, scene.key, 2 * kEntryLimit);
  CHECK(scene.Junk("", large.substr(0, kEntryLimit), "") == "  ");
}

TEST_CASE("without an answer to its look, a writer counts nothing as nothing") {
  Scene scene;
  auto end = scene.Write("");
  CHECK(scene.peer.Next().starts_with("GETRANGE "));
  scene.writer.Stop();
  CHECK(scene.peer.Next().ends_with(" 3600   "));
  scene.peer.Send("$0\r\n\r\n-ERR no\r\n");
  CHECK(end.get() == WriteEnd::kFailed);
}

}  // namespace deposit_writer_test
