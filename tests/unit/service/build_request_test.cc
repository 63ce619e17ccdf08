// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/build_request.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cccl_cache/v1/build.pb.h"

namespace cccl_cache::daemon::build_request_test {
namespace {

namespace v1 = cccl_cache::v1;

const std::string kWayOut = ": send fewer, or put headers into a directory and name it with -I";

std::shared_ptr<const std::string> NoUpload(const cccl_cache::Digest&) { return nullptr; }

/// Reads the bytes in pieces of this size.
Result<ConvertedRequest> Read(std::string_view bytes, const ServiceLimits& limits = {},
                              const FindUpload& find_upload = NoUpload, size_t piece = 7) {
  std::vector<std::string_view> pieces{{}};
  for (size_t at = 0; at < bytes.size(); at += piece) pieces.push_back(bytes.substr(at, piece));
  ProtoReader input(pieces);
  return ReadBuild(input, limits, find_upload);
}

Result<ConvertedRequest> Convert(const v1::BuildRequest& message,
                                 const ServiceLimits& limits = {}) {
  return Read(message.SerializeAsString(), limits);
}

std::string MessageOf(const v1::BuildRequest& message, const ServiceLimits& limits = {}) {
  auto result = Convert(message, limits);
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
  message.set_priority(v1::PRIORITY_WARM_UP);
  message.set_on_miss(v1::ON_MISS_FINISH);
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
  CHECK(nvrtc.environment[0].value == "-lineinfo");
  CHECK(nvrtc.append_toolchain_headers);
  CHECK(request.toolchain.version == "12.9");
  CHECK(request.driver_version == 13000);
  CHECK(request.working_directory == "/home");
  CHECK(request.files_view == cccl_cache::FilesView{1, 2, 3, 4});
  CHECK(result->wanted == std::vector{cccl_cache::ArtifactKind::kCubin});
  CHECK(request.priority == cccl_cache::BuildPriority::kWarmUp);
  CHECK(request.on_miss == cccl_cache::MissAction::kFinish);
}

TEST_CASE("a priority that this daemon does not know counts as normal") {
  for (const int number : {-1, 3}) {
    v1::BuildRequest message = Nvrtc();
    message.set_priority(static_cast<v1::Priority>(number));
    const auto result = Convert(message);
    REQUIRE(result.ok());
    CHECK(result->request->priority == cccl_cache::BuildPriority::kNormal);
  }
}

TEST_CASE("an unknown value of on_miss counts as wait") {
  for (const int number : {-1, 3}) {
    v1::BuildRequest message = Nvrtc();
    message.set_on_miss(static_cast<v1::OnMiss>(number));
    const auto result = Convert(message);
    REQUIRE(result.ok());
    CHECK(result->request->on_miss == cccl_cache::MissAction::kWait);
  }
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

TEST_CASE("a request without exactly one program is refused") {
  CHECK(MessageOf({}) == "exactly one of nvrtc, link and nvvm must be set");
  v1::BuildRequest two = Nvrtc();
  two.mutable_link();
  CHECK(MessageOf(two) == "exactly one of nvrtc, link and nvvm must be set");
}

TEST_CASE("a zero byte in a text is refused with the name of the field") {
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

TEST_CASE("a field that is too long is refused with its name and the limit") {
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
        }) == "nvrtc.options: 3 entries, at most 2 are allowed" + kWayOut);
  CHECK(refused([](auto& p) {
          for (int i = 0; i < 3; ++i) p.add_headers();
        }) == "nvrtc.headers: 3 entries, at most 2 are allowed" + kWayOut);
  CHECK(refused([](auto& p) {
          p.add_headers()->mutable_contents()->set_inline_bytes(std::string(25, 'h'));
        }).find("larger than 30 bytes") != std::string::npos);
}

TEST_CASE("invalid values are refused") {
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

TEST_CASE("an upload's digest is replaced by its bytes") {
  const auto digest = cccl_cache::Sha256("uploaded");
  v1::BuildRequest message;
  message.mutable_nvrtc()->mutable_source()->set_upload_sha256(std::string(digest.View()));
  auto result = Read(message.SerializeAsString(), {}, [&](const cccl_cache::Digest& asked) {
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

TEST_CASE("a request may come in any number of pieces") {
  v1::BuildRequest message = Nvrtc();
  message.mutable_nvrtc()->mutable_source()->set_inline_bytes(std::string(1000, 's'));
  message.mutable_nvrtc()->add_options("-DX=\xC3\xA9");
  const std::string bytes = message.SerializeAsString();
  for (size_t piece : {size_t{1}, size_t{2}, size_t{999}, bytes.size()}) {
    const auto result = Read(bytes, {}, NoUpload, piece);
    REQUIRE(result.ok());
    const auto& program = std::get<cccl_cache::NvrtcProgram>(result->request->program);
    CHECK(program.source == std::string(1000, 's'));
    CHECK(program.options == std::vector<std::string>{"-DX=\xC3\xA9"});
  }
}

TEST_CASE("fields that this version does not know are skipped") {
  std::string bytes = Nvrtc().SerializeAsString();
  bytes += std::string("\xA0\x06\x07", 3);                    // 100: a number
  bytes += std::string("\xA2\x06\x02hi", 5);                  // 100: bytes
  bytes += std::string("\xA5\x06", 2) + std::string(4, 'x');  // 100: four bytes
  bytes += std::string("\xA1\x06", 2) + std::string(8, 'x');  // 100: eight bytes
  CHECK(Read(bytes).ok());
}

TEST_CASE("lists of the maximum length are accepted, and longer ones are refused") {
  v1::BuildRequest message = Nvrtc();
  for (int i = 0; i < 10'000; ++i) message.mutable_nvrtc()->add_headers()->set_name("h");
  for (int i = 0; i < 4096; ++i) message.mutable_nvrtc()->add_options("-DX");
  CHECK(MessageOf(message) == "accepted");
  for (int i = 0; i < 90'000; ++i) message.mutable_nvrtc()->add_headers();
  CHECK(MessageOf(message) == "nvrtc.headers: 100000 entries, at most 10000 are allowed" + kWayOut);
}

TEST_CASE("the numbers of inputs, modules, options, expressions and variables are limited") {
  ServiceLimits limits;
  limits.options = 3;
  auto refused = [&](auto&& add) {
    v1::BuildRequest request;
    for (int i = 0; i < 4; ++i) add(request);
    return MessageOf(request, limits).ends_with("4 entries, at most 3 are allowed" + kWayOut);
  };
  CHECK(refused([](auto& request) { request.mutable_nvrtc()->add_name_expressions(); }));
  CHECK(refused([](auto& request) { request.mutable_nvrtc()->add_environment(); }));
  CHECK(refused([](auto& request) { request.mutable_link()->add_inputs(); }));
  CHECK(refused([](auto& request) { request.mutable_link()->add_options(); }));
  CHECK(refused([](auto& request) { request.mutable_nvvm()->add_modules(); }));
  CHECK(refused([](auto& request) { request.mutable_nvvm()->add_options(); }));
}

TEST_CASE("a repeated program counts as two programs") {
  const std::string bytes = Nvrtc().SerializeAsString();
  const auto result = Read(bytes + bytes);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().message == "exactly one of nvrtc, link and nvvm must be set");
}

TEST_CASE("bytes that are no message are refused") {
  const std::string valid = Nvrtc().SerializeAsString();
  for (const std::string& bytes : {
           std::string("this is not protobuf"),
           std::string("\x0a\xff\xff\xff\xff\x0f", 6),          // longer than the rest
           std::string("\x0a\x05\x0a", 3),                      // cut off
           valid.substr(0, valid.size() - 1),                   // cut off further inside
           valid + std::string("\x0a\x04\x0a\x02\x0a\x05", 6),  // longer than the enclosing message
           valid + std::string("\x0b\x0c", 2),                  // a group
           valid + std::string("\x08\x01", 2),                  // a number in place of a program
           valid + std::string("\x02\x00", 2),                  // not a field's number
           valid + std::string("\x58") + std::string(10, '\xff') + '\x01',  // a number without end
       }) {
    const auto result = Read(bytes);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().message.starts_with("the message is not a cccl_cache.v1.BuildRequest"));
  }
}

TEST_CASE("names and options that are not UTF-8 are accepted unchanged") {
  v1::BuildRequest message = Nvrtc();
  message.set_working_directory("/caf?");
  message.mutable_nvrtc()->set_name("caf?.cu");
  message.mutable_nvrtc()->add_options("-Id?");
  message.mutable_nvrtc()->add_name_expressions("k<'?'>");
  message.mutable_nvrtc()->add_headers()->set_name("?.h");
  std::string bytes = message.SerializeAsString();
  std::replace(bytes.begin(), bytes.end(), '?', '\xE9');
  const auto result = Read(bytes);
  REQUIRE(result.ok());
  const auto& program = std::get<cccl_cache::NvrtcProgram>(result->request->program);
  CHECK(result->request->working_directory == "/caf\xE9");
  CHECK(program.name == "caf\xE9.cu");
  CHECK(program.options == std::vector<std::string>{"-Id\xE9"});
  CHECK(program.name_expressions == std::vector<std::string>{"k<'\xE9'>"});
  CHECK(program.headers.at(0).name == "\xE9.h");
}

TEST_CASE("a build inside another message is decoded, and the other fields are skipped") {
  v1::BuildManyRequest message;
  message.set_tag(7);
  *message.mutable_build() = Nvrtc();
  auto read = [](const std::string& bytes) {
    const std::string_view view = bytes;
    ProtoReader input(view);
    return ReadNestedBuild(input, v1::BuildManyRequest::kBuildFieldNumber, {}, NoUpload);
  };
  const std::string bytes = message.SerializeAsString();
  REQUIRE(read(bytes).ok());
  CHECK(std::get<cccl_cache::NvrtcProgram>(read(bytes)->request->program).source == "source");
  CHECK_FALSE(read(bytes + bytes).ok());
  CHECK_FALSE(read("").ok());
  CHECK_FALSE(read(bytes.substr(0, bytes.size() - 1)).ok());
}

const std::string kUploaded = "uploaded";

struct Scene {
  ServiceLimits limits{.source_bytes = 20, .option_bytes = 8, .name_bytes = 4};
  FindUpload find_upload = [](const cccl_cache::Digest& digest) {
    return digest == cccl_cache::Sha256(kUploaded) ? std::make_shared<const std::string>(kUploaded)
                                                   : nullptr;
  };
  RequestFields fields{limits, find_upload};

  [[nodiscard]] std::string Wrong() const { return fields.error()->message; }
};

Blob Upload(const std::string& contents) {
  return {"", std::string(cccl_cache::Sha256(contents).View())};
}

TEST_CASE("texts and contents are returned, and their bytes are counted") {
  Scene scene;
  CHECK(scene.fields.Name("name", "k.cu") == "k.cu");
  CHECK(scene.fields.Option("option", "-G") == "-G");
  CHECK(scene.fields.Contents("input", {std::string("\0bin", 4), ""}).size() == 4);
  CHECK(scene.fields.SourceText("source", Upload(kUploaded)) == kUploaded);
  CHECK_FALSE(scene.fields.error());
  CHECK(scene.fields.bytes() == 4 + 2 + 4 + 8);
}

TEST_CASE("the size of all contents together is limited, uploads included") {
  Scene scene;
  static_cast<void>(scene.fields.Contents("a", {std::string(12, 'x'), ""}));
  CHECK_FALSE(scene.fields.error());
  CHECK(scene.fields.Contents("b", Upload(kUploaded)) == kUploaded);
  CHECK_FALSE(scene.fields.error());
  CHECK(scene.fields.Contents("c", Upload(kUploaded)).empty());
  CHECK(scene.Wrong().starts_with("c: source, headers and inputs together are larger than 20"));
}

std::string OneHeader(const std::string& name) {
  v1::HeaderSet set;
  auto& header = *set.add_headers();
  header.set_name(name);
  header.mutable_contents()->set_inline_bytes("text");
  return set.SerializeAsString();
}

TEST_CASE("a header set is found by its digest, and without its upload only the digest is known") {
  const std::string uploaded = OneHeader("a.h");
  const FindUpload find = [&](const cccl_cache::Digest& digest) {
    return digest == cccl_cache::Sha256(uploaded) ? std::make_shared<const std::string>(uploaded)
                                                  : nullptr;
  };
  const ServiceLimits limits{.source_bytes = 40, .headers = 1, .name_bytes = 4};
  RequestFields fields(limits, find);
  const auto set = fields.Headers("set", cccl_cache::Sha256(uploaded).View());
  REQUIRE(set != nullptr);
  REQUIRE(set->headers.size() == 1);
  CHECK(set->headers[0].name == "a.h");
  CHECK(set->headers[0].contents == "text");
  CHECK(fields.bytes() < 40);  // not the texts
  const auto unknown = fields.Headers("set", cccl_cache::Sha256("other").View());
  REQUIRE(unknown != nullptr);
  CHECK(unknown->digest == cccl_cache::Sha256("other"));
  CHECK_FALSE(unknown->has_contents());
  CHECK_FALSE(fields.error());
}

TEST_CASE("a header set is refused if it is none, or has too many headers or a long name") {
  const auto refusal = [](const std::string& uploaded, size_t headers) {
    const FindUpload find = [&](const auto&) {
      return std::make_shared<const std::string>(uploaded);
    };
    const ServiceLimits limits{.header_set_bytes = 30, .headers = headers, .name_bytes = 4};
    RequestFields fields(limits, find);
    static_cast<void>(fields.Headers("set", cccl_cache::Sha256(uploaded).View()));
    REQUIRE(fields.error());
    return fields.error()->message;
  };
  CHECK(refusal("no message", 9).find("HeaderSet") != std::string::npos);
  CHECK(refusal(OneHeader("a.h"), 0).find("at most 0") != std::string::npos);
  CHECK(refusal(OneHeader("long.h"), 9).find("at most 4") != std::string::npos);
  CHECK(refusal(OneHeader(std::string(30, 'h')), 9).find("header_set_limit") != std::string::npos);
  const Scene scene;
  RequestFields short_digest(scene.limits, scene.find_upload);
  CHECK(short_digest.Headers("set", "short") == nullptr);
  CHECK(short_digest.error()->message == "set: 5 bytes long, a SHA-256 has 32");
}

TEST_CASE("contents both inline and uploaded are refused, and so is a short digest") {
  Scene both;
  Blob blob = Upload(kUploaded);
  blob.inline_bytes = "x";
  static_cast<void>(both.fields.Contents("source", std::move(blob)));
  CHECK(both.Wrong() == "source: both inline_bytes and upload_sha256 are set, use one");
  Scene digest;
  static_cast<void>(digest.fields.Contents("source", {"", "short"}));
  CHECK(digest.Wrong() == "source.upload_sha256: 5 bytes long, a SHA-256 has 32");
}

TEST_CASE("the first error is reported, and nothing is read after it") {
  Scene scene;
  scene.fields.Refuse("first");
  scene.fields.Refuse("second");
  CHECK(scene.Wrong() == "first");
  CHECK(scene.fields.Name("name", "a").empty());
  CHECK(scene.fields.Contents("source", {"b", ""}).empty());
  CHECK(scene.fields.bytes() == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_request_test
