// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/file_exchange.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/core/answering_caller.h"

namespace cccl_cache::daemon::file_exchange_test {
namespace {

using cccl_cache::Sha256;
using testing::AnsweringCaller;
using testing::DirectoriesIn;
using Asked = std::vector<std::string>;

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;

TEST_CASE("Read returns the contents that the caller sends") {
  AnsweringCaller caller;
  caller.files = {{"/p/include/a.h", "text of a"}, {"/p/include/empty.h", ""}};
  const auto files = caller.exchange->Open(DirectoriesIn("/p"));
  const auto read = files->Read({1, "a.h"});
  REQUIRE(read.ok());
  CHECK(read->seen.kind == FileKind::kFile);
  CHECK(read->seen.digest == Sha256("text of a"));
  CHECK(read->seen.inode == std::pair<uint64_t, uint64_t>(1, 1));
  CHECK(*read->bytes == "text of a");
  const auto empty = files->Read({1, "empty.h"});
  REQUIRE(empty.ok());
  CHECK(empty->bytes->empty());
  const auto absent = files->Read({0, "a.h"});
  REQUIRE(absent.ok());
  CHECK(absent->seen.kind == FileKind::kAbsent);
  CHECK_FALSE(caller.exchange->failed());
}

TEST_CASE("a name under an empty root is absent, and the caller is not asked") {
  AnsweringCaller caller;
  const auto files = caller.exchange->Open({.roots = {""}, .working_directory = ""});
  CHECK(files->Read({0, "a.h"})->seen.kind == FileKind::kAbsent);
  CHECK(files->Look({kWorkingDirectoryRoot, "a.h"})->kind == FileKind::kAbsent);
  CHECK(caller.asked.empty());
}

TEST_CASE("expected names are asked for at once, and contents only if the digest matches") {
  AnsweringCaller caller;
  std::vector<FileName> names;
  for (int i = 0; i < 500; ++i) names.push_back({1, std::to_string(i)});
  for (int i = 0; i < 250; ++i) caller.files["/p/include/" + std::to_string(i)] = "x";
  const auto files = caller.exchange->Open(DirectoriesIn("/p"));
  const cccl_cache::Digest same = Sha256("x");
  const cccl_cache::Digest other = Sha256("y");
  const auto expect = [&](const cccl_cache::Digest* digest) {
    std::vector<ExpectedFile> expected;
    for (const FileName& name : names) expected.push_back({&name, digest});
    files->Expect(expected);
  };
  expect(nullptr);
  expect(&other);
  CHECK(caller.batches == std::vector<size_t>{500});
  expect(&same);
  expect(&same);
  CHECK(caller.batches == std::vector<size_t>{500, 250});
}

TEST_CASE("Compare asks for contents to verify a claimed digest that matches") {
  AnsweringCaller caller;
  caller.files = {{"/p/include/a.h", "text"}};
  caller.claims = {{"/p/include/a.h", Sha256("secret")}};
  const auto files = caller.exchange->Open(DirectoriesIn("/p"));
  CHECK(files->Compare({1, "a.h"}, Sha256("other"))->digest != Sha256("other"));
  CHECK(caller.asked == Asked{"/p/include/a.h"});
  CHECK(files->Compare({1, "a.h"}, Sha256("secret"))->digest == Sha256("text"));
  CHECK(caller.asked == Asked{"/p/include/a.h", "/p/include/a.h contents"});
}

TEST_CASE("equal contents are sent only once") {
  AnsweringCaller first(kAlice);
  first.files = {{"/p/include/a.h", "text"}};
  CHECK(first.exchange->Open(DirectoriesIn("/p"))->Read({1, "a.h"}).ok());
  CHECK(first.asked == Asked{"/p/include/a.h contents"});

  AnsweringCaller second(kAlice, first.sent);
  second.files = {{"/q/include/b.h", "text"}, {"/q/include/c.h", "other"}};
  const auto files = second.exchange->Open(DirectoriesIn("/q"));
  CHECK(*files->Read({1, "b.h"})->bytes == "text");
  CHECK(files->Look({1, "b.h"})->digest == Sha256("text"));
  CHECK(second.asked == Asked{"/q/include/b.h", "/q/include/b.h"});
  second.asked.clear();
  CHECK(*files->Read({1, "c.h"})->bytes == "other");
  CHECK(second.asked == Asked{"/q/include/c.h", "/q/include/c.h contents"});
}

TEST_CASE("a claimed digest counts only for a user that sent its contents") {
  AnsweringCaller alice(kAlice);
  alice.files = {{"/p/include/secret.h", "secret"}};
  CHECK(alice.exchange->Open(DirectoriesIn("/p"))->Look({1, "secret.h"}).ok());

  AnsweringCaller bob(kBob, alice.sent);
  bob.files = {{"/p/include/secret.h", "a guess"}};
  bob.claims = {{"/p/include/secret.h", Sha256("secret")}};
  const auto files = bob.exchange->Open(DirectoriesIn("/p"));
  CHECK(files->Look({1, "secret.h"})->digest == Sha256("a guess"));
  CHECK(*files->Read({1, "secret.h"})->bytes == "a guess");
}

TEST_CASE("no sent contents are kept for the overflow uid") {
  AnsweringCaller caller(65534);
  caller.files = {{"/p/include/a.h", "text"}};
  const auto files = caller.exchange->Open(DirectoriesIn("/p"));
  CHECK(files->Look({1, "a.h"})->digest == Sha256("text"));
  CHECK_FALSE(caller.sent->WasSent(65534, Sha256("text")));
}

TEST_CASE("a caller's refusal to send a file is an error with its reason") {
  AnsweringCaller caller;
  caller.refused = {{"/p/include/a.h", "Permission denied"}};
  const auto read = caller.exchange->Open(DirectoriesIn("/p"))->Read({1, "a.h"});
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == ErrorCode::kDenied);
  CHECK(read.error().message == "can't read /p/include/a.h: Permission denied");
  CHECK(caller.exchange->failed());
}

TEST_CASE("after a caller's timeout no further question is sent") {
  AnsweringCaller caller;
  caller.silent = true;
  const auto files = caller.exchange->Open(DirectoriesIn("/p"));
  const auto read = files->Read({1, "a.h"});
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == ErrorCode::kTimedOut);
  CHECK(read.error().message.find("/p/include/a.h") != std::string::npos);
  CHECK(caller.exchange->failed());
  // No further question is sent or waited for.
  CHECK(files->Look({1, "b.h"}).error().code == ErrorCode::kTimedOut);
  CHECK(caller.exchange->Take().empty());
}

/// An exchange with one open question, and the thread that waits for the answer.
struct Asking {
  explicit Asking(bool contents) {
    auto sent = std::make_shared<SentContents>(std::chrono::steady_clock::now);
    if (!contents)
      sent->Keep(kAlice, Account(kAlice), Sha256("x"), std::make_shared<const std::string>("x"));
    exchange = std::make_shared<FileExchange>(FileExchange::Options{.uid = kAlice}, sent, [] {});
    waits = std::thread([this] { read = exchange->Open(DirectoriesIn("/p"))->Read({1, "a"}); });
    while (exchange->Take().empty()) std::this_thread::yield();
  }
  ~Asking() {
    exchange->End(Error{ErrorCode::kCancelled, "left"});
    if (waits.joinable()) waits.join();
  }

  std::shared_ptr<FileExchange> exchange;
  Result<RequesterFiles::Contents> read = RequesterFiles::Contents{};
  std::thread waits;
};

TEST_CASE("a thread that waits for an answer gets an error when the caller leaves") {
  Asking asking(true);
  asking.exchange->End(Error{ErrorCode::kCancelled, "left"});
  asking.waits.join();
  REQUIRE_FALSE(asking.read.ok());
  CHECK(asking.read.error().message == "left");
}

TEST_CASE("invalid answers are refused") {
  const CallerAnswer file{FileKind::kFile, {1, 1}, 4};
  SECTION("an answer without a question") {
    AnsweringCaller caller;
    CHECK_FALSE(caller.exchange->Answer(file).ok());
    CHECK_FALSE(caller.exchange->Append("x").ok());
  }
  SECTION("more contents than were announced") {
    Asking asking(true);
    CHECK(asking.exchange->Answer(file).ok());
    CHECK(asking.exchange->Append("123").ok());
    CHECK(asking.exchange->incomplete_bytes() == 3);
    CHECK_FALSE(asking.exchange->Append("45").ok());
    CHECK_FALSE(asking.exchange->Append("").ok());
  }
  SECTION("another answer before the contents are complete") {
    Asking asking(true);
    CHECK(asking.exchange->Answer(file).ok());
    CHECK_FALSE(asking.exchange->Answer(file).ok());
  }
  SECTION("a digest where contents were asked for") {
    Asking asking(true);
    CHECK_FALSE(asking.exchange->Answer({FileKind::kFile, {1, 1}, 4, Sha256("four")}).ok());
  }
  SECTION("a file that is too large") {
    Asking asking(false);
    const Status refused = asking.exchange->Answer({FileKind::kFile, {1, 1}, (64u << 20) + 1});
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message.starts_with("/p/include/a is larger than 64 MiB"));
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::file_exchange_test
