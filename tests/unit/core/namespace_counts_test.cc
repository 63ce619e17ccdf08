// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/namespace_counts.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

namespace cccl_cache::daemon::namespace_counts_test {
namespace {

void Add(NamespaceCounts& counts, const std::string& name_space, DepositUse use, uint64_t bytes = 0,
         std::chrono::microseconds saved = {}) {
  counts.Add({.name_space = name_space, .use = use, .bytes = bytes, .saved = saved});
}

const std::string kOthers(NamespaceCounts::kOthers);

TEST_CASE("requests count for their namespace, with bytes and saved time") {
  NamespaceCounts counts;
  Add(counts, "a", DepositUse::kMade, 5);
  Add(counts, "a", DepositUse::kFound, 5, std::chrono::seconds(2));
  Add(counts, "a", DepositUse::kJoined, 5, std::chrono::seconds(1));
  Add(counts, "b", DepositUse::kFound);
  CHECK(counts.rows().size() == 2);
  const NamespaceUses& a = counts.rows().at("a");
  CHECK((a.made == 1 && a.found == 1 && a.joined == 1));
  CHECK(a.read_bytes == 10);
  CHECK(a.made_bytes == 5);
  CHECK(a.saved == std::chrono::seconds(3));
  CHECK(counts.rows().at("b").total() == 1);
}

TEST_CASE("a further namespace takes the place of the least used one, and no request is lost") {
  NamespaceCounts counts;
  constexpr size_t kMost = NamespaceCounts::kMaxNamespaces;
  for (size_t i = 0; i < kMost; ++i) {
    for (size_t use = 0; use < (i == 3 ? 2 : 3); ++use) {
      Add(counts, "n" + std::to_string(i), DepositUse::kFound);
    }
  }
  CHECK(counts.rows().size() == kMost);
  for (int i = 0; i < 100; ++i) Add(counts, "more" + std::to_string(i), DepositUse::kMade);
  CHECK(counts.rows().size() == kMost + 1);
  CHECK(counts.rows().count("n2") == 1);
  CHECK(counts.rows().count("n3") == 0);
  CHECK(counts.rows().count("more99") == 1);
  CHECK(counts.rows().at(kOthers).found == 2);
  CHECK(counts.rows().at(kOthers).made == 99);
}

TEST_CASE("kept rows: a further namespace counts among the others") {
  NamespaceCounts counts(NamespaceCounts::IfFull::kKeep);
  constexpr size_t kMost = NamespaceCounts::kMaxNamespaces;
  for (size_t i = 0; i < kMost + 100; ++i) {
    Add(counts, "n" + std::to_string(i), DepositUse::kMade);
  }
  Add(counts, "n0", DepositUse::kFound);
  CHECK(counts.rows().size() == kMost + 1);
  CHECK(counts.rows().at("n0").total() == 2);
  CHECK(counts.rows().at(kOthers).made == 100);
}

TEST_CASE("the label of a namespace is printable ASCII without quotes and backslashes") {
  CHECK(NamespaceLabel("org.example {a}, b=1") == "org.example {a}, b=1");
  CHECK(NamespaceLabel("a\"b\\c\nd\x1b[31m\xc3\xa4\x7f") == "a?b?c?d?[31m???");
}

TEST_CASE("two namespaces of one label share a row, and one named like the others is one of them") {
  NamespaceCounts counts;
  Add(counts, "a\n", DepositUse::kFound);
  Add(counts, "a\t", DepositUse::kFound);
  Add(counts, kOthers, DepositUse::kFound);
  CHECK(counts.rows().size() == 2);
  CHECK(counts.rows().at("a?").found == 2);
  CHECK(counts.rows().at(kOthers).found == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon::namespace_counts_test
