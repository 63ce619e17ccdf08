// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/request_message.h"

#include <cccl_cache/v1/admin.pb.h>
#include <cccl_cache/v1/build.pb.h>

#include <catch2/catch.hpp>
#include <optional>

#include "tests/unit/client/wire_bytes.h"

namespace request_message_test {

namespace v1 = cccl_cache::v1;
using cccl_cache::ByteChain;
using cccl_cache::RequestMessage;

namespace {

cccl_cache_bytes Of(std::string_view text) { return {text.data(), text.size()}; }

v1::BuildRequest Packed(const RequestMessage& request) {
  ByteChain body;
  request.AppendTo(&body);
  CHECK(request.PackedSize() + 5 == body.size());
  return Sent<v1::BuildRequest>(body);
}

cccl_cache_nvrtc Program(std::string_view source) {
  cccl_cache_nvrtc program = {};
  program.struct_size = sizeof(program);
  program.source = Of(source);
  return program;
}

}  // namespace

TEST_CASE("every field of an NVRTC program is in its request") {
  const cccl_cache_bytes options[] = {Of("-a"), Of("-b")};
  const cccl_cache_header headers[] = {{Of("a.h"), Of("A")}};
  const cccl_cache_bytes expressions[] = {Of("f<int>")};
  const cccl_cache_variable variables[] = {{Of("V"), Of("1")}};
  cccl_cache_nvrtc program = Program("source");
  program.name = Of("k.cu");
  program.options = options;
  program.option_count = 2;
  program.headers = headers;
  program.header_count = 1;
  program.name_expressions = expressions;
  program.name_expression_count = 1;
  program.environment = variables;
  program.environment_count = 1;
  program.append_toolchain_headers = 1;
  RequestMessage request;
  REQUIRE(request.SetProgram(program).ok());
  const auto sent = Packed(request).nvrtc();
  CHECK(sent.source().inline_bytes() == "source");
  CHECK(sent.name() == "k.cu");
  CHECK(sent.options(1) == "-b");
  CHECK(sent.headers(0).name() == "a.h");
  CHECK(sent.headers(0).contents().inline_bytes() == "A");
  CHECK(sent.name_expressions(0) == "f<int>");
  CHECK(sent.environment(0).name() == "V");
  CHECK(sent.environment(0).value() == "1");
  CHECK(sent.append_toolchain_headers());
}

TEST_CASE("every field of a link and of NVVM IR is in its request") {
  const cccl_cache_bytes options[] = {Of("-lto")};
  const cccl_cache_link_input inputs[] = {{CCCL_CACHE_INPUT_LTOIR, Of("a"), Of("A")},
                                          {CCCL_CACHE_INPUT_ANY, Of("b"), Of("B")}};
  RequestMessage link;
  REQUIRE(link.SetProgram(cccl_cache_link{sizeof(cccl_cache_link), inputs, 2, options, 1}).ok());
  const auto linked = Packed(link).link();
  CHECK(linked.inputs(0).type() == v1::LINK_INPUT_TYPE_LTOIR);
  CHECK(linked.inputs(1).name() == "b");
  CHECK(linked.inputs(1).contents().inline_bytes() == "B");
  CHECK(linked.options(0) == "-lto");
  const cccl_cache_nvvm_module modules[] = {{Of("m"), Of("M"), 0}, {Of("l"), Of("L"), 1}};
  RequestMessage nvvm;
  REQUIRE(
      nvvm.SetProgram(cccl_cache_nvvm{sizeof(cccl_cache_nvvm), modules, 2, options, 1, 1}).ok());
  const auto compiled = Packed(nvvm).nvvm();
  CHECK_FALSE(compiled.modules(0).lazy());
  CHECK(compiled.modules(1).lazy());
  CHECK(compiled.modules(1).contents().inline_bytes() == "L");
  CHECK(compiled.add_libdevice());
}

TEST_CASE("a request has its options' toolchain, driver, directory and wanted kinds") {
  const cccl_cache_artifact_kind wanted[] = {CCCL_CACHE_PTX, CCCL_CACHE_CUBIN};
  cccl_cache_build_options options = {};
  options.struct_size = sizeof(options);
  options.toolchain_id = Of("0123abcd");
  options.toolchain_version = Of("12.9");
  options.toolchain_major = 12;
  options.driver_version = 13000;
  options.working_directory = Of("/w");
  options.wanted = wanted;
  options.wanted_count = 2;
  RequestMessage request;
  REQUIRE(request.SetOptions(options).ok());
  const auto sent = Packed(request);
  CHECK(sent.toolchain().id() == "0123abcd");
  CHECK(sent.toolchain().version() == "12.9");
  CHECK(sent.toolchain().major() == 12);
  CHECK(sent.driver_version() == 13000);
  CHECK(sent.working_directory() == "/w");
  CHECK(sent.wanted(1) == v1::ARTIFACT_KIND_CUBIN);
}

TEST_CASE("options that do not affect the answer are sent too") {
  cccl_cache_build_options options = {};
  options.struct_size = sizeof(options);
  options.driver_version = 13000;
  options.on_miss = CCCL_CACHE_ON_MISS_REFUSE;
  RequestMessage request;
  REQUIRE(request.SetOptions(options, cccl_cache::BuildPriority::kWarmUp).ok());
  const auto sent = Packed(request);
  CHECK(sent.driver_version() == 13000);
  CHECK(sent.has_files_view());
  CHECK(sent.priority() == v1::PRIORITY_WARM_UP);
  CHECK(sent.on_miss() == v1::ON_MISS_REFUSE);
  CHECK(sent.min_api_minor() == 3);
  CHECK_FALSE(request.may_be_compiled());
}

TEST_CASE("a text with a NUL is refused by the name of its field; contents may have NULs") {
  const std::string nul("a\0b", 3);
  RequestMessage contents;
  CHECK(contents.SetProgram(Program(nul)).ok());
  CHECK(Packed(contents).nvrtc().source().inline_bytes() == nul);
  cccl_cache_nvrtc program = Program("source");
  const cccl_cache_bytes options[] = {Of(nul)};
  program.options = options;
  program.option_count = 1;
  RequestMessage option;
  const auto refused = option.SetProgram(program);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().status == CCCL_CACHE_INVALID_REQUEST);
  CHECK(refused.error().message == "nvrtc.options holds a NUL: only contents may");
  cccl_cache_build_options given = {};
  given.working_directory = Of(nul);
  RequestMessage directory;
  CHECK(directory.SetOptions(given).error().message.starts_with("working_directory holds"));
}

TEST_CASE("contents belong to the caller until they are copied") {
  std::string source = "source";
  RequestMessage request;
  REQUIRE(request.SetProgram(Program(source)).ok());
  source[0] = 'S';
  CHECK(Packed(request).nvrtc().source().inline_bytes() == "Source");
  request.CopyContents();
  source[0] = 'X';
  CHECK(Packed(request).nvrtc().source().inline_bytes() == "Source");
}

TEST_CASE("uploaded contents are named by their digest until InlineAll is called") {
  RequestMessage request;
  REQUIRE(request.SetProgram(Program("source")).ok());
  REQUIRE(request.blobs().size() == 1);
  request.NameUpload(0, std::string(32, 'd'));
  const auto named = Packed(request).nvrtc().source();
  CHECK(named.inline_bytes().empty());
  CHECK(named.upload_sha256() == std::string(32, 'd'));
  request.InlineAll();
  const auto inlined = Packed(request).nvrtc().source();
  CHECK(inlined.inline_bytes() == "source");
  CHECK(inlined.upload_sha256().empty());
}

TEST_CASE("the messages around a request add at most kAround bytes") {
  RequestMessage request;
  REQUIRE(request.SetProgram(Program("source")).ok());
  const size_t most = request.PackedSize() + RequestMessage::kAround + 5;
  ByteChain question;
  request.AppendQuestionTo(&question);
  CHECK(Sent<v1::ExplainRequest>(question).build().nvrtc().source().inline_bytes() == "source");
  CHECK(question.size() <= most);
  ByteChain with_files;
  request.AppendWithFilesTo(&with_files);
  CHECK(Sent<v1::BuildWithFilesRequest>(with_files).build().has_nvrtc());
  CHECK(with_files.size() <= most);
  ByteChain tagged;
  request.AppendTaggedTo(UINT64_MAX, &tagged);
  CHECK(Sent<v1::BuildManyRequest>(tagged).tag() == UINT64_MAX);
  CHECK(tagged.size() <= most);
}

}  // namespace request_message_test
