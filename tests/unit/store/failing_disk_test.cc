// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/unit/store/child_process.h"
#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon::failing_disk_test {
namespace {

using store_test::ChildProcess;
using store_test::Look;
using store_test::OpenOrNull;
using store_test::Reports;
using store_test::Survey;

TEST_CASE("killed_daemon: a writer killed at any moment loses at most unwritten entries") {
  const TemporaryDirectory temporary;
  uint64_t certain = 0;
  for (int round = 0; round < 8; ++round) {
    {
      ChildProcess child({"write", temporary / "state"});
      // Each round kills the writer at another moment: while the database opens, in the first
      // write, in the middle of many writes.
      for (int line = 0; line < 3 * round; ++line) {
        certain = std::max<uint64_t>(certain, std::strtoull(child.ReadLine().c_str(), nullptr, 10));
      }
      child.Kill();
    }
    Statistics statistics;
    Reports reports;
    const auto store =
        OpenOrNull({.directory = temporary / "state", .report = reports.Sink()}, statistics);
    REQUIRE(store);
    const uint64_t entries = store->size().entries;
    CHECK(entries >= certain);
    const Survey survey = Look(*store, 0, entries + 2000);
    CHECK(survey.wrong == 0);
    CHECK(survey.right == entries);
    CHECK(statistics.Get(Counter::kCorruptEntries) == 0);
    CHECK(reports.All().empty());
  }
  CHECK(certain > 0);
}

TEST_CASE("a full disk is counted and reported, and the store recovers when there is space") {
  const TemporaryDirectory temporary;
  ChildProcess child({"full-disk", temporary.path()});
  const int status = child.Wait();
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    FAIL(
        "no small disk can be mounted here: allow user namespaces, or run as root (in a container: "
        "with CAP_SYS_ADMIN)");
  }
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a call without a database gets an error that names the full disk") {
  const TemporaryDirectory temporary;
  ChildProcess child({"start-on-full-disk", temporary.path()});
  const int status = child.Wait();
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a disk that refuses writes is counted and reported, and the store recovers") {
  const TemporaryDirectory temporary;
  ChildProcess child({"file-limit", temporary.path()});
  const int status = child.Wait();
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("the files of a full store stay near its limit while more is put without a pause") {
  const TemporaryDirectory temporary;
  constexpr uint64_t kLimit = 64 << 20;
  ChildProcess child(
      {"pour", temporary / "state", std::to_string(kLimit), std::to_string(4 * kLimit), "60000"});
  const std::string most_and_entries = child.ReadLine();
  REQUIRE(child.Wait() == 0);
  const uint64_t most = std::strtoull(most_and_entries.c_str(), nullptr, 10);
  INFO(most_and_entries);
  CHECK(most > kLimit / 2);
  // If only the entries were limited, the files would take 2.7 times kLimit. A batch may have an
  // eighth of it.
  CHECK(most < kLimit * 2);
}

}  // namespace
}  // namespace cccl_cache::daemon::failing_disk_test
