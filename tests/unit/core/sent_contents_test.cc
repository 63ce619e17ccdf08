// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "daemon/core/closure/sent_files.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::Sha256;

std::shared_ptr<const std::string> Text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

TEST_CASE("contents are known to who sent them, for a while") {
  auto now = std::chrono::steady_clock::now();
  SentContents sent([&] { return now; });
  CHECK_FALSE(sent.SentAny(1000));
  sent.Keep(1000, Account(1000), Sha256("a"), Text("a"));
  CHECK(sent.SentAny(1000));
  CHECK(*sent.Find(1000, Sha256("a")) == "a");
  CHECK(sent.WasSent(1000, Sha256("a")));
  CHECK_FALSE(sent.WasSent(1000, Sha256("b")));
  CHECK(sent.Find(1001, Sha256("a")) == nullptr);
  CHECK_FALSE(sent.WasSent(1001, Sha256("a")));
  CHECK_FALSE(sent.SentAny(1001));

  now += std::chrono::minutes(11);
  CHECK(sent.Find(1000, Sha256("a")) == nullptr);
  CHECK(sent.WasSent(1000, Sha256("a")));
  now += std::chrono::hours(24);
  CHECK_FALSE(sent.WasSent(1000, Sha256("a")));
}

TEST_CASE("one user's contents do not push out another's") {
  SentContents sent(std::chrono::steady_clock::now);
  sent.Keep(1000, Account(1000), Sha256("a"), Text("a"));
  for (int i = 0; i < 40; ++i) {
    sent.Keep(1001, Account(1001), Sha256(std::to_string(i)), Text(std::string(8 << 20, 'x')));
  }
  CHECK(sent.Find(1000, Sha256("a")) != nullptr);
  CHECK(sent.Find(1001, Sha256("0")) == nullptr);
  CHECK(sent.Find(1001, Sha256("39")) != nullptr);
  CHECK(sent.WasSent(1001, Sha256("0")));
}

}  // namespace
}  // namespace cccl_cache::daemon
