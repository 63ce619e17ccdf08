// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/convert.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

namespace cccl_cached {
namespace {

namespace v1 = cccl_cache::v1;

std::shared_ptr<const std::string> NoUpload(const cccl_cache::Digest&) { return nullptr; }

Result<ConvertedRequest> Convert(v1::BuildRequest message, const ServiceLimits& limits = {}) {
  return FromProto(std::move(message), limits, NoUpload);
}

std::string MessageOf(v1::BuildRequest message, const ServiceLimits& limits = {}) {
  auto result = Convert(std::move(message), limits);
  if (result.ok()) return "accepted";
  CHECK(result.error().code == ErrorCode::kInvalidRequest);
  return result.error().message;
}

v1::BuildRequest Nvrtc() {
  v1::BuildRequest request;
  request.mutable_nvrtc()->mutable_source()->set_inline_bytes("source");
  return request;
}

TEST_CASE("every field of an nvrtc request arrives") {
  v1::BuildRequest message = Nvrtc();
  auto* program = message.mutable_nvrtc();
  program->set_name("kernel.cu");
  program->add_options("-arch=sm_90");
  program->add_options("-DX");
  auto* header = program->add_headers();
  header->set_name("a.h");
  header->mutable_contents()->set_inline_bytes("int a;");
  program->add_name_expressions("f<int>");
  auto* variable = program->add_environment();
  variable->set_name("NVRTC_APPEND_FLAGS");
  variable->set_value("-lineinfo");
  program->set_append_toolchain_headers(true);
  message.mutable_toolchain()->set_version("12.9");
  message.set_driver_version(13000);
  message.set_working_directory("/home");
  message.mutable_files_view()->set_mount_namespace(1);
  message.mutable_files_view()->set_root_device(2);
  message.mutable_files_view()->set_root_inode(3);
  message.mutable_files_view()->set_root_mount(4);
  message.add_wanted(v1::ARTIFACT_KIND_CUBIN);
  message.add_wanted(v1::ARTIFACT_KIND_CUBIN);
  auto result = Convert(message);
  REQUIRE(result.ok());
  const auto& request = *result->request;
  const auto& nvrtc = std::get<cccl_cache::NvrtcProgram>(request.program);
  CHECK(nvrtc.source == "source");
  CHECK(nvrtc.name == "kernel.cu");
  CHECK(nvrtc.options == std::vector<std::string>{"-arch=sm_90", "-DX"});
  REQUIRE(nvrtc.headers.size() == 1);
  CHECK(nvrtc.headers[0].name == "a.h");
  CHECK(nvrtc.headers[0].contents == "int a;");
  CHECK(nvrtc.name_expressions == std::vector<std::string>{"f<int>"});
  REQUIRE(nvrtc.environment.size() == 1);
  CHECK(nvrtc.environment[0].second == "-lineinfo");
  CHECK(nvrtc.append_toolchain_headers);
  CHECK(request.toolchain.version == "12.9");
  CHECK(request.driver_version == 13000);
  CHECK(request.working_directory == "/home");
  CHECK(request.files_view == cccl_cache::FilesView{1, 2, 3, 4});
  CHECK(result->wanted == std::vector{cccl_cache::ArtifactKind::kCubin});
}

TEST_CASE("every field of a link and of an nvvm request arrives") {
  v1::BuildRequest link;
  auto* input = link.mutable_link()->add_inputs();
  input->set_type(v1::LINK_INPUT_TYPE_LTOIR);
  input->set_name("a.ltoir");
  input->mutable_contents()->set_inline_bytes(std::string("\0\1", 2));
  link.mutable_link()->add_options("-lto");
  auto linked = Convert(link);
  REQUIRE(linked.ok());
  const auto& program = std::get<cccl_cache::LinkProgram>(linked->request->program);
  REQUIRE(program.inputs.size() == 1);
  CHECK(program.inputs[0].type == cccl_cache::LinkInputType::kLtoIr);
  CHECK(program.inputs[0].contents == std::string("\0\1", 2));
  CHECK(program.options == std::vector<std::string>{"-lto"});

  v1::BuildRequest nvvm;
  auto* module = nvvm.mutable_nvvm()->add_modules();
  module->set_name("m");
  module->mutable_contents()->set_inline_bytes("ir");
  module->set_lazy(true);
  nvvm.mutable_nvvm()->set_add_libdevice(true);
  auto converted = Convert(nvvm);
  REQUIRE(converted.ok());
  const auto& modules = std::get<cccl_cache::NvvmProgram>(converted->request->program);
  REQUIRE(modules.modules.size() == 1);
  CHECK(modules.modules[0].lazy);
  CHECK(modules.add_libdevice);
}

TEST_CASE("an empty source is accepted") {
  v1::BuildRequest message;
  message.mutable_nvrtc();
  CHECK(MessageOf(message) == "accepted");
}

TEST_CASE("exactly one program must be set") {
  CHECK(MessageOf({}) == "exactly one of nvrtc, link and nvvm must be set");
  v1::BuildRequest two = Nvrtc();
  two.mutable_link();
  CHECK(MessageOf(two) == "exactly one of nvrtc, link and nvvm must be set");
}

TEST_CASE("zero bytes are refused by the name of the field") {
  const std::string zero("a\0b", 3);
  auto refused = [&](auto&& set) {
    v1::BuildRequest message = Nvrtc();
    set(*message.mutable_nvrtc());
    return MessageOf(message);
  };
  CHECK(refused([&](auto& p) { p.set_name(zero); }) == "nvrtc.name: holds a zero byte");
  CHECK(refused([&](auto& p) { p.add_options(zero); }) == "nvrtc.options: holds a zero byte");
  CHECK(refused([&](auto& p) { p.add_headers()->set_name(zero); }) ==
        "nvrtc.headers.name: holds a zero byte");
  CHECK(refused([&](auto& p) { p.add_name_expressions(zero); }) ==
        "nvrtc.name_expressions: holds a zero byte");
  CHECK(refused([&](auto& p) {
          p.mutable_source()->set_inline_bytes(zero);
        }).starts_with("nvrtc.source: holds a zero byte"));
}

TEST_CASE("what is too long is refused by the name of the field and the limit") {
  ServiceLimits limits;
  limits.name_bytes = 10;
  limits.option_bytes = 20;
  limits.source_bytes = 30;
  limits.options = 2;
  limits.headers = 2;
  auto refused = [&](auto&& set) {
    v1::BuildRequest message = Nvrtc();
    set(*message.mutable_nvrtc());
    return MessageOf(message, limits);
  };
  CHECK(refused([](auto& p) { p.set_name(std::string(11, 'n')); }) ==
        "nvrtc.name: 11 bytes long, at most 10 are allowed");
  CHECK(refused([](auto& p) { p.add_options(std::string(21, 'n')); }) ==
        "nvrtc.options: 21 bytes long, at most 20 are allowed");
  CHECK(refused([](auto& p) {
          for (int i = 0; i < 3; ++i) p.add_options("x");
        }) == "nvrtc.options: 3 entries, at most 2 are allowed");
  CHECK(refused([](auto& p) {
          for (int i = 0; i < 3; ++i) p.add_headers();
        }) == "nvrtc.headers: 3 entries, at most 2 are allowed");
  CHECK(refused([](auto& p) {
          p.add_headers()->mutable_contents()->set_inline_bytes(std::string(25, 'h'));
        }).find("larger than 30 bytes") != std::string::npos);
}

TEST_CASE("values that mean nothing are refused") {
  v1::BuildRequest message = Nvrtc();
  message.set_working_directory("relative");
  CHECK(MessageOf(message) == "working_directory: must be absolute");
  message = Nvrtc();
  message.add_wanted(static_cast<v1::ArtifactKind>(99));
  CHECK(MessageOf(message) == "wanted: 99 is not a kind of artifact");
  message = Nvrtc();
  message.mutable_toolchain()->set_major(12);
  message.mutable_toolchain()->set_version("12.9");
  CHECK(MessageOf(message) == "toolchain: set at most one of id, version and major");
  message = Nvrtc();
  message.set_min_api_minor(1000);
  CHECK(MessageOf(message).starts_with("min_api_minor: the request needs 1000"));
  v1::BuildRequest link;
  link.mutable_link()->add_inputs()->set_type(static_cast<v1::LinkInputType>(42));
  CHECK(MessageOf(link) == "link.inputs.type: 42 is not a type of input");
}

TEST_CASE("an upload stands for its bytes") {
  const auto digest = cccl_cache::Sha256("uploaded");
  v1::BuildRequest message;
  message.mutable_nvrtc()->mutable_source()->set_upload_sha256(std::string(digest.View()));
  auto result = FromProto(v1::BuildRequest(message), {}, [&](const cccl_cache::Digest& asked) {
    CHECK(asked == digest);
    return std::make_shared<const std::string>("uploaded");
  });
  REQUIRE(result.ok());
  CHECK(std::get<cccl_cache::NvrtcProgram>(result->request->program).source == "uploaded");
  CHECK(result->bytes >= 8);

  auto unknown = Convert(message);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == ErrorCode::kUploadNeeded);
  CHECK(unknown.error().message.find(digest.Hex()) != std::string::npos);

  message.mutable_nvrtc()->mutable_source()->set_upload_sha256("short");
  CHECK(MessageOf(message) == "nvrtc.source.upload_sha256: 5 bytes long, a SHA-256 has 32");
}

}  // namespace
}  // namespace cccl_cached
