// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/build_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

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

/// Reads the parts of one request; the numbers of fields are those of build.proto.
class RequestReader {
 public:
  RequestReader(WireInput& input, const ServiceLimits& limits, const FindUpload& find_upload)
      : input_(input), limits_(limits), fields_(limits, find_upload) {}

  Result<ConvertedRequest> Read();

 private:
  void ReadField(uint32_t number, BuildRequest& request);
  NvrtcProgram Nvrtc();
  LinkProgram Link();
  NvvmProgram Nvvm();
  InlineHeader Header();
  std::pair<std::string, std::string> Variable();
  cccl_cache::LinkInput Input();
  NvvmModule Module();
  ToolchainSelector Toolchain();
  FilesView View();
  std::string WorkingDirectory();
  Blob ReadBlob();
  void ReadWanted();
  void AddWanted(uint64_t number);
  void ReadOption(BoundedList& list, std::vector<std::string>& options);
  void Check(const BoundedList& list) { fields_.CheckCount(list.field, list.count, list.limit); }

  WireInput& input_;
  const ServiceLimits& limits_;
  RequestFields fields_;
  std::vector<ArtifactKind> wanted_;
  uint32_t min_api_minor_ = 0;
  size_t programs_ = 0;
};

Result<ConvertedRequest> RequestReader::Read() {
  auto request = std::make_shared<BuildRequest>();
  while (const uint32_t number = input_.Next()) ReadField(number, *request);
  if (!input_.well_formed()) return NotARequest();
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

void RequestReader::ReadField(uint32_t number, BuildRequest& request) {
  if (number == 1) request.program = Nvrtc();
  if (number == 2) request.program = Link();
  if (number == 3) request.program = Nvvm();
  if (number == 10) request.toolchain = Toolchain();
  if (number == 11) request.driver_version = static_cast<uint32_t>(input_.Number());
  if (number == 12) request.working_directory = WorkingDirectory();
  if (number == 13) min_api_minor_ = static_cast<uint32_t>(input_.Number());
  if (number == 14) ReadWanted();
  if (number == 15) request.files_view = View();
}

NvrtcProgram RequestReader::Nvrtc() {
  ++programs_;
  NvrtcProgram program;
  BoundedList options{"nvrtc.options", limits_.options};
  BoundedList headers{"nvrtc.headers", limits_.headers};
  BoundedList expressions{"nvrtc.name_expressions", limits_.options};
  BoundedList environment{"nvrtc.environment", limits_.options};
  const WireInput::Nested message(input_);
  while (const uint32_t number = input_.Next()) {
    if (number == 1) program.source = fields_.SourceText("nvrtc.source", ReadBlob());
    if (number == 2) program.name = fields_.Name("nvrtc.name", input_.Text());
    if (number == 3) ReadOption(options, program.options);
    if (number == 4 && headers.Takes()) program.headers.push_back(Header());
    if (number == 5) ReadOption(expressions, program.name_expressions);
    if (number == 6 && environment.Takes()) program.environment.push_back(Variable());
    if (number == 7) program.append_toolchain_headers = input_.Number() != 0;
  }
  for (const auto& list : {options, headers, expressions, environment}) Check(list);
  program.name_expressions = Distinct(std::move(program.name_expressions));
  return program;
}

LinkProgram RequestReader::Link() {
  ++programs_;
  LinkProgram program;
  BoundedList inputs{"link.inputs", limits_.options};
  BoundedList options{"link.options", limits_.options};
  const WireInput::Nested message(input_);
  while (const uint32_t number = input_.Next()) {
    if (number == 1 && inputs.Takes()) program.inputs.push_back(Input());
    if (number == 2) ReadOption(options, program.options);
  }
  for (const auto& list : {inputs, options}) Check(list);
  return program;
}

NvvmProgram RequestReader::Nvvm() {
  ++programs_;
  NvvmProgram program;
  BoundedList modules{"nvvm.modules", limits_.options};
  BoundedList options{"nvvm.options", limits_.options};
  const WireInput::Nested message(input_);
  while (const uint32_t number = input_.Next()) {
    if (number == 1 && modules.Takes()) program.modules.push_back(Module());
    if (number == 2) ReadOption(options, program.options);
    if (number == 3) program.add_libdevice = input_.Number() != 0;
  }
  for (const auto& list : {modules, options}) Check(list);
  return program;
}

InlineHeader RequestReader::Header() {
  InlineHeader header;
  const WireInput::Nested message(input_);
  while (const uint32_t number = input_.Next()) {
    if (number == 1) header.name = fields_.Name("nvrtc.headers.name", input_.Text());
    if (number == 2) header.contents = fields_.SourceText("nvrtc.headers.contents", ReadBlob());
  }
  return header;
}

std::pair<std::string, std::string> RequestReader::Variable() {
  std::pair<std::string, std::string> variable;
  const WireInput::Nested message(input_);
  while (const uint32_t number = input_.Next()) {
    if (number == 1) variable.first = fields_.Name("nvrtc.environment.name", input_.Text());
    if (number == 2) variable.second = fields_.Option("nvrtc.environment.value", input_.Text());
  }
  return variable;
}

cccl_cache::LinkInput RequestReader::Input() {
  cccl_cache::LinkInput file;
  const WireInput::Nested message(input_);
  while (const uint32_t number = input_.Next()) {
    if (number == 1) {
      const auto type = static_cast<int32_t>(input_.Number());
      if (type < 0 || type > static_cast<int32_t>(LinkInputType::kLibrary)) {
        fields_.Refuse(fmt::format("link.inputs.type: {} is not a type of input", type));
      } else {
        file.type = static_cast<LinkInputType>(type);
      }
    }
    if (number == 2) file.name = fields_.Name("link.inputs.name", input_.Text());
    if (number == 3) file.contents = fields_.Contents("link.inputs.contents", ReadBlob());
  }
  return file;
}

NvvmModule RequestReader::Module() {
  NvvmModule module;
  const WireInput::Nested message(input_);
  while (const uint32_t number = input_.Next()) {
    if (number == 1) module.name = fields_.Name("nvvm.modules.name", input_.Text());
    if (number == 2) module.contents = fields_.Contents("nvvm.modules.contents", ReadBlob());
    if (number == 3) module.lazy = input_.Number() != 0;
  }
  return module;
}

ToolchainSelector RequestReader::Toolchain() {
  ToolchainSelector selector;
  const WireInput::Nested message(input_);
  while (const uint32_t number = input_.Next()) {
    if (number == 1) selector.id = fields_.Name("toolchain.id", input_.Text());
    if (number == 2) selector.version = fields_.Name("toolchain.version", input_.Text());
    if (number == 3) selector.major = static_cast<uint32_t>(input_.Number());
  }
  const int set = static_cast<int>(!selector.id.empty()) +
                  static_cast<int>(!selector.version.empty()) +
                  static_cast<int>(selector.major != 0);
  if (set > 1) fields_.Refuse("toolchain: set at most one of id, version and major");
  return selector;
}

FilesView RequestReader::View() {
  FilesView view;
  const WireInput::Nested message(input_);
  while (const uint32_t number = input_.Next()) {
    if (number == 1) view.mount_namespace = input_.Number();
    if (number == 2) view.root_device = input_.Number();
    if (number == 3) view.root_inode = input_.Number();
    if (number == 4) view.root_mount = input_.Number();
  }
  return view;
}

std::string RequestReader::WorkingDirectory() {
  std::string directory = fields_.Name("working_directory", input_.Text());
  const bool absolute = directory.empty() || directory.front() == '/';
  if (!absolute) fields_.Refuse("working_directory: must be absolute");
  return directory;
}

Blob RequestReader::ReadBlob() {
  Blob blob;
  const WireInput::Nested message(input_);
  while (const uint32_t number = input_.Next()) {
    if (number == 1) blob.inline_bytes = input_.Bytes();
    if (number == 2) blob.upload_sha256 = input_.Bytes();
  }
  return blob;
}

/// Reads enums, which may come one by one or packed in one field.
void RequestReader::ReadWanted() {
  if (!input_.is_bytes()) {
    AddWanted(input_.Number());
    return;
  }
  const WireInput::Nested numbers(input_);
  while (numbers.more()) AddWanted(input_.NextOfNumbers());
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

void RequestReader::ReadOption(BoundedList& list, std::vector<std::string>& options) {
  if (list.Takes()) options.push_back(fields_.Option(list.field, input_.Text()));
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
  return Error{
      ErrorCode::kInvalidRequest,
      "the message is not a cccl_cache.v1.BuildRequest: it is damaged, compressed, or a name or "
      "option in it is not UTF-8"};
}

Result<ConvertedRequest> ReadBuild(WireInput& input, const ServiceLimits& limits,
                                   const FindUpload& find_upload) {
  return RequestReader(input, limits, find_upload).Read();
}

Result<ConvertedRequest> ReadNestedBuild(WireInput& input, uint32_t number,
                                         const ServiceLimits& limits,
                                         const FindUpload& find_upload) {
  std::optional<Result<ConvertedRequest>> build;
  while (const uint32_t found = input.Next()) {
    if (found != number) continue;
    if (build) return NotARequest();
    const WireInput::Nested message(input);
    build = ReadBuild(input, limits, find_upload);
  }
  if (!build || !input.well_formed()) return NotARequest();
  return *std::move(build);
}

}  // namespace cccl_cache::daemon
