// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/shelves.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <variant>

#include "base/files/file_descriptor.h"
#include "daemon/core/lookup/manifest.h"
#include "proto/snapshot/snapshot_reader.h"
#include "proto/snapshot/snapshot_signature.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/wait_until.h"
#include "tests/unit/core/fake_cluster.h"
#include "tests/unit/snapshot/snapshot_maker.h"

namespace shelves_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;
using cccl_cache::Digest;
using cccl_cache::Sha256;
using cccl_cache::SigningKey;
using cccl_cache::daemon::testing::FakeCluster;
using cccl_cache::daemon::testing::RecordOf;
using cccl_cache::daemon::testing::SnapshotOf;
using cccl_cache::daemon::testing::StoredFrom;
using cccl_cache::daemon::testing::StoredRecord;

namespace {

const SigningKey kKey{SigningKey::Seed{1}};
const Shelf::Rules kRules{.trusted = std::make_shared<const TrustList>(std::set{kKey.public_key()}),
                          .entry_limit = 8 << 20};

/// Returns the record of a program that reads one file with these contents.
ArtifactRecord WithFile(const std::string& program, const std::string& contents) {
  ArtifactRecord record = RecordOf(contents);
  record.fingerprint = Sha256("fingerprint " + program);
  record.closure.entries = {{{0, "value.h"}, FileKind::kFile, Sha256(contents), 0}};
  return record;
}

EntryName ArtifactOf(const ArtifactRecord& record) {
  return {EntryKind::kArtifact, record.key(), {}};
}

EntryName ManifestOf(const ArtifactRecord& record) {
  return {EntryKind::kManifest, ManifestKey(record.fingerprint), {}};
}

/// A directory of snapshots, the queries to it, and their results.
struct Bench {
  explicit Bench(Cluster* behind = nullptr) : others(behind) {}

  void Put(const std::string& name, const std::vector<ArtifactRecord>& records,
           const SigningKey& key = kKey) {
    std::map<Digest, Digest> fingerprints;
    std::vector<StoredRecord> stored;
    for (const ArtifactRecord& each : records) {
      fingerprints[each.key()] = each.fingerprint;
      stored.push_back(StoredFrom(each));
    }
    const std::string file = SnapshotOf(std::move(stored));
    cccl_cache::SnapshotSignature signature{.file_bytes = file.size()};
    for (const auto& [record, fingerprint] : fingerprints)
      signature.fingerprints.push_back(fingerprint);
    signature.index_sha256 = IndexOf(file);
    directory.Write(name, file);
    directory.Write(name + ".sig", EncodeSnapshotSignature(signature, key));
  }
  Digest IndexOf(const std::string& file) {
    cccl_cache::SnapshotTail tail;
    Digest whole;
    const std::string_view end =
        std::string_view(file).substr(file.size() - cccl_cache::kSnapshotTailBytes);
    REQUIRE(DecodeSnapshotTail(end, &tail, &whole));
    return tail.index_sha256;
  }

  /// Waits for this many snapshots. Files that are added later need LookAgain().
  void Open(size_t snapshots) {
    shelves.emplace(
        Shelves::Options{.directories = {directory.path()},
                         .patience = std::chrono::minutes(1),
                         .report = [this](std::string_view text) { Say(std::string(text)); }},
        std::make_shared<const TrustList>(std::set{kKey.public_key()}), statistics, others);
    REQUIRE(WaitUntil([&] { return shelves->gauges().snapshots == snapshots; }));
  }
  bool Ask(std::vector<EntryName> entries, bool serves = true) {
    return shelves->Ask({.entries = std::move(entries)}, ended.get_token(),
                        {.found =
                             [this, serves](const Cluster::Found& found) {
                               for (const SharedEntry& each : found.entries) Say(Text(each));
                               return serves;
                             },
                         .compile = [this] { Say("compile"); },
                         .looks_outside = {}});
  }
  static std::string Text(const SharedEntry& entry) {
    if (!entry) return "nothing";
    return entry.artifact != nullptr
               ? entry.artifact->parts[0].bytes
               : std::to_string(entry.manifest->closures.size()) + " closures";
  }
  void Say(const std::string& text) {
    const std::lock_guard lock(mutex);
    said.push_back(text);
  }
  bool Says(const std::vector<std::string>& texts) {
    return WaitUntil([&] {
      const std::lock_guard lock(mutex);
      return said == texts;
    });
  }

  Cluster* others;
  TemporaryDirectory directory;
  Statistics statistics;
  std::stop_source ended;
  std::mutex mutex;
  std::vector<std::string> said;
  std::optional<Shelves> shelves;
};

}  // namespace

TEST_CASE("an entry of a signed snapshot is found, and a miss reads no file") {
  Bench bench;
  bench.Put("a", {RecordOf("one"), RecordOf("two")});
  bench.Open(1);
  CHECK(bench.Ask({ArtifactOf(RecordOf("one"))}));
  CHECK(bench.Says({"one"}));
  CHECK_FALSE(bench.Ask({ArtifactOf(RecordOf("three"))}));
  CHECK(bench.shelves->gauges().entries == 2);
}

TEST_CASE("the manifest of a program has its closures of all snapshots") {
  Bench bench;
  bench.Put("a", {WithFile("p", "1"), WithFile("q", "3"), RecordOf("r")});
  bench.Put("b", {WithFile("p", "2")});
  bench.Open(2);
  CHECK(bench.Ask({ArtifactOf(RecordOf("none")), ManifestOf(WithFile("p", "1"))}));
  CHECK(bench.Says({"nothing", "2 closures"}));
  CHECK_FALSE(bench.Ask({ManifestOf(RecordOf("r"))}));
}

TEST_CASE("the other nodes are asked if no shelf has an entry that serves the build") {
  FakeCluster others;
  Bench bench(&others);
  bench.Put("a", {RecordOf("one")});
  bench.Open(1);
  CHECK(bench.Ask({ArtifactOf(RecordOf("two"))}));
  CHECK(others.asked() == 1);
  CHECK(bench.Ask({ArtifactOf(RecordOf("one"))}, /*serves=*/false));
  CHECK(WaitUntil([&] { return others.asked() == 2; }));
}

TEST_CASE("a build whose entry on the shelf is broken compiles") {
  Bench bench;
  bench.Put("a", {RecordOf("one")});
  bench.Open(1);
  std::filesystem::resize_file(bench.directory / "a", 0);
  CHECK(bench.Ask({ArtifactOf(RecordOf("one"))}));
  CHECK(bench.Says({"compile"}));
  CHECK(bench.statistics.Get(Counter::kShelfRefused) == 1);
}

TEST_CASE("entries of a revoked key are misses before the shelf is read again") {
  Bench bench;
  bench.Put("a", {RecordOf("one")});
  bench.Open(1);
  const auto shelf = Shelf::LookAt(bench.directory.path(), kRules, nullptr);
  const auto reading = shelf->Read({ArtifactOf(RecordOf("one"))}, TrustList());
  REQUIRE(reading.entries.size() == 1);
  CHECK_FALSE(reading.entries[0]);
  CHECK(reading.refused == 1);
  bench.shelves->Trust(std::make_shared<const TrustList>());
  CHECK(WaitUntil([&] { return bench.shelves->gauges().snapshots == 0; }));
}

TEST_CASE("each problem of a shelf is reported once") {
  Bench bench;
  bench.Put("a", {RecordOf("one")}, SigningKey(SigningKey::Seed{2}));
  bench.Open(0);
  REQUIRE(WaitUntil([&] { return bench.shelves->gauges().problems == 1; }));
  bench.Put("b", {RecordOf("two")});
  bench.shelves->LookAgain();
  REQUIRE(WaitUntil([&] {
    bench.shelves->LookAgain();
    return bench.shelves->gauges().snapshots == 1;
  }));
  REQUIRE(bench.said.size() == 1);
  CHECK_THAT(bench.said[0], Contains(bench.directory / "a.sig") && Contains("is not trusted"));
}

TEST_CASE("changed snapshots are read again, and the earlier ones stay readable") {
  Bench bench;
  bench.Put("a", {RecordOf("one")});
  bench.Put("c", {RecordOf("three")});
  const auto first = Shelf::LookAt(bench.directory.path(), kRules, nullptr);
  std::filesystem::remove(bench.directory / "a");
  bench.Put("a", {RecordOf("two")});
  const auto second = Shelf::LookAt(bench.directory.path(), kRules, first.get());
  CHECK(second->snapshots() == 2);
  CHECK(second->HoldsAny({ArtifactOf(RecordOf("two"))}));
  CHECK(second->HoldsAny({ArtifactOf(RecordOf("three"))}));
  CHECK_FALSE(second->HoldsAny({ArtifactOf(RecordOf("one"))}));
  CHECK(first->Read({ArtifactOf(RecordOf("one"))}, *kRules.trusted).entries[0]);
}

TEST_CASE("unusable files do not affect others, and are not read again until they change") {
  Bench bench;
  for (int number = 0; number < 300; ++number) {
    bench.directory.Write("a" + std::to_string(number) + ".sig", "no signature");
  }
  bench.Put("b", {RecordOf("one")});
  const auto first = Shelf::LookAt(bench.directory.path(), kRules, nullptr);
  CHECK(first->snapshots() == 1);
  CHECK(first->problems().size() == 300);
  const auto second = Shelf::LookAt(bench.directory.path(), kRules, first.get());
  CHECK(second->problems() == first->problems());
  std::filesystem::remove(bench.directory / "a7.sig");
  bench.Put("a7", {RecordOf("two")});
  CHECK(Shelf::LookAt(bench.directory.path(), kRules, second.get())->snapshots() == 2);
}

TEST_CASE("a file that is not regular in place of a signature or snapshot is not opened") {
  Bench bench;
  bench.Put("good", {RecordOf("one")});
  bench.Put("no-file", {RecordOf("two")});
  std::filesystem::remove(bench.directory / "no-file");
  REQUIRE(mkfifo((bench.directory / "no-file").c_str(), 0600) == 0);
  REQUIRE(mkfifo((bench.directory / "pipe.sig").c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/zero", bench.directory / "device.sig");
  std::filesystem::create_directory(bench.directory / "directory.sig");
  std::filesystem::create_symlink("nowhere", bench.directory / "dangling.sig");
  const cccl_cache::FileDescriptor watch(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  REQUIRE(watch.valid());
  REQUIRE(inotify_add_watch(watch.get(), (bench.directory / "no-file").c_str(), IN_OPEN) >= 0);
  REQUIRE(inotify_add_watch(watch.get(), (bench.directory / "pipe.sig").c_str(), IN_OPEN) >= 0);
  const auto shelf = Shelf::LookAt(bench.directory.path(), kRules, nullptr);
  CHECK(shelf->snapshots() == 1);
  REQUIRE(shelf->problems().size() == 5);
  for (const std::string& each : shelf->problems()) {
    CHECK_THAT(each, Contains("no regular file") || Contains("No such file"));
  }
  char event = 0;
  CHECK(read(watch.get(), &event, sizeof(event)) < 0);
  CHECK(errno == EAGAIN);
}

TEST_CASE("records above the limit of shared entries are left out") {
  Bench bench;
  bench.Put("a", {RecordOf("one"), RecordOf(std::string(5'000, 'x'))});
  const auto shelf =
      Shelf::LookAt(bench.directory.path(), {kRules.trusted, /*entry_limit=*/4'000}, nullptr);
  CHECK(shelf->entries() == 1);
}

TEST_CASE("Peek finds an entry, the closures of a manifest, or nothing") {
  Bench bench;
  bench.Put("a", {WithFile("p", "1"), RecordOf("one")});
  bench.Open(1);
  const auto peek = [&](std::vector<EntryName> entries) {
    std::promise<Cluster::Peeked> told;
    bench.shelves->Peek({.entries = std::move(entries)},
                        [&told](Cluster::Peeked peeked) { told.set_value(std::move(peeked)); });
    return told.get_future().get();
  };
  const auto hit = peek({ArtifactOf(RecordOf("one"))});
  CHECK((hit.tier == TierName::kShelf && hit.finding == TierFinding::kHasIt));
  const auto closures = peek({ArtifactOf(RecordOf("none")), ManifestOf(WithFile("p", "1"))});
  CHECK(closures.finding == TierFinding::kNotConfigured);
  REQUIRE(closures.before.size() == 1);
  CHECK(closures.before[0].finding == TierFinding::kNoEntry);
  REQUIRE(closures.found.size() == 2);
  CHECK(Bench::Text(closures.found[1]) == "1 closures");
  CHECK(peek({ArtifactOf(RecordOf("none"))}).before[0].finding == TierFinding::kNoEntry);
}

TEST_CASE("no callback runs after the shelves are closed") {
  Bench bench;
  bench.Put("a", {RecordOf("one")});
  bench.Open(1);
  bench.shelves->Close();
  CHECK_FALSE(bench.Ask({ArtifactOf(RecordOf("one"))}));
  CHECK(bench.said.empty());
}

}  // namespace shelves_test
