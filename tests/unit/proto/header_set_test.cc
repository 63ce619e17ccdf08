// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/header_set.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/proto/parsed.h"

namespace cccl_cache::header_set_test {
namespace {

std::string Encoded(std::vector<HeaderText> headers) {
  std::string bytes;
  EncodedHeaderSet(std::move(headers)).ForEachPiece([&](std::string_view piece, bool) {
    bytes.append(piece);
  });
  return bytes;
}

Digest FingerprintOf(const NvrtcProgram& program) {
  BuildRequest request;
  request.program = program;
  const Digest toolchain = Sha256("toolchain");
  return Fingerprint({request, toolchain, Parsed(request.kind(), {}), {}, false});
}

TEST_CASE("an encoded header set is read back, sorted by name") {
  const std::string large(5000, 'x');
  const std::string bytes = Encoded({{"b.h", large}, {"a.h", "second"}, {"", ""}, {"b.h", "last"}});
  const auto headers = ReadHeaderSet(bytes, 10);
  REQUIRE(headers);
  std::vector<std::pair<std::string, std::string>> read;
  for (const HeaderText& each : *headers) read.emplace_back(each.name, each.contents);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"", ""}, {"a.h", "second"}, {"b.h", large}, {"b.h", "last"}};
  CHECK(read == expected);
  CHECK(EncodedHeaderSet(*headers).Sha256() == Sha256(bytes));
}

TEST_CASE("a header set with a piece missing, or that refers to an upload, is not read") {
  const std::string bytes = Encoded({{"a.h", "text"}});
  CHECK_FALSE(ReadHeaderSet(bytes.substr(0, bytes.size() - 1), 10));
  CHECK(ReadHeaderSet("", 10));
  const std::string blob = ProtoWriter().Bytes(2, std::string(32, 'd')).Take();
  const std::string header = ProtoWriter().Bytes(1, "a.h").Message(2, blob).Take();
  CHECK_FALSE(ReadHeaderSet(ProtoWriter().Message(1, header).bytes(), 10));
}

TEST_CASE("no more headers are read than one beyond the limit") {
  const std::string many = ProtoWriter().Message(1, "").Message(1, "").Message(1, "").Take();
  CHECK(ReadHeaderSet(many, 3)->size() == 3);
  CHECK(ReadHeaderSet(many, 1)->size() == 2);
}

TEST_CASE("large headers have one fingerprint, inline in any order and as a set") {
  const std::string large(kHeaderSetBytes, 'x');
  const NvrtcProgram inlined{.source = "a", .headers = {{"b.h", large}, {"a.h", "text"}}};
  const NvrtcProgram reordered{.source = "a", .headers = {{"a.h", "text"}, {"b.h", large}}};
  const EncodedHeaderSet set({{"a.h", "text"}, {"b.h", large}});
  NvrtcProgram named{.source = "a"};
  named.header_set = std::make_shared<HeaderSet>(HeaderSet{.digest = set.Sha256()});
  CHECK(FingerprintOf(inlined) == FingerprintOf(named));
  CHECK(FingerprintOf(reordered) == FingerprintOf(named));
  CHECK(RandomSeed(inlined, {}) == RandomSeed(named, {}));
}

TEST_CASE("the name of a scratch directory does not change the fingerprint, its option does") {
  const auto with = [](const Texts& options) {
    BuildRequest request;
    request.program = NvrtcProgram{.source = "a", .options = options};
    const Digest toolchain = Sha256("toolchain");
    return Fingerprint({request, toolchain, Parsed(request.kind(), options), {}, false});
  };
  CHECK(with({"--use-bundled-headers=/a"}) == with({"--use-bundled-headers=/b"}));
  CHECK(with({"--use-bundled-headers=/a"}) != with({}));
}

TEST_CASE("each part of the headers beside and in a set changes the fingerprint") {
  const auto with = [](const Digest& set, std::vector<InlineHeader> headers) {
    NvrtcProgram program{.source = "a", .headers = std::move(headers)};
    program.header_set = std::make_shared<HeaderSet>(HeaderSet{.digest = set});
    return FingerprintOf(program);
  };
  const Digest one = with(Sha256("one"), {});
  CHECK(with(Sha256("two"), {}) != one);
  CHECK(with(Sha256("one"), {{"a.h", ""}}) != one);
  CHECK(with(Sha256("one"), {{"a.h", ""}}) != with(Sha256("one"), {{"b.h", ""}}));
  CHECK(FingerprintOf({.source = "a"}) != one);
}

}  // namespace
}  // namespace cccl_cache::header_set_test
