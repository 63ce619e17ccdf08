// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/build_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "proto/field_numbers.h"

namespace cccl_cache::daemon {
namespace {

/// A list that is read only up to its maximum number of entries.
struct BoundedList {
  std::string_view field;
  size_t limit;
  size_t count = 0;

  /// Counts the current entry and returns whether there is room for it.
  bool Takes() { return ++count <= limit; }
};

// The compiler tells only one lowered name for each text.
std::vector<std::string> Distinct(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

// A priority that a newer client knows counts as normal, as it does for a daemon without
// priorities.
BuildPriority PriorityOf(uint64_t number) {
  const bool known = number <= static_cast<uint64_t>(BuildPriority::kWarmUp);
  return known ? static_cast<BuildPriority>(number) : BuildPriority::kNormal;
}

// An action that only a newer client knows counts as waiting.
MissAction OnMissOf(uint64_t number) {
  const bool known = number <= static_cast<uint64_t>(MissAction::kFinish);
  return known ? static_cast<MissAction>(number) : MissAction::kWait;
}

/// Reads the parts of one request.
class RequestReader {
 public:
  RequestReader(const ServiceLimits& limits, const FindUpload& find_upload)
      : limits_(limits), fields_(limits, find_upload) {}

  Result<ConvertedRequest> Read(ProtoReader& message);

 private:
  void ReadField(uint32_t number, ProtoReader& message, BuildRequest& request);
  // Each of these reads the message in the current field.
  NvrtcProgram Nvrtc(ProtoReader& outer);
  LinkProgram Link(ProtoReader& outer);
  NvvmProgram Nvvm(ProtoReader& outer);
  InlineHeader Header(ProtoReader& outer);
  std::pair<std::string, std::string> Variable(ProtoReader& outer);
  cccl_cache::LinkInput Input(ProtoReader& outer);
  NvvmModule Module(ProtoReader& outer);
  ToolchainSelector Toolchain(ProtoReader& outer);
  FilesView View(ProtoReader& outer);
  Blob ReadBlob(ProtoReader& outer);
  std::string WorkingDirectory(std::string text);
  void ReadWanted(ProtoReader& message);
  void AddWanted(uint64_t number);
  void ReadOption(BoundedList& list, ProtoReader& message, std::vector<std::string>& options);
  void Check(const BoundedList& list) { fields_.CheckCount(list.field, list.count, list.limit); }

  const ServiceLimits& limits_;
  RequestFields fields_;
  std::vector<ArtifactKind> wanted_;
  uint32_t min_api_minor_ = 0;
  size_t programs_ = 0;
};

Result<ConvertedRequest> RequestReader::Read(ProtoReader& message) {
  auto request = std::make_shared<BuildRequest>();
  while (const uint32_t number = message.Next()) ReadField(number, message, *request);
  if (!message.ok()) return NotARequest();
  // A client that needs a newer API gets this error, and not one about fields that this daemon does
  // not know.
  if (min_api_minor_ > kApiMinor) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("min_api_minor: the request needs {}, this daemon has {}: update "
                             "the daemon",
                             min_api_minor_, kApiMinor)};
  }
  if (programs_ != 1) fields_.Refuse("exactly one of nvrtc, link and nvvm must be set");
  if (fields_.error()) return *fields_.error();
  return ConvertedRequest{std::move(request), std::move(wanted_), fields_.bytes()};
}

void RequestReader::ReadField(uint32_t number, ProtoReader& message, BuildRequest& request) {
  using Field = fields::BuildRequest;
  if (number == Field::kNvrtc) request.program = Nvrtc(message);
  if (number == Field::kLink) request.program = Link(message);
  if (number == Field::kNvvm) request.program = Nvvm(message);
  if (number == Field::kToolchain) request.toolchain = Toolchain(message);
  if (number == Field::kDriverVersion) {
    request.driver_version = static_cast<uint32_t>(message.Number());
  }
  if (number == Field::kWorkingDirectory) {
    request.working_directory = WorkingDirectory(message.Bytes());
  }
  if (number == Field::kMinApiMinor) min_api_minor_ = static_cast<uint32_t>(message.Number());
  if (number == Field::kWanted) ReadWanted(message);
  if (number == Field::kFilesView) request.files_view = View(message);
  if (number == Field::kPriority) request.priority = PriorityOf(message.Number());
  if (number == Field::kOnMiss) request.on_miss = OnMissOf(message.Number());
}

NvrtcProgram RequestReader::Nvrtc(ProtoReader& outer) {
  using Field = fields::NvrtcProgram;
  ++programs_;
  NvrtcProgram program;
  BoundedList options{"nvrtc.options", limits_.options};
  BoundedList headers{"nvrtc.headers", limits_.headers};
  BoundedList expressions{"nvrtc.name_expressions", limits_.options};
  BoundedList environment{"nvrtc.environment", limits_.options};
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kSource) {
      program.source = fields_.SourceText("nvrtc.source", ReadBlob(message));
    }
    if (number == Field::kName) program.name = fields_.Name("nvrtc.name", message.Bytes());
    if (number == Field::kOptions) ReadOption(options, message, program.options);
    if (number == Field::kHeaders && headers.Takes()) program.headers.push_back(Header(message));
    if (number == Field::kNameExpressions) {
      ReadOption(expressions, message, program.name_expressions);
    }
    if (number == Field::kEnvironment && environment.Takes()) {
      program.environment.push_back(Variable(message));
    }
    if (number == Field::kAppendToolchainHeaders) {
      program.append_toolchain_headers = message.Number() != 0;
    }
  }
  for (const auto& list : {options, headers, expressions, environment}) Check(list);
  program.name_expressions = Distinct(std::move(program.name_expressions));
  return program;
}

LinkProgram RequestReader::Link(ProtoReader& outer) {
  using Field = fields::LinkProgram;
  ++programs_;
  LinkProgram program;
  BoundedList inputs{"link.inputs", limits_.options};
  BoundedList options{"link.options", limits_.options};
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kInputs && inputs.Takes()) program.inputs.push_back(Input(message));
    if (number == Field::kOptions) ReadOption(options, message, program.options);
  }
  for (const auto& list : {inputs, options}) Check(list);
  return program;
}

NvvmProgram RequestReader::Nvvm(ProtoReader& outer) {
  using Field = fields::NvvmProgram;
  ++programs_;
  NvvmProgram program;
  BoundedList modules{"nvvm.modules", limits_.options};
  BoundedList options{"nvvm.options", limits_.options};
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kModules && modules.Takes()) program.modules.push_back(Module(message));
    if (number == Field::kOptions) ReadOption(options, message, program.options);
    if (number == Field::kAddLibdevice) program.add_libdevice = message.Number() != 0;
  }
  for (const auto& list : {modules, options}) Check(list);
  return program;
}

InlineHeader RequestReader::Header(ProtoReader& outer) {
  using Field = fields::InlineHeader;
  InlineHeader header;
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kName) header.name = fields_.Name("nvrtc.headers.name", message.Bytes());
    if (number == Field::kContents) {
      header.contents = fields_.SourceText("nvrtc.headers.contents", ReadBlob(message));
    }
  }
  return header;
}

std::pair<std::string, std::string> RequestReader::Variable(ProtoReader& outer) {
  using Field = fields::EnvironmentVariable;
  std::pair<std::string, std::string> variable;
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kName) {
      variable.first = fields_.Name("nvrtc.environment.name", message.Bytes());
    }
    if (number == Field::kValue) {
      variable.second = fields_.Option("nvrtc.environment.value", message.Bytes());
    }
  }
  return variable;
}

cccl_cache::LinkInput RequestReader::Input(ProtoReader& outer) {
  using Field = fields::LinkInput;
  cccl_cache::LinkInput file;
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kType) {
      const auto type = static_cast<int32_t>(message.Number());
      if (type < 0 || type > static_cast<int32_t>(LinkInputType::kLibrary)) {
        fields_.Refuse(fmt::format("link.inputs.type: {} is not a type of input", type));
      } else {
        file.type = static_cast<LinkInputType>(type);
      }
    }
    if (number == Field::kName) file.name = fields_.Name("link.inputs.name", message.Bytes());
    if (number == Field::kContents) {
      file.contents = fields_.Contents("link.inputs.contents", ReadBlob(message));
    }
  }
  return file;
}

NvvmModule RequestReader::Module(ProtoReader& outer) {
  using Field = fields::NvvmModule;
  NvvmModule module;
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kName) module.name = fields_.Name("nvvm.modules.name", message.Bytes());
    if (number == Field::kContents) {
      module.contents = fields_.Contents("nvvm.modules.contents", ReadBlob(message));
    }
    if (number == Field::kLazy) module.lazy = message.Number() != 0;
  }
  return module;
}

ToolchainSelector RequestReader::Toolchain(ProtoReader& outer) {
  using Field = fields::ToolchainSelector;
  ToolchainSelector selector;
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kId) selector.id = fields_.Name("toolchain.id", message.Bytes());
    if (number == Field::kVersion) {
      selector.version = fields_.Name("toolchain.version", message.Bytes());
    }
    if (number == Field::kMajor) selector.major = static_cast<uint32_t>(message.Number());
  }
  const int set = static_cast<int>(!selector.id.empty()) +
                  static_cast<int>(!selector.version.empty()) +
                  static_cast<int>(selector.major != 0);
  if (set > 1) fields_.Refuse("toolchain: set at most one of id, version and major");
  return selector;
}

FilesView RequestReader::View(ProtoReader& outer) {
  using Field = fields::FilesView;
  FilesView view;
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kMountNamespace) view.mount_namespace = message.Number();
    if (number == Field::kRootDevice) view.root_device = message.Number();
    if (number == Field::kRootInode) view.root_inode = message.Number();
    if (number == Field::kRootMount) view.root_mount = message.Number();
  }
  return view;
}

std::string RequestReader::WorkingDirectory(std::string text) {
  std::string directory = fields_.Name("working_directory", std::move(text));
  const bool absolute = directory.empty() || directory.front() == '/';
  if (!absolute) fields_.Refuse("working_directory: must be absolute");
  return directory;
}

Blob RequestReader::ReadBlob(ProtoReader& outer) {
  using Field = fields::Blob;
  Blob blob;
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kInlineBytes) blob.inline_bytes = message.Bytes();
    if (number == Field::kUploadSha256) blob.upload_sha256 = message.Bytes();
  }
  return blob;
}

/// Reads enums, which may come one by one or packed in one field.
void RequestReader::ReadWanted(ProtoReader& message) {
  if (!message.is_bytes()) {
    AddWanted(message.Number());
    return;
  }
  ProtoReader numbers = message.Message();
  while (numbers.more()) AddWanted(numbers.NextOfNumbers());
}

void RequestReader::AddWanted(uint64_t number) {
  if (fields_.error())
    return;  // a message has room for millions of values, and only one error is kept
  const auto value = static_cast<int32_t>(number);
  if (value <= 0 || value > static_cast<int32_t>(ArtifactKind::kOptixIr)) {
    fields_.Refuse(fmt::format("wanted: {} is not a kind of artifact", value));
    return;
  }
  const auto kind = static_cast<ArtifactKind>(value);
  if (std::ranges::find(wanted_, kind) == wanted_.end()) wanted_.push_back(kind);
}

void RequestReader::ReadOption(BoundedList& list, ProtoReader& message,
                               std::vector<std::string>& options) {
  if (list.Takes()) options.push_back(fields_.Option(list.field, message.Bytes()));
}

}  // namespace

void RequestFields::Refuse(std::string message) {
  if (!error_) error_ = Error{ErrorCode::kInvalidRequest, std::move(message)};
}

void RequestFields::CheckCount(std::string_view field, size_t count, size_t limit) {
  if (count <= limit) return;
  Refuse(
      fmt::format("{}: {} entries, at most {} are allowed: send fewer, or put headers "
                  "into a directory and name it with -I",
                  field, count, limit));
}

std::string RequestFields::Name(std::string_view field, std::string&& text) {
  return Text(field, std::move(text), limits_.name_bytes);
}

std::string RequestFields::Option(std::string_view field, std::string&& text) {
  return Text(field, std::move(text), limits_.option_bytes);
}

std::string RequestFields::Contents(std::string_view field, Blob&& blob) {
  if (error_) return {};
  if (blob.upload_sha256.empty()) {
    Count(field, blob.inline_bytes.size());
    return std::move(blob.inline_bytes);
  }
  if (!blob.inline_bytes.empty()) {
    Refuse(fmt::format("{}: both inline_bytes and upload_sha256 are set, use one", field));
    return {};
  }
  return Uploaded(field, blob.upload_sha256);
}

std::string RequestFields::SourceText(std::string_view field, Blob&& blob) {
  std::string text = Contents(field, std::move(blob));
  if (text.find('\0') != std::string::npos) {
    Refuse(fmt::format("{}: holds a zero byte, at which the compiler would stop reading", field));
  }
  return text;
}

std::string RequestFields::Text(std::string_view field, std::string&& text, uint64_t limit) {
  if (error_) return {};
  if (text.size() > limit) {
    Refuse(fmt::format("{}: {} bytes long, at most {} are allowed", field, text.size(), limit));
  } else if (text.find('\0') != std::string::npos) {
    Refuse(fmt::format("{}: holds a zero byte", field));
  }
  bytes_ += text.size();
  return std::move(text);
}

void RequestFields::Count(std::string_view field, uint64_t size) {
  bytes_ += size;
  if (bytes_ <= limits_.source_bytes) return;
  Refuse(
      fmt::format("{}: source, headers and inputs together are larger than {} bytes, which is "
                  "the most that one request may hold",
                  field, limits_.source_bytes));
}

std::string RequestFields::Uploaded(std::string_view field, const std::string& raw) {
  const auto digest = Digest::FromBytes(raw);
  if (!digest) {
    Refuse(fmt::format("{}.upload_sha256: {} bytes long, a SHA-256 has 32", field, raw.size()));
    return {};
  }
  const auto blob = find_upload_(*digest);
  if (blob == nullptr) {
    error_ = Error{ErrorCode::kUploadNeeded,
                   fmt::format("{}: this user has no upload {}, or it was forgotten: upload it "
                               "again",
                               field, digest->Hex())};
    return {};
  }
  Count(field, blob->size());
  return error_ ? std::string() : *blob;
}

Error NotARequest() {
  return Error{ErrorCode::kInvalidRequest,
               "the message is not a cccl_cache.v1.BuildRequest: it is damaged or compressed"};
}

Result<ConvertedRequest> ReadBuild(ProtoReader& message, const ServiceLimits& limits,
                                   const FindUpload& find_upload) {
  return RequestReader(limits, find_upload).Read(message);
}

Result<ConvertedRequest> ReadNestedBuild(ProtoReader& message, uint32_t number,
                                         const ServiceLimits& limits,
                                         const FindUpload& find_upload) {
  std::optional<Result<ConvertedRequest>> build;
  while (const uint32_t found = message.Next()) {
    if (found != number) continue;
    if (build) return NotARequest();
    ProtoReader nested = message.Message();
    build = ReadBuild(nested, limits, find_upload);
  }
  if (!build || !message.ok()) return NotARequest();
  return *std::move(build);
}

}  // namespace cccl_cache::daemon
