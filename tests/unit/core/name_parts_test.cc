// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <initializer_list>

#include "daemon/core/closure/source_scan.h"

namespace cccl_cache::daemon::name_parts_test {
namespace {

NameParts Of(std::initializer_list<std::string_view> identifiers) {
  NameParts parts;
  for (const std::string_view each : identifiers) parts.Add(each);
  return parts;
}

TEST_CASE("NeededFor returns the least number of parts that compose a name") {
  CHECK(Of({"__FI", "LE__"}).NeededFor("__FILE__").parts == 2);
  CHECK(Of({"__", "FILE", "_"}).NeededFor("__FILE__").parts == 3);
  CHECK(Of({"_", "F", "I", "L", "E"}).NeededFor("__FILE__").parts == 8);
  CHECK(Of({"_", "F", "I", "LE", "L", "E"}).NeededFor("__FILE__").letters == 2);
  CHECK(Of({"__builtin", "_FI", "LE"}).NeededFor("__builtin_FILE").parts == 3);
}

TEST_CASE("a name that lacks a part can't be composed") {
  CHECK(Of({"__FI", "E__"}).NeededFor("__FILE__").parts == NameParts::kImpossible);
  CHECK(Of({"__FILE__"}).NeededFor("__FILE__").parts == NameParts::kImpossible);
  CHECK(Of({"__FILE_", "x_"}).NeededFor("__FILE__").parts == NameParts::kImpossible);
  CHECK(Of({}).NeededFor("assert").parts == NameParts::kImpossible);
}

TEST_CASE("a part may belong to several names") {
  CHECK(Of({"__BASE", "_FILE__"}).NeededFor("__BASE_FILE__").parts == 2);
  CHECK(Of({"__TIME", "STAMP__"}).NeededFor("__TIMESTAMP__").parts == 2);
  CHECK(Of({"__TIME", "STAMP__"}).NeededFor("__TIME__").parts == NameParts::kImpossible);
}

TEST_CASE("parts of several texts add up") {
  NameParts parts = Of({"__FI"});
  const NameParts others = Of({"LE__", "int"});
  CHECK(parts != others);
  parts |= others;
  CHECK(parts.NeededFor("__FILE__").parts == 2);
  CHECK(Of({"int", "threadIdx", "a_very_long_identifier_of_a_program", "x1"}) == NameParts());
}

}  // namespace

TEST_CASE("every split of a shown name into three parts has a needed part") {
  for (const std::string_view name : shown_names::kAll) {
    for (size_t first = 1; first < name.size(); ++first) {
      for (size_t second = first + 1; second <= name.size(); ++second) {
        const std::string_view parts[] = {name.substr(0, first), name.substr(first, second - first),
                                          name.substr(second)};
        const auto letter = [](std::string_view part) { return part.size() == 1; };
        if (name == shown_names::kAssert && std::ranges::any_of(parts, letter)) continue;
        const auto needed = [](std::string_view part) {
          return !part.empty() && NameParts::IsNeeded(part);
        };
        INFO(parts[0] << " " << parts[1] << " " << parts[2]);
        CHECK(std::ranges::any_of(parts, needed));
      }
    }
  }
}

TEST_CASE("words of ordinary programs are not among the needed parts") {
  for (const char* word : {"__global__", "__shared__", "static_cast", "uint32_t", "output", "type",
                           "cub", "as", "file", "FILE", "location"}) {
    INFO(word);
    CHECK_FALSE(NameParts::IsNeeded(word));
  }
}

}  // namespace cccl_cache::daemon::name_parts_test
