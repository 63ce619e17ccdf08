// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cerrno>
#include <string>
#include <vector>

#include "base/start_advice.h"
#include "cli/doctor/check.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/listening_socket.h"
#include "tests/unit/cli/said.h"

namespace doctor_daemon_test {

namespace {

using namespace cccl_cache::cli;

/// A patient with a listening socket, and a daemon without problems.
struct Scene {
  Scene() : listening(directory / "socket") {
    Library() = FakeLibrary();
    Library().toolchains = {{"aa", "13.0", true, {}, {"sm_75", "sm_90"}},
                            {"bb", "12.9", false, {}}};
    Library().result = {.artifacts = {{CCCL_CACHE_CUBIN, "bytes"}}, .key = "abcd"};
    Library().second_result = Library().result;
    Library().second_result->outcome = CCCL_CACHE_HIT;
    Library().second_result->tier = CCCL_CACHE_TIER_MEMORY;
    patient.given_socket = directory / "socket";
  }
  Check Daemon() {
    CHECK(CheckSocket(&patient).verdict == CheckVerdict::kPass);
    return CheckDaemon(&patient, true);
  }
  Check Build() {
    static_cast<void>(Daemon());
    return CheckBuild(&patient);
  }

  const cccl_cache::daemon::TemporaryDirectory directory;
  const ListeningSocket listening;
  Patient patient;
};

bool Failed(const Check& check) {
  return check.verdict == CheckVerdict::kFailure && !check.seen.empty() && !check.way_out.empty();
}

bool Warned(const Check& check) {
  return check.verdict == CheckVerdict::kWarning && !check.way_out.empty();
}

}  // namespace

TEST_CASE("a socket that can't be connected to fails, with the command to start the daemon") {
  for (const int error : {ENOENT, ECONNREFUSED, EACCES, ENOTSOCK, ENAMETOOLONG}) {
    INFO(error);
    CHECK(Failed(JudgeSocket("/s", "--socket", error)));
  }
  CHECK(Has(JudgeSocket("/s", "--socket", ENOENT).way_out, "--socket /s"));
  CHECK(Has(JudgeSocket("/s", "this user's", ENOENT).way_out, cccl_cache::kStartOwn));
  CHECK(Has(JudgeSocket("/s", "the system's", ENOENT).way_out, cccl_cache::StartAdvice()));
}

TEST_CASE("the remedy for a socket without permission names the setting of its mode") {
  CHECK(Has(JudgeSocket("/s", "the system's", EACCES).way_out, "SocketMode="));
  CHECK(Has(JudgeSocket("/s", "--socket", EACCES).way_out, "socket_mode"));
}

TEST_CASE("the remedy for a daemon that takes no connections names its log") {
  const auto way_out = [](const char* origin) {
    const Check check = JudgeSocket("/s", origin, EAGAIN);
    CHECK(Failed(check));
    CHECK(Has(check.seen, "takes no connections"));
    return check.way_out;
  };
  CHECK(Has(way_out("this user's"), "journalctl --user -u"));
  CHECK(Has(way_out("this user's"), "systemctl --user restart"));
  CHECK(Has(way_out("this user's"), ".local/state/cccl-cached/log"));
  CHECK(Has(way_out("the system's"), "journalctl -u"));
  CHECK(Has(way_out("--socket"), "of the daemon at /s"));
  CHECK(Has(way_out("$CCCL_CACHE_SOCKET"), "of the daemon at /s"));
}

TEST_CASE("neither a file nor an ended daemon's socket can be connected to") {
  const FreshLibrary fresh;
  const cccl_cache::daemon::TemporaryDirectory directory;
  Patient patient{.given_socket = directory.Write("file", "")};
  CHECK(Has(CheckSocket(&patient).seen, "no socket"));
  patient.given_socket = directory / "left";
  { const ListeningSocket ended(patient.given_socket); }
  CHECK(Has(CheckSocket(&patient).seen, "nothing listens"));
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(Failed(CheckSocket(&patient)));
}

TEST_CASE("a ready daemon passes, and its version is shown with that of the command") {
  Scene scene;
  const Check check = scene.Daemon();
  CHECK(check.verdict == CheckVerdict::kPass);
  CHECK(Has(check.seen, "1.2.3 (this is "));
}

TEST_CASE("a daemon that does not answer, stops or has a problem fails") {
  for (const char* function : {"check_health", "info"}) {
    Scene scene;
    Library().failures = {{function, CCCL_CACHE_DEADLINE}};
    const Check check = scene.Daemon();
    CHECK(Failed(check));
    CHECK(Has(check.way_out, "of the daemon at " + scene.patient.given_socket));
    CHECK_FALSE(scene.patient.daemon.ok());
  }
  Scene scene;
  Library().problem = "the disk is full";
  CHECK(Failed(scene.Daemon()));
  CHECK(Has(scene.Daemon().seen, "the disk is full"));
  Library().problem = "";
  Library().serving = false;
  CHECK(Failed(scene.Daemon()));
}

TEST_CASE("toolchains are listed, with a warning about those that are not used") {
  Scene scene;
  static_cast<void>(scene.Daemon());
  CHECK(CheckToolchains(scene.patient).seen == "13.0 (default), 12.9");
  CHECK(CheckToolchains(scene.patient).verdict == CheckVerdict::kPass);
  Library().rejected = {{"/opt/cuda", "others can write it"}};
  static_cast<void>(scene.Daemon());
  CHECK(Warned(CheckToolchains(scene.patient)));
  CHECK(Has(CheckToolchains(scene.patient).seen, "/opt/cuda: others can write it"));
}

TEST_CASE(
    "without a toolchain the check fails and skips the test build, unless a scan is running") {
  Scene scene;
  Library().toolchains.clear();
  CHECK(scene.Build().verdict == CheckVerdict::kSkipped);
  CHECK(Failed(CheckToolchains(scene.patient)));
  CHECK(Library().builds == 0);
  Library().failures = {{"toolchains", CCCL_CACHE_DEADLINE}};
  CHECK(scene.Build().verdict == CheckVerdict::kPass);
  CHECK(Warned(CheckToolchains(scene.patient)));
}

TEST_CASE("the test build asks the daemon alone, for an artifact of the default toolchain") {
  Scene scene;
  const Check check = scene.Build();
  CHECK(check.verdict == CheckVerdict::kPass);
  CHECK(Has(check.seen, "a hit (memory)"));
  CHECK(Library().fallback == CCCL_CACHE_FALLBACK_ERROR);
  CHECK(Library().process_cache_bytes == CCCL_CACHE_OFF);
  CHECK(Library().options.front() == "--gpu-architecture=sm_75");
  const std::string source = Library().source;
  static_cast<void>(CheckBuild(&scene.patient));
  CHECK(Library().source != source);
}

TEST_CASE("an uncacheable program fails the test build, with the reason") {
  Scene scene;
  Library().result.outcome = CCCL_CACHE_UNCACHEABLE;
  Library().result.reason = "it names the time";
  const Check check = scene.Build();
  CHECK(Failed(check));
  CHECK(Has(check.seen, "it names the time"));
}

TEST_CASE("a second build that is no hit fails the test build, with the explanation") {
  Scene scene;
  Library().second_result->outcome = CCCL_CACHE_BUILT;
  Library().verdict = "evicted";
  const Check check = scene.Build();
  CHECK(Failed(check));
  CHECK(Has(check.seen, "evicted"));
  CHECK(Has(check.way_out, "explain abcd"));
}

TEST_CASE("a hit with other bytes fails the test build") {
  Scene scene;
  Library().second_result->artifacts[0].second = "other";
  CHECK(Failed(scene.Build()));
}

TEST_CASE("a refused build, and one that does not compile, fail the test build") {
  Scene scene;
  Library().failures = {{"build_nvrtc", CCCL_CACHE_OVERLOADED}};
  CHECK(Failed(scene.Build()));
  Library().failures.clear();
  Library().result = {.outcome = CCCL_CACHE_FAILED, .log = "no such arch\nmore"};
  Library().builds = 0;
  const Check check = scene.Build();
  CHECK(Failed(check));
  CHECK(Has(check.seen, "no such arch"));
}

TEST_CASE("a store passes with its size unless writes fail now") {
  Scene scene;
  Library().statistics = {{"bytes", "", 512, true}, {"store_errors_total", "", 3, false}};
  static_cast<void>(scene.Daemon());
  const Check check = CheckStore(&scene.patient);
  CHECK(check.verdict == CheckVerdict::kPass);
  CHECK(Has(check.seen, "512 bytes"));
  CHECK(Has(check.seen, "failed: 3"));
  Library().problem = "its store can't be written (full)";  // since the test build
  CHECK(Failed(CheckStore(&scene.patient)));
}

TEST_CASE("damaged entries fail the check of the daemon, not that of its store") {
  Scene scene;
  Library().problem = "within the last minute entries of its store were damaged";
  CHECK(Failed(scene.Daemon()));
  CHECK(CheckStore(&scene.patient).verdict == CheckVerdict::kPass);
}

TEST_CASE("without statistics the daemon passes without an age, and its store gets a warning") {
  Scene scene;
  Library().statistics = {{"uptime_seconds", "", 9, true}};
  CHECK(Has(scene.Daemon().seen, ", up 9"));
  Library().failures = {{"stats", CCCL_CACHE_DEADLINE}};
  const Check daemon = scene.Daemon();
  CHECK(daemon.verdict == CheckVerdict::kPass);
  CHECK_FALSE(Has(daemon.seen, "up "));
  const Check store = CheckStore(&scene.patient);
  CHECK(Warned(store));
  CHECK(Has(store.seen, "not known"));
}

TEST_CASE("checks about the daemon are skipped without one") {
  Patient patient;
  CHECK(CheckDaemon(&patient, false).verdict == CheckVerdict::kSkipped);
  CHECK(CheckToolchains(patient).verdict == CheckVerdict::kSkipped);
  CHECK(CheckBuild(&patient).verdict == CheckVerdict::kSkipped);
  CHECK(CheckStore(&patient).verdict == CheckVerdict::kSkipped);
}

namespace {

/// Runs the checks with a daemon that shares results and has these statistics.
std::vector<Check> Remote(const std::vector<FakeStatistic>& statistics, const char* problem = "") {
  Scene scene;
  Library().statistics = statistics;
  Library().remote_address = "redis://r";
  Library().remote_problem = problem;
  static_cast<void>(scene.Daemon());
  return RemoteChecks(scene.patient);
}

const std::vector<FakeStatistic> kSigns = {{"remote_signs", "", 1, true},
                                           {"remote_trusted_keys", "", 2, true}};

}  // namespace

TEST_CASE("without a Redis there are no checks of a Redis") {
  Scene scene;
  CHECK(RemoteChecks(scene.patient).empty());
  static_cast<void>(scene.Daemon());
  CHECK(RemoteChecks(scene.patient).empty());
}

TEST_CASE("a Redis that is not connected fails with the daemon's reason") {
  const std::vector<Check> checks = Remote(kSigns, "it answered AUTH with 'WRONGPASS'");
  REQUIRE(checks.size() == 3);
  CHECK(Failed(checks[0]));
  CHECK(Has(checks[0].seen, "WRONGPASS"));
  CHECK(checks[1].verdict == CheckVerdict::kSkipped);
}

TEST_CASE("one unconnected Redis node of several is a warning that names it") {
  std::vector<FakeStatistic> two_of_three = {{"remote_connected", "", 1, true},
                                             {"remote_nodes", "", 3, true},
                                             {"remote_nodes_connected", "", 2, true}};
  const Check check = Remote(two_of_three, "redis://c: it refused").front();
  CHECK(Warned(check));
  CHECK(Has(check.seen, "2 of 3 nodes"));
  CHECK(Has(check.seen, "redis://c: it refused"));
  two_of_three[2].value = 3;
  CHECK(Remote(two_of_three).front().verdict == CheckVerdict::kPass);
}

TEST_CASE("a clock far from Redis's clock is a warning, whichever is ahead") {
  const auto verdict = [](double ahead) {
    return Remote({{"remote_clock_ahead_seconds", "", ahead, true}})[1];
  };
  for (const double seconds : {-299.0, 0.01, 299.0}) {
    CHECK(verdict(seconds).verdict == CheckVerdict::kPass);
  }
  CHECK(Warned(verdict(301)));
  CHECK(Has(verdict(301).seen, "301 s ahead"));
  CHECK(Warned(verdict(-301)));
  CHECK(Has(verdict(-301).seen, "301 s behind"));
}

TEST_CASE("doctor warns if the node trusts no key, or does not trust its own key") {
  CHECK(Warned(Remote({})[2]));
  CHECK(Warned(Remote(kSigns)[2]));
  auto trusted = kSigns;
  trusted.push_back({"remote_own_key_trusted", "", 1, true});
  CHECK(Remote(trusted)[2].verdict == CheckVerdict::kPass);
  const Check reads = Remote({{"remote_trusted_keys", "", 2, true}})[2];
  CHECK(reads.verdict == CheckVerdict::kPass);
  CHECK(Has(reads.seen, "only reads"));
}

TEST_CASE("empty, unusable or silent shelves are a warning that names them") {
  const auto check = [](std::vector<FakeStatistic> statistics) {
    statistics.push_back({"shelves", "", 1, true});
    return Remote(statistics).back();
  };
  const FakeStatistic used = {"shelf_snapshots", "", 1, true};
  CHECK(check({used}).verdict == CheckVerdict::kPass);
  CHECK(Warned(check({})));
  CHECK(Has(check({used, {"shelf_problems", "", 2, true}}).way_out, "remote_trust"));
  const Check silent =
      check({{"shelf_silent", "", 1, true}, {"shelf_silent_seconds", "", 90, true}});
  CHECK(Warned(silent));
  CHECK(Has(silent.seen, "silent: 1, for 1 m"));
  CHECK(Has(silent.way_out, "mounted"));
}

}  // namespace doctor_daemon_test
