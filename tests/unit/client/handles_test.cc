// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/interpose/handles.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>

#include "client/interpose/real_handles.h"

namespace cccl_cache::interpose::handles_test {
namespace {

using Handle = struct Opaque*;
using Table = Handles<Handle, int>;

TEST_CASE("a handle leads to its object until destroyed, and is not reused soon") {
  static constinit Table table;
  Handle first = table.Add(std::make_unique<int>(1));
  Handle second = table.Add(std::make_unique<int>(2));
  CHECK(*table.Find(first) == 1);
  CHECK(*table.Find(second) == 2);
  CHECK(*table.Remove(first) == 1);
  CHECK(table.Find(first) == nullptr);
  CHECK(table.Remove(first) == nullptr);
  CHECK(table.Owns(first));
  CHECK(table.Add(std::make_unique<int>(3)) != first);
}

TEST_CASE("a handle of another library is never taken for one of the table") {
  static constinit Table table;
  int elsewhere = 0;
  Handle own = table.Add(std::make_unique<int>(1));
  Handle foreign[] = {nullptr, reinterpret_cast<Handle>(&elsewhere),
                      reinterpret_cast<Handle>(&table + 1)};
  for (Handle each : foreign) {
    CHECK_FALSE(table.Owns(each));
    CHECK(table.Find(each) == nullptr);
    CHECK(table.Remove(each) == nullptr);
  }
  CHECK(table.Find(reinterpret_cast<Handle>(reinterpret_cast<char*>(own) + 1)) == nullptr);
  CHECK(*table.Remove(own) == 1);
}

TEST_CASE("a table that is full gives no handle until one is destroyed") {
  static constinit Table table;
  Handle last = nullptr;
  while (Handle next = table.Add(std::make_unique<int>(0))) last = next;
  table.Remove(last).reset();
  Handle again = table.Add(std::make_unique<int>(7));
  CHECK(again == last);
  CHECK(*table.Find(again) == 7);
  CHECK(table.Add(std::make_unique<int>(0)) == nullptr);
}

TEST_CASE("a real handle leads to its object until removed, also if it gets the address again") {
  static constinit RealHandles<Handle, int> table;
  alignas(16) std::array<char, 4096> memory{};
  const auto handle = [&](size_t i) { return reinterpret_cast<Handle>(&memory[16 * i]); };
  CHECK(table.Find(handle(0)) == nullptr);
  table.Add(handle(0), std::make_unique<int>(1));
  table.Add(handle(1), std::make_unique<int>(2));
  CHECK(*table.Find(handle(0)) == 1);
  CHECK(*table.Find(handle(1)) == 2);
  table.Remove(handle(0));
  table.Remove(nullptr);
  CHECK(table.Find(handle(0)) == nullptr);
  CHECK(table.Find(nullptr) == nullptr);
  CHECK(*table.Find(handle(1)) == 2);
  table.Add(handle(0), std::make_unique<int>(3));
  CHECK(*table.Find(handle(0)) == 3);
  table.Remove(handle(0));
  table.Remove(handle(1));
}

TEST_CASE("a table of real handles that has no room drops the object") {
  static constinit RealHandles<Handle, std::shared_ptr<int>> table;
  const auto shared = std::make_shared<int>(1);
  // All these handles have the same place in the table.
  for (uintptr_t i = 1; i <= 100; ++i) {
    table.Add(reinterpret_cast<Handle>(i << 30), std::make_unique<std::shared_ptr<int>>(shared));
  }
  const auto added = shared.use_count() - 1;
  CHECK(added < 100);
  for (uintptr_t i = 1; i <= 100; ++i) table.Remove(reinterpret_cast<Handle>(i << 30));
  CHECK(shared.use_count() == 1);
}

}  // namespace
}  // namespace cccl_cache::interpose::handles_test
