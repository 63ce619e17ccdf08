// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/read_gate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

namespace cccl_cache::daemon::read_gate_test {
namespace {

struct Reader final : GatedReader {
  void StartReading() override { reading = true; }
  void GiveUp() override { given_up = true; }
  bool reading = false;
  bool given_up = false;
};

size_t Reading(const std::deque<Reader>& readers) {
  size_t count = 0;
  for (const Reader& reader : readers) count += reader.reading ? 1 : 0;
  return count;
}

TEST_CASE("readers of one user take turns in the order in which they came") {
  ReadGate gate({2, 10});
  std::deque<Reader> readers(4);
  for (Reader& reader : readers) gate.Enter(Account(1), reader);
  CHECK(Reading(readers) == 2);
  gate.Leave(Account(1), readers[1]);
  CHECK(readers[2].reading);
  CHECK_FALSE(readers[3].reading);
  for (const size_t i : {0, 2, 3}) gate.Leave(Account(1), readers[i]);
  CHECK(Reading(readers) == 4);
}

TEST_CASE("a user with all its turns blocks neither newcomers nor root") {
  ReadGate gate({16, 16});
  std::deque<Reader> greedy(16);
  for (Reader& reader : greedy) gate.Enter(Account(1), reader);
  CHECK(Reading(greedy) == 8);
  std::deque<Reader> newcomer(1);
  gate.Enter(Account(2), newcomer.front());
  CHECK(Reading(newcomer) == 1);
  std::deque<Reader> others(100);
  for (uid_t uid = 3; uid < 103; ++uid) gate.Enter(Account(uid), others[uid - 3]);
  CHECK(Reading(greedy) + Reading(newcomer) + Reading(others) == 15);
  std::deque<Reader> root(2);
  for (Reader& reader : root) gate.Enter(Account(0), reader);
  CHECK(Reading(root) == 1);
}

TEST_CASE("many users together read at most as many messages as the total limit") {
  ReadGate gate({32, 32});
  std::deque<Reader> readers(280);
  for (uid_t uid = 1; uid <= 140; ++uid) {
    for (size_t i = 0; i < 2; ++i) gate.Enter(Account(uid), readers[2 * uid - 2 + i]);
  }
  CHECK(Reading(readers) == 30);
}

TEST_CASE("a reader above the total limit reads after another user leaves") {
  ReadGate gate({4, 3});
  std::deque<Reader> first(2);
  for (Reader& reader : first) gate.Enter(Account(1), reader);
  std::deque<Reader> second(2);
  for (Reader& reader : second) gate.Enter(Account(2), reader);
  CHECK(Reading(second) == 1);
  for (Reader& reader : first) gate.Leave(Account(1), reader);
  CHECK(Reading(second) == 2);
}

TEST_CASE("slow readers are ended while they keep another user from reading at all") {
  ReadGate gate({16, 16});
  std::deque<Reader> slow(100);
  for (uid_t uid = 1; uid <= 100; ++uid) gate.Enter(Account(uid), slow[uid - 1]);
  REQUIRE(Reading(slow) == 15);
  const auto given_up = [&] {
    return std::ranges::count_if(slow, [](const Reader& reader) { return reader.given_up; });
  };
  gate.EndSlow();
  CHECK(given_up() == 0);
  gate.EndSlow(ReadGate::Clock::now() + ReadGate::kPatience);
  CHECK(given_up() == 15);
}

TEST_CASE("slow readers are not ended while each user has a turn") {
  ReadGate gate({16, 16});
  std::deque<Reader> readers(16);
  for (Reader& reader : readers) gate.Enter(Account(1), reader);
  gate.EndSlow(ReadGate::Clock::now() + 2 * ReadGate::kPatience);
  CHECK(std::ranges::none_of(readers, [](const Reader& reader) { return reader.given_up; }));
}

TEST_CASE("a reader that withdraws from the queue is not called, and the others keep their order") {
  ReadGate gate({1, 10});
  std::deque<Reader> readers(3);
  for (Reader& reader : readers) gate.Enter(Account(1), reader);
  CHECK_FALSE(gate.Withdraw(Account(1), readers[0]));
  CHECK(gate.Withdraw(Account(1), readers[1]));
  CHECK_FALSE(gate.Withdraw(Account(1), readers[1]));
  gate.Leave(Account(1), readers[0]);
  CHECK_FALSE(readers[1].reading);
  CHECK(readers[2].reading);
  gate.Leave(Account(1), readers[2]);
  CHECK_FALSE(gate.Withdraw(Account(1), readers[2]));
}

TEST_CASE("a user whose only reader withdrew can read again") {
  ReadGate gate({1, 1});
  Reader first;
  Reader second;
  gate.Enter(Account(1), first);
  gate.Enter(Account(2), second);
  CHECK(gate.Withdraw(Account(2), second));
  gate.Leave(Account(1), first);
  CHECK_FALSE(second.reading);
  Reader third;
  gate.Enter(Account(2), third);
  CHECK(third.reading);
}

}  // namespace
}  // namespace cccl_cache::daemon::read_gate_test
