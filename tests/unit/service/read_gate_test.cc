// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/read_gate.h"

#include <catch2/catch.hpp>
#include <deque>

namespace cccl_cached {
namespace {

struct Reader final : GatedReader {
  void StartReading() override { reading = true; }
  bool reading = false;
};

size_t Reading(const std::deque<Reader>& readers) {
  size_t count = 0;
  for (const Reader& reader : readers) count += reader.reading ? 1 : 0;
  return count;
}

TEST_CASE("readers of one user take turns in the order in which they came") {
  ReadGate gate({1, 2, 10});
  std::deque<Reader> readers(4);
  for (Reader& reader : readers) gate.Enter(1, reader);
  CHECK(Reading(readers) == 2);
  gate.Leave(1);
  CHECK(readers[2].reading);
  CHECK_FALSE(readers[3].reading);
  for (int i = 0; i < 3; ++i) gate.Leave(1);
  CHECK(Reading(readers) == 4);
}

TEST_CASE("a user who reads all he may keeps nobody else from reading") {
  ReadGate gate({1, 4, 4});
  std::deque<Reader> greedy(10);
  for (Reader& reader : greedy) gate.Enter(1, reader);
  CHECK(Reading(greedy) == 4);
  Reader other;
  gate.Enter(2, other);
  CHECK(other.reading);
}

TEST_CASE("a reader whom the bound of all kept back goes on when another user leaves") {
  ReadGate gate({1, 4, 2});
  std::deque<Reader> first(2);
  for (Reader& reader : first) gate.Enter(1, reader);
  std::deque<Reader> second(2);
  for (Reader& reader : second) gate.Enter(2, reader);
  CHECK(Reading(second) == 1);
  gate.Leave(1);
  gate.Leave(1);
  CHECK(Reading(second) == 2);
}

TEST_CASE("a reader who withdraws from the line is not called, and the others keep their order") {
  ReadGate gate({1, 1, 10});
  std::deque<Reader> readers(3);
  for (Reader& reader : readers) gate.Enter(1, reader);
  CHECK_FALSE(gate.Withdraw(1, readers[0]));
  CHECK(gate.Withdraw(1, readers[1]));
  CHECK_FALSE(gate.Withdraw(1, readers[1]));
  gate.Leave(1);
  CHECK_FALSE(readers[1].reading);
  CHECK(readers[2].reading);
  gate.Leave(1);
  CHECK_FALSE(gate.Withdraw(1, readers[2]));
}

TEST_CASE("the last one who withdraws leaves nothing behind") {
  ReadGate gate({0, 1, 1});
  Reader first;
  Reader second;
  gate.Enter(1, first);
  gate.Enter(2, second);
  CHECK(gate.Withdraw(2, second));
  gate.Leave(1);
  CHECK_FALSE(second.reading);
  Reader third;
  gate.Enter(2, third);
  CHECK(third.reading);
}

}  // namespace
}  // namespace cccl_cached
