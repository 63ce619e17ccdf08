// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// A client's BuildRequest. An accepted one keeps every limit and equals the result of protobuf's
// parser, which accepts only UTF-8. The result does not depend on the division into pieces.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cccl_cache/v1/build.pb.h"
#include "daemon/service/wire/build_request.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache::daemon;
namespace v1 = cccl_cache::v1;

/// Small limits, so that the fuzzer reaches each of them.
ServiceLimits Limits() {
  ServiceLimits limits;
  limits.source_bytes = 256;
  limits.headers = 4;
  limits.options = 5;
  limits.option_bytes = 32;
  limits.name_bytes = 16;
  return limits;
}

std::string Headers() {
  v1::HeaderSet set;
  auto& header = *set.add_headers();
  header.set_name("h.h");
  header.mutable_contents()->set_inline_bytes("text");
  return set.SerializeAsString();
}

Result<ConvertedRequest> ReadIn(size_t piece, std::string_view bytes) {
  std::vector<std::string_view> pieces;
  for (size_t at = 0; at < bytes.size(); at += piece) pieces.push_back(bytes.substr(at, piece));
  cccl_cache::ProtoReader message(pieces);
  return ReadBuild(message, Limits(), [](const cccl_cache::Digest& digest) {
    if (digest.bytes[0] == 'h') return std::make_shared<const std::string>(Headers());
    const bool known = digest.bytes[0] == 'd';
    return known ? std::make_shared<const std::string>("uploaded") : nullptr;
  });
}

void CheckText(const std::string& text, uint64_t limit, uint64_t& bytes) {
  assert(text.size() <= limit && text.find('\0') == std::string::npos);
  bytes += text.size();
}

void CheckTexts(const std::vector<std::string>& texts, uint64_t& bytes) {
  assert(texts.size() <= Limits().options);
  for (const std::string& text : texts) CheckText(text, Limits().option_bytes, bytes);
}

void CheckProgram(const cccl_cache::NvrtcProgram& program, uint64_t& bytes) {
  CheckText(program.source, Limits().source_bytes, bytes);
  CheckText(program.name, Limits().name_bytes, bytes);
  CheckTexts(program.options, bytes);
  assert(program.headers.size() <= Limits().headers);
  for (const cccl_cache::InlineHeader& header : program.headers) {
    CheckText(header.name, Limits().name_bytes, bytes);
    CheckText(header.contents, Limits().source_bytes, bytes);
  }
  if (program.header_set != nullptr) {
    assert(program.header_set->headers.size() == (program.header_set->has_contents() ? 1 : 0));
  }
  CheckTexts(program.name_expressions, bytes);
  assert(program.environment.size() <= Limits().options);
}

void CheckProgram(const cccl_cache::LinkProgram& program, uint64_t& bytes) {
  assert(program.inputs.size() <= Limits().options);
  for (const cccl_cache::LinkInput& input : program.inputs) {
    assert(input.type <= cccl_cache::LinkInputType::kLibrary);
    CheckText(input.name, Limits().name_bytes, bytes);
    bytes += input.contents.size();
  }
  CheckTexts(program.options, bytes);
}

void CheckProgram(const cccl_cache::NvvmProgram& program, uint64_t& bytes) {
  assert(program.modules.size() <= Limits().options);
  for (const cccl_cache::NvvmModule& module : program.modules) {
    CheckText(module.name, Limits().name_bytes, bytes);
    bytes += module.contents.size();
  }
  CheckTexts(program.options, bytes);
}

/// Checks that an accepted request keeps every limit.
void CheckConverted(const ConvertedRequest& converted) {
  assert(converted.request != nullptr);
  const cccl_cache::BuildRequest& request = *converted.request;
  uint64_t bytes = 0;
  std::visit([&](const auto& program) { CheckProgram(program, bytes); }, request.program);
  assert(bytes <= converted.bytes);
  assert(converted.wanted.size() <= 4);
  const int selected = static_cast<int>(!request.toolchain.id.empty()) +
                       static_cast<int>(!request.toolchain.version.empty()) +
                       static_cast<int>(request.toolchain.major != 0);
  assert(selected <= 1);
  assert(request.working_directory.empty() || request.working_directory.starts_with('/'));
}

/// Checks that the request equals the result of protobuf's parser.
void CheckUnderstood(const cccl_cache::BuildRequest& read, const v1::BuildRequest& parsed) {
  assert(read.driver_version == parsed.driver_version());
  const bool known = v1::Priority_IsValid(parsed.priority());
  const int priority = known ? parsed.priority() : v1::PRIORITY_NORMAL;
  assert(static_cast<int>(read.priority) == priority);
  const bool known_action = v1::OnMiss_IsValid(parsed.on_miss());
  const int on_miss = known_action ? parsed.on_miss() : v1::ON_MISS_WAIT;
  assert(static_cast<int>(read.on_miss) == on_miss);
  assert(read.working_directory == parsed.working_directory());
  if (const auto* nvrtc = std::get_if<cccl_cache::NvrtcProgram>(&read.program)) {
    assert(parsed.has_nvrtc() && nvrtc->name == parsed.nvrtc().name());
    assert(nvrtc->options.size() == static_cast<size_t>(parsed.nvrtc().options_size()));
    assert(nvrtc->headers.size() == static_cast<size_t>(parsed.nvrtc().headers_size()));
    for (size_t i = 0; i < nvrtc->headers.size(); ++i) {
      assert(nvrtc->headers[i].name == parsed.nvrtc().headers(static_cast<int>(i)).name());
    }
  } else if (const auto* link = std::get_if<cccl_cache::LinkProgram>(&read.program)) {
    assert(parsed.has_link());
    assert(link->inputs.size() == static_cast<size_t>(parsed.link().inputs_size()));
  } else {
    const auto& nvvm = std::get<cccl_cache::NvvmProgram>(read.program);
    assert(parsed.has_nvvm());
    assert(nvvm.modules.size() == static_cast<size_t>(parsed.nvvm().modules_size()));
    assert(nvvm.add_libdevice == parsed.nvvm().add_libdevice());
  }
}

v1::BuildRequest NvrtcRequest() {
  v1::BuildRequest request;
  auto& program = *request.mutable_nvrtc();
  program.mutable_source()->set_inline_bytes("__global__ void f() {}");
  program.set_name("program.cu");
  program.add_options("-arch=sm_90");
  program.add_name_expressions("f");
  program.set_append_toolchain_headers(true);
  program.set_header_set_sha256(std::string(32, 'h'));
  auto& header = *program.add_headers();
  header.set_name("a.h");
  header.mutable_contents()->set_upload_sha256(std::string(32, 'd'));
  auto& variable = *program.add_environment();
  variable.set_name("NVRTC_APPEND_FLAGS");
  variable.set_value("-G");
  request.set_working_directory("/home");
  request.set_driver_version(13000);
  request.set_priority(v1::PRIORITY_WARM_UP);
  request.set_on_miss(v1::ON_MISS_REFUSE);
  request.mutable_toolchain()->set_version("12.9");
  request.add_wanted(v1::ARTIFACT_KIND_CUBIN);
  return request;
}

v1::BuildRequest LinkRequest() {
  v1::BuildRequest request;
  auto& input = *request.mutable_link()->add_inputs();
  input.set_type(v1::LINK_INPUT_TYPE_LTOIR);
  input.set_name("a");
  input.mutable_contents()->set_inline_bytes("ltoir");
  request.mutable_link()->add_options("-lto");
  request.mutable_toolchain()->set_major(13);
  return request;
}

v1::BuildRequest NvvmRequest() {
  v1::BuildRequest request;
  auto& module = *request.mutable_nvvm()->add_modules();
  module.set_name("m");
  module.mutable_contents()->set_inline_bytes("define void @f() {}");
  module.set_lazy(true);
  request.mutable_nvvm()->add_options("-arch=compute_90");
  request.mutable_nvvm()->set_add_libdevice(true);
  return request;
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  return {NvrtcRequest().SerializeAsString(), LinkRequest().SerializeAsString(),
          NvvmRequest().SerializeAsString()};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = ReadIn(std::max<size_t>(size, 1), bytes);
  const auto again = ReadIn(3, bytes);
  assert(again.ok() == read.ok());
  if (!read.ok()) {
    assert(!read.error().message.empty() && again.error().message == read.error().message);
    return 0;
  }
  CheckConverted(*read);
  v1::BuildRequest parsed;
  if (!parsed.ParseFromArray(data, static_cast<int>(size))) {
    assert(std::ranges::any_of(bytes, [](char byte) { return (byte & 0x80) != 0; }));
    return 0;
  }
  CheckUnderstood(*read->request, parsed);
  return 0;
}
