// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// What a client sends as a BuildRequest: counted, parsed, converted.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/service/convert.h"
#include "daemon/service/field_count.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cached;
namespace v1 = cccl_cache::v1;

/// Small, so that the fuzzer meets each of them.
ServiceLimits Limits() {
  ServiceLimits limits;
  limits.source_bytes = 256;
  limits.headers = 4;
  limits.options = 5;
  limits.option_bytes = 32;
  limits.name_bytes = 16;
  return limits;
}

bool Countable(const uint8_t* data, size_t size, int block) {
  google::protobuf::io::ArrayInputStream stream(data, static_cast<int>(size), block);
  return CheckFieldCounts(stream, Limits()).ok();
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

/// What is let in keeps every bound.
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

v1::BuildRequest NvrtcRequest() {
  v1::BuildRequest request;
  auto& program = *request.mutable_nvrtc();
  program.mutable_source()->set_inline_bytes("__global__ void f() {}");
  program.set_name("program.cu");
  program.add_options("-arch=sm_90");
  program.add_name_expressions("f");
  program.set_append_toolchain_headers(true);
  auto& header = *program.add_headers();
  header.set_name("a.h");
  header.mutable_contents()->set_upload_sha256(std::string(32, 'd'));
  auto& variable = *program.add_environment();
  variable.set_name("NVRTC_APPEND_FLAGS");
  variable.set_value("-G");
  request.set_working_directory("/home");
  request.set_driver_version(13000);
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
  const bool countable = Countable(data, size, 64);
  assert(Countable(data, size, 5) == countable);
  if (!countable) return 0;
  v1::BuildRequest message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  // What was counted is what is parsed.
  assert(message.nvrtc().headers_size() <= static_cast<int>(Limits().headers));
  assert(message.nvrtc().options_size() <= static_cast<int>(Limits().options));
  const auto converted =
      FromProto(std::move(message), Limits(), [](const cccl_cache::Digest& digest) {
        const bool known = digest.bytes[0] == 'd';
        return known ? std::make_shared<const std::string>("uploaded") : nullptr;
      });
  if (converted.ok()) {
    CheckConverted(*converted);
  } else {
    assert(!converted.error().message.empty());
  }
  return 0;
}
