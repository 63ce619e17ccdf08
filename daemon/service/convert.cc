// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/service/api_version.h"
#include "daemon/service/request_fields.h"
#include "daemon/service/utf8.h"

namespace cccl_cached {
namespace {

namespace v1 = cccl_cache::v1;

// One lowered name each is all that a compiler tells.
std::vector<std::string> Distinct(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

/// A reply has room for this much of a log, and a person for less.
constexpr size_t kLongestLog = 4u << 20;

cccl_cache::NvrtcProgram FromProto(v1::NvrtcProgram&& message, const ServiceLimits& limits,
                                   RequestFields& fields) {
  cccl_cache::NvrtcProgram program;
  fields.CheckCount("nvrtc.headers", static_cast<size_t>(message.headers_size()), limits.headers);
  fields.CheckCount("nvrtc.environment", static_cast<size_t>(message.environment_size()),
                    limits.options);
  program.source = fields.SourceText("nvrtc.source", std::move(*message.mutable_source()));
  program.name = fields.Name("nvrtc.name", std::move(*message.mutable_name()));
  program.options = fields.Options("nvrtc.options", *message.mutable_options());
  for (auto& header : *message.mutable_headers()) {
    if (fields.error()) break;
    auto name = fields.Name("nvrtc.headers.name", std::move(*header.mutable_name()));
    auto contents =
        fields.SourceText("nvrtc.headers.contents", std::move(*header.mutable_contents()));
    program.headers.push_back({std::move(name), std::move(contents)});
  }
  program.name_expressions =
      Distinct(fields.Options("nvrtc.name_expressions", *message.mutable_name_expressions()));
  for (auto& variable : *message.mutable_environment()) {
    if (fields.error()) break;
    auto name = fields.Name("nvrtc.environment.name", std::move(*variable.mutable_name()));
    auto value = fields.Option("nvrtc.environment.value", std::move(*variable.mutable_value()));
    program.environment.emplace_back(std::move(name), std::move(value));
  }
  program.append_toolchain_headers = message.append_toolchain_headers();
  return program;
}

cccl_cache::LinkProgram FromProto(v1::LinkProgram&& message, const ServiceLimits& limits,
                                  RequestFields& fields) {
  cccl_cache::LinkProgram program;
  fields.CheckCount("link.inputs", static_cast<size_t>(message.inputs_size()), limits.options);
  for (auto& input : *message.mutable_inputs()) {
    if (fields.error()) break;
    if (!v1::LinkInputType_IsValid(input.type())) {
      fields.Refuse(fmt::format("link.inputs.type: {} is not a type of input",
                                static_cast<int>(input.type())));
    }
    auto name = fields.Name("link.inputs.name", std::move(*input.mutable_name()));
    auto contents = fields.Contents("link.inputs.contents", std::move(*input.mutable_contents()));
    program.inputs.push_back({static_cast<cccl_cache::LinkInputType>(input.type()), std::move(name),
                              std::move(contents)});
  }
  program.options = fields.Options("link.options", *message.mutable_options());
  return program;
}

cccl_cache::NvvmProgram FromProto(v1::NvvmProgram&& message, const ServiceLimits& limits,
                                  RequestFields& fields) {
  cccl_cache::NvvmProgram program;
  fields.CheckCount("nvvm.modules", static_cast<size_t>(message.modules_size()), limits.options);
  for (auto& module : *message.mutable_modules()) {
    if (fields.error()) break;
    auto name = fields.Name("nvvm.modules.name", std::move(*module.mutable_name()));
    auto contents = fields.Contents("nvvm.modules.contents", std::move(*module.mutable_contents()));
    program.modules.push_back({std::move(name), std::move(contents), module.lazy()});
  }
  program.options = fields.Options("nvvm.options", *message.mutable_options());
  program.add_libdevice = message.add_libdevice();
  return program;
}

cccl_cache::ToolchainSelector FromProto(v1::ToolchainSelector&& message, RequestFields& fields) {
  cccl_cache::ToolchainSelector selector;
  const int set = static_cast<int>(!message.id().empty()) +
                  static_cast<int>(!message.version().empty()) +
                  static_cast<int>(message.major() != 0);
  if (set > 1) fields.Refuse("toolchain: set at most one of id, version and major");
  selector.id = fields.Name("toolchain.id", std::move(*message.mutable_id()));
  selector.version = fields.Name("toolchain.version", std::move(*message.mutable_version()));
  selector.major = message.major();
  return selector;
}

std::vector<cccl_cache::ArtifactKind> Wanted(const v1::BuildRequest& message,
                                             RequestFields& fields) {
  std::vector<cccl_cache::ArtifactKind> wanted;
  for (const int kind : message.wanted()) {
    if (kind == v1::ARTIFACT_KIND_UNSPECIFIED || !v1::ArtifactKind_IsValid(kind)) {
      fields.Refuse(fmt::format("wanted: {} is not a kind of artifact", kind));
      break;
    }
    const auto value = static_cast<cccl_cache::ArtifactKind>(kind);
    if (std::ranges::find(wanted, value) == wanted.end()) wanted.push_back(value);
  }
  return wanted;
}

/// A failure, for one, has no key.
std::string HexOrNothing(const cccl_cache::Digest& digest) {
  return digest == cccl_cache::Digest{} ? std::string() : digest.Hex();
}

}  // namespace

Result<ConvertedRequest> FromProto(v1::BuildRequest&& message, const ServiceLimits& limits,
                                   const FindUpload& find_upload) {
  RequestFields fields(limits, find_upload);
  if (message.min_api_minor() > kApiMinor) {
    fields.Refuse(
        fmt::format("min_api_minor: the request needs {}, this daemon has {}: update "
                    "the daemon",
                    message.min_api_minor(), kApiMinor));
  }
  const int programs = static_cast<int>(message.has_nvrtc()) +
                       static_cast<int>(message.has_link()) + static_cast<int>(message.has_nvvm());
  if (programs != 1) fields.Refuse("exactly one of nvrtc, link and nvvm must be set");

  auto request = std::make_shared<cccl_cache::BuildRequest>();
  if (message.has_nvrtc()) {
    request->program = FromProto(std::move(*message.mutable_nvrtc()), limits, fields);
  } else if (message.has_link()) {
    request->program = FromProto(std::move(*message.mutable_link()), limits, fields);
  } else if (message.has_nvvm()) {
    request->program = FromProto(std::move(*message.mutable_nvvm()), limits, fields);
  }
  request->toolchain = FromProto(std::move(*message.mutable_toolchain()), fields);
  request->driver_version = message.driver_version();
  request->working_directory =
      fields.Name("working_directory", std::move(*message.mutable_working_directory()));
  if (!request->working_directory.empty() && request->working_directory.front() != '/') {
    fields.Refuse("working_directory: must be absolute");
  }
  if (message.has_files_view()) {
    const v1::FilesView& view = message.files_view();
    request->files_view = {view.mount_namespace(), view.root_device(), view.root_inode(),
                           view.root_mount()};
  }
  ConvertedRequest result;
  result.wanted = Wanted(message, fields);
  if (fields.error()) return *fields.error();
  result.bytes = fields.bytes();
  result.request = std::move(request);
  return result;
}

v1::BuildReply ToProto(const BuildAnswer& answer) {
  v1::BuildReply reply;
  reply.set_outcome(static_cast<v1::Outcome>(answer.outcome));
  reply.set_tier(static_cast<v1::Tier>(answer.tier));
  reply.set_key(HexOrNothing(answer.key));
  reply.set_fingerprint(HexOrNothing(answer.fingerprint));
  reply.mutable_toolchain()->set_id(HexOrNothing(answer.toolchain_id));
  reply.mutable_toolchain()->set_version(answer.toolchain_version);
  if (answer.artifact != nullptr) {
    for (const auto& [expression, lowered] : answer.artifact->lowered_names) {
      auto* name = reply.add_lowered_names();
      name->set_expression(ToUtf8(expression));
      name->set_lowered(ToUtf8(lowered));
    }
  }
  reply.set_log(ToUtf8(std::string_view(answer.log).substr(0, kLongestLog)));
  reply.set_native_code(answer.native_code);
  reply.set_reason(ToUtf8(answer.reason));
  reply.set_remembered(answer.remembered);
  reply.set_precompiled_headers(answer.precompiled_headers);
  reply.set_closed(answer.closed);
  reply.mutable_timing()->set_queue_us(static_cast<uint64_t>(answer.queue_time.count()));
  reply.mutable_timing()->set_compile_us(static_cast<uint64_t>(answer.compile_time.count()));
  return reply;
}

v1::Artifact ToProto(const ArtifactPart& part) {
  v1::Artifact artifact;
  artifact.set_kind(static_cast<v1::ArtifactKind>(part.kind));
  artifact.set_size(part.bytes.size());
  artifact.set_sha256(std::string(part.sha256.View()));
  return artifact;
}

}  // namespace cccl_cached
