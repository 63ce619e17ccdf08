// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <set>

#include "client/src/wire/request_message.h"

namespace build_request_test {

using cccl_cache::RequestMessage;

namespace {

cccl_cache_bytes Of(const char* text) { return {text, std::char_traits<char>::length(text)}; }

template <typename Program>
std::unique_ptr<RequestMessage> Message(const Program& program,
                                        const cccl_cache_build_options& options) {
  auto request = std::make_unique<RequestMessage>();
  CHECK(request->SetProgram(program).ok());
  CHECK(request->SetNamedOptions(options).ok());
  return request;
}

/// A request with every field set.
struct Request {
  cccl_cache_bytes source = Of("source");
  cccl_cache_bytes name = Of("name");
  std::vector<cccl_cache_bytes> options = {Of("-a"), Of("-b")};
  std::vector<cccl_cache_header> headers = {{Of("a.h"), Of("A")}};
  std::vector<cccl_cache_bytes> expressions = {Of("f")};
  std::vector<cccl_cache_variable> variables = {{Of("V"), Of("1")}};
  int32_t toolchain_headers = 0;
  std::vector<cccl_cache_artifact_kind> wanted = {CCCL_CACHE_CUBIN};
  cccl_cache_build_options build = {.struct_size = sizeof(build),
                                    .toolchain_id = Of("id"),
                                    .toolchain_version = Of("12.9"),
                                    .toolchain_major = 12,
                                    .driver_version = 13000,
                                    .working_directory = Of("/w")};

  /// Calls `then` with the request's message.
  template <typename Then>
  auto Use(Then then) const {
    cccl_cache_nvrtc program = {};
    program.struct_size = sizeof(program);
    program.source = source;
    program.name = name;
    program.options = options.data();
    program.option_count = options.size();
    program.headers = headers.data();
    program.header_count = headers.size();
    program.name_expressions = expressions.data();
    program.name_expression_count = expressions.size();
    program.environment = variables.data();
    program.environment_count = variables.size();
    program.append_toolchain_headers = toolchain_headers;
    cccl_cache_build_options given = build;
    given.wanted = wanted.data();
    given.wanted_count = wanted.size();
    return then(*Message(program, given));
  }
  [[nodiscard]] std::string Bytes() const {
    return Use([](const RequestMessage& request) { return request.Name(); });
  }
  [[nodiscard]] size_t Hash() const {
    return Use([](const RequestMessage& request) { return request.HashOfName(); });
  }
};

std::string Linked(cccl_cache_link_input_type type, const char* name, const char* contents,
                   const std::vector<cccl_cache_bytes>& options = {}) {
  const cccl_cache_link_input input = {type, Of(name), Of(contents)};
  const cccl_cache_link link = {sizeof(link), &input, 1, options.data(), options.size()};
  return Message(link, Request().build)->Name();
}

std::string Module(const char* name, const char* contents, bool lazy, bool libdevice,
                   const std::vector<cccl_cache_bytes>& options = {}) {
  const cccl_cache_nvvm_module module = {Of(name), Of(contents), lazy ? 1 : 0};
  const cccl_cache_nvvm nvvm = {sizeof(nvvm),   &module,        1,
                                options.data(), options.size(), libdevice ? 1 : 0};
  return Message(nvvm, Request().build)->Name();
}

}  // namespace

TEST_CASE("equal requests have equal names, wherever their texts are in memory") {
  const std::string elsewhere = "source";
  Request copy;
  copy.source = {elsewhere.data(), elsewhere.size()};
  CHECK(copy.Bytes() == Request().Bytes());
  CHECK(copy.Hash() == Request().Hash());
  CHECK(copy.Use([](const RequestMessage& request) { return request.HasName(Request().Bytes()); }));
}

TEST_CASE("each field that affects the answer changes the request's name") {
  const std::function<void(Request&)> changes[] = {
      [](Request&) {}, [](Request& r) { r.source = Of("other"); },
      [](Request& r) { r.name = Of("other"); },
      [](Request& r) {
        r.options = {Of("-b"), Of("-a")};
      },
      [](Request& r) { r.options = {Of("-a-b")}; },
      [](Request& r) {
        r.options = {Of("-a")};
        r.expressions = {Of("-b"), Of("f")};
      },
      [](Request& r) {
        r.headers = {{Of("a.hA"), Of("")}};
      },
      [](Request& r) {
        r.headers = {{Of(""), Of("a.hA")}};
      },
      [](Request& r) {
        r.wanted = {CCCL_CACHE_PTX, CCCL_CACHE_CUBIN};
      },
      [](Request& r) {
        r.wanted = {CCCL_CACHE_CUBIN, CCCL_CACHE_PTX};
      },
      [](Request& r) { r.headers[0].name = Of("b.h"); },
      [](Request& r) { r.headers[0].contents = Of("B"); }, [](Request& r) { r.headers.clear(); },
      [](Request& r) { r.expressions = {Of("g")}; },
      [](Request& r) { r.variables[0].name = Of("W"); },
      [](Request& r) { r.variables[0].value = Of("2"); },
      [](Request& r) { r.toolchain_headers = 1; }, [](Request& r) { r.wanted = {CCCL_CACHE_PTX}; },
      [](Request& r) { r.wanted.clear(); }, [](Request& r) { r.build.toolchain_id = Of("ie"); },
      [](Request& r) { r.build.toolchain_version = Of("13.0"); },
      [](Request& r) { r.build.toolchain_major = 13; },
      [](Request& r) { r.build.driver_version = 12000; },
      [](Request& r) { r.build.working_directory = Of("/v"); },
      // The same letters, divided differently.
      [](Request& r) {
        r.source = Of("sourcen");
        r.name = Of("ame");
      }};
  std::set<std::string> bytes;
  for (const auto& change : changes) {
    Request request;
    change(request);
    CHECK(bytes.insert(request.Bytes()).second);
  }
}

TEST_CASE("options that do not affect the answer, and an upload, keep the request's name") {
  const Request whole;
  whole.Use([&whole](RequestMessage& request) {
    const std::string name = request.Name();
    cccl_cache_build_options options = whole.build;
    options.wanted = whole.wanted.data();
    options.wanted_count = whole.wanted.size();
    options.timeout_ms = 7;
    options.on_miss = CCCL_CACHE_ON_MISS_REFUSE;
    CHECK(request.SetOptions(options, cccl_cache::BuildPriority::kWarmUp).ok());
    request.NameUpload(0, std::string(32, 'd'));
    CHECK(request.Name() == name);
    CHECK(request.HasName(name));
  });
}

TEST_CASE("each type, name, content, flag and option of a link or NVVM request is in its name") {
  const std::set<std::string> all = {Request().Bytes(),
                                     Linked(CCCL_CACHE_INPUT_PTX, "a", "x"),
                                     Linked(CCCL_CACHE_INPUT_LTOIR, "a", "x"),
                                     Linked(CCCL_CACHE_INPUT_PTX, "b", "x"),
                                     Linked(CCCL_CACHE_INPUT_PTX, "a", "y"),
                                     Module("a", "x", false, false),
                                     Module("b", "x", false, false),
                                     Module("a", "y", false, false),
                                     Module("a", "x", true, false),
                                     Module("a", "x", false, true),
                                     Linked(CCCL_CACHE_INPUT_PTX, "a", "x", {Of("-o")}),
                                     Module("a", "x", false, false, {Of("-o")})};
  CHECK(all.size() == 12);
}

TEST_CASE("HasName is false for a longer, shorter, empty or changed name") {
  const std::string bytes = Request().Bytes();
  Request().Use([&](const RequestMessage& request) {
    CHECK(request.HasName(bytes));
    CHECK_FALSE(request.HasName(bytes + "x"));
    CHECK_FALSE(request.HasName(std::string_view(bytes).substr(0, bytes.size() - 1)));
    CHECK_FALSE(request.HasName(""));
    std::string last = bytes;
    ++last.back();
    CHECK_FALSE(request.HasName(last));
  });
}

}  // namespace build_request_test
