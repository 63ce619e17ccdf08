// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/name_parts.h"

#include <catch2/catch.hpp>
#include <initializer_list>

namespace cccl_cached {
namespace {

NameParts Of(std::initializer_list<std::string_view> identifiers) {
  NameParts parts;
  for (const std::string_view each : identifiers) parts.Add(each);
  return parts;
}

TEST_CASE("a name is laid out of the fewest parts that do") {
  CHECK(Of({"__FI", "LE__"}).NeededFor("__FILE__").parts == 2);
  CHECK(Of({"__", "FILE", "_"}).NeededFor("__FILE__").parts == 3);
  CHECK(Of({"_", "F", "I", "L", "E"}).NeededFor("__FILE__").parts == 8);
  CHECK(Of({"_", "F", "I", "LE", "L", "E"}).NeededFor("__FILE__").letters == 2);
  CHECK(Of({"__builtin", "_FI", "LE"}).NeededFor("__builtin_FILE").parts == 3);
}

TEST_CASE("a name that lacks a part can't be laid out, whatever else is there") {
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
}  // namespace cccl_cached
