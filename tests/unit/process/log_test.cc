// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/files/file_descriptor.h"
#include "tests/support/temporary_directory.h"

namespace log_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using cccl_cache::FileDescriptor;

TEST_CASE("a text line holds the event, the message and the fields") {
  CHECK(TextLine("build", "", {{"uid", int64_t{1000}}, {"outcome", "hit"}}) ==
        "build uid=1000 outcome=hit");
  CHECK(TextLine("store", "set aside", {{"path", "/a b"}}) == "store: set aside path=\"/a b\"");
}

TEST_CASE("a text with a line break can't begin a second line") {
  CHECK(TextLine("e", "a\nb", {{"x", "c\nd"}}) == "e: a b x=\"c\\nd\"");
}

TEST_CASE("control characters in a text don't reach a terminal") {
  CHECK(TextLine("e", "a\u009b\u202e\x9b\u00e9", {{"x", "\u009b\xff\u00e9"}}) ==
        "e: a???\u00e9 x=\"\\u009b\\ufffd\u00e9\"");
}

TEST_CASE("a JSON line holds the event, the message and the fields as members") {
  CHECK(JsonMembers("build", "it \"is\"", {{"uid", int64_t{-1}}, {"outcome", "hit"}}) ==
        R"(,"event":"build","message":"it \"is\"","uid":-1,"outcome":"hit")");
}

TEST_CASE("the level selects the events, and can be changed") {
  Log log(LogLevel::kWarning, LogFormat::kText);
  CHECK(log.Takes(LogLevel::kError));
  CHECK_FALSE(log.Takes(LogLevel::kInfo));
  log.SetLevel(LogLevel::kDebug);
  CHECK(log.Takes(LogLevel::kDebug));
}

namespace {

/// Returns the output of `write` on standard error.
std::string Written(const std::function<void()>& write) {
  const TemporaryDirectory directory;
  const std::string path = directory / "log";
  const FileDescriptor before(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  const FileDescriptor file(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  REQUIRE(dup2(file.get(), STDERR_FILENO) == STDERR_FILENO);
  write();
  REQUIRE(dup2(before.get(), STDERR_FILENO) == STDERR_FILENO);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Returns the lines of a log of this level for one build.
std::string Logged(LogLevel level, const BuildRecord& record) {
  return Written([&] {
    Log log(level, LogFormat::kText);
    LogBuild(log, record);
  });
}

std::string Logged(LogLevel level, const Result<BuildAnswer>& result,
                   cccl_cache::BuildKind kind = cccl_cache::BuildKind::kNvrtc) {
  const Peer peer{1000, 1001, {}, 4711};
  return Logged(level, {peer, kind, std::chrono::microseconds(30), result, false, 0x69abc});
}

BuildAnswer Answer(Outcome outcome, TierName tier = TierName::kNone) {
  BuildAnswer answer;
  answer.outcome = outcome;
  answer.tier = tier;
  answer.toolchain_version = "13.0";
  return answer;
}

}  // namespace

TEST_CASE("a build is logged as one line with the caller, the outcome and the time") {
  BuildAnswer answer = Answer(Outcome::kFailed);
  answer.key = cccl_cache::Sha256("key");
  answer.native_code = 6;
  answer.remembered = true;
  answer.queue_time = std::chrono::microseconds(10);
  answer.compile_time = std::chrono::microseconds(20);
  const std::string text = Logged(LogLevel::kDebug, answer);
  CHECK_THAT(
      text,
      EndsWith(
          " debug build request=69abc uid=1000 pid=4711 kind=nvrtc outcome=failed tier=none key=" +
          answer.key.Hex() +
          " toolchain=13.0 native_code=6 remembered=1 queue_us=10 compile_us=20 "
          "total_us=30\n"));
  CHECK(text.find('\n') == text.size() - 1);
}

TEST_CASE("a build's line contains no text from the client") {
  BuildAnswer answer = Answer(Outcome::kUncacheable);
  answer.log = "secret text";
  answer.reason = "secret reason";
  CHECK_THAT(Logged(LogLevel::kDebug, answer), !Contains("secret"));
  const Error error{ErrorCode::kInvalidRequest, "secret option"};
  CHECK_THAT(Logged(LogLevel::kDebug, error), !Contains("secret"));
}

TEST_CASE("a build is written at level debug") {
  const BuildAnswer hit = Answer(Outcome::kHit, TierName::kMemory);
  CHECK_THAT(Logged(LogLevel::kDebug, hit), Contains(" debug build ") && Contains("outcome=hit"));
  CHECK(Logged(LogLevel::kInfo, hit).empty());
  CHECK(Logged(LogLevel::kInfo, Answer(Outcome::kBuilt)).empty());
  CHECK(Logged(LogLevel::kInfo, Error{ErrorCode::kOverloaded, ""}).empty());
}

TEST_CASE("a slow build is written at level info") {
  const Result<BuildAnswer> built = Answer(Outcome::kBuilt);
  const BuildRecord slow{{}, cccl_cache::BuildKind::kNvrtc, std::chrono::seconds(30), built};
  CHECK_THAT(Logged(LogLevel::kInfo, slow), Contains(" info build "));
  CHECK(Logged(LogLevel::kWarning, slow).empty());
}

TEST_CASE("a journal entry has separate fields") {
  const TemporaryDirectory directory;
  const std::string path = directory / "socket";
  const FileDescriptor journal(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  REQUIRE(bind(journal.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  const auto field = [](const std::string& name, const std::string& value) {
    return name + "\n" + static_cast<char>(value.size()) + std::string(7, '\0') + value + "\n";
  };
  const auto received = [&] {
    char entry[4096];
    const ssize_t size = recv(journal.get(), entry, sizeof(entry), 0);
    REQUIRE(size > 0);
    return std::string(entry, static_cast<size_t>(size));
  };

  CHECK(Written([&] {
          Log log(LogLevel::kDebug, LogFormat::kText, path);
          log.Write(LogLevel::kWarning, "store", "it is full", {{"path", "/a\nb"}, {"uid", 7}});
        }).empty());
  CHECK(received() == field("MESSAGE", "store: it is full path=\"/a\\nb\" uid=7") +
                          field("SYSLOG_IDENTIFIER", "cccl-cached") + field("CCCL_EVENT", "store") +
                          field("CCCL_PATH", "/a\nb") + field("CCCL_UID", "7") +
                          field("PRIORITY", "4"));

  // A datagram of this size is refused.
  const std::string long_text(4 << 20, 'x');
  CHECK(Written([&] {
          Log(LogLevel::kInfo, LogFormat::kText, path).Write(LogLevel::kInfo, "e", long_text);
        }) == "<6>e: " + long_text + "\n");
}

TEST_CASE("without the journal's socket a line begins with its priority, and has no time") {
  const auto logged = [](LogLevel level, LogFormat format) {
    return Written([&] { Log(LogLevel::kDebug, format, "/nowhere/socket").Write(level, "e", ""); });
  };
  CHECK(logged(LogLevel::kError, LogFormat::kText) == "<3>e\n");
  CHECK(logged(LogLevel::kWarning, LogFormat::kText) == "<4>e\n");
  CHECK(logged(LogLevel::kInfo, LogFormat::kText) == "<6>e\n");
  CHECK(logged(LogLevel::kDebug, LogFormat::kText) == "<7>e\n");
  CHECK(logged(LogLevel::kInfo, LogFormat::kJson).starts_with("<6>{\"time\""));
}

TEST_CASE("standard error is recognised as the journal by its device and inode") {
  struct stat status = {};
  REQUIRE(fstat(STDERR_FILENO, &status) == 0);
  const std::string own = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  CHECK(JournalOf(STDERR_FILENO, own) == "/run/systemd/journal/socket");
  CHECK(JournalOf(STDERR_FILENO, own + "1").empty());
  CHECK(JournalOf(STDERR_FILENO, "").empty());
  CHECK(JournalOf(-1, own).empty());
}

TEST_CASE("a failed build's line has the name of its error") {
  CHECK_THAT(Logged(LogLevel::kDebug, Error{ErrorCode::kToolchainNotFound, "no CUDA 99 here"}),
             Contains("kind=nvrtc outcome=error error=" +
                      std::string(Name(ErrorCode::kToolchainNotFound)) + " total_us=30"));
}

TEST_CASE("each kind, outcome and tier has a different name") {
  using cccl_cache::BuildKind;
  const auto logged = [](const BuildAnswer& answer, BuildKind kind = BuildKind::kNvrtc) {
    return Logged(LogLevel::kDebug, answer, kind);
  };
  CHECK_THAT(logged(Answer(Outcome::kBuilt), BuildKind::kLink), Contains("kind=link "));
  CHECK_THAT(logged(Answer(Outcome::kBuilt), BuildKind::kNvvm), Contains("kind=nvvm "));
  CHECK_THAT(logged(Answer(Outcome::kBuilt)), Contains("outcome=built tier=none "));
  CHECK_THAT(logged(Answer(Outcome::kJoined)), Contains("outcome=joined "));
  CHECK_THAT(logged(Answer(Outcome::kUncacheable)), Contains("outcome=uncacheable "));
  CHECK_THAT(logged(Answer(Outcome::kHit, TierName::kMemory)), Contains("tier=memory "));
  CHECK_THAT(logged(Answer(Outcome::kHit, TierName::kDisk)), Contains("tier=disk "));
  CHECK_THAT(logged(Answer(Outcome::kHit, TierName::kRemote)), Contains("tier=remote "));
  CHECK_THAT(logged(Answer(Outcome::kHit, TierName::kArena)), Contains("tier=arena "));
}

}  // namespace log_test
