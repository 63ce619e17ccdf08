// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/request_message.h"

#include <cccl_cache/v1/admin.pb-c.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "client/src/wire/build_reply.h"
#include "client/src/wire/messages.h"

namespace cccl_cache {
namespace {

// protobuf-c wants arrays of pointers.
template <typename T>
T** PointTo(std::vector<T>* values, std::vector<T*>* pointers) {
  pointers->reserve(values->size());
  for (T& value : *values) pointers->push_back(&value);
  return pointers->data();
}

// Of the first daemon that knows on_miss.
constexpr uint32_t kApiMinorOfOnMiss = 3;

enum Kind : uint64_t { kNvrtc = 1, kLink = 2, kNvvm = 3 };

// Enough for most requests without growing.
constexpr size_t kUsualPieces = 48;

std::string_view View(const std::vector<uint64_t>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(uint64_t)};
}

}  // namespace

RequestMessage::RequestMessage() {
  cccl_cache__v1__build_request__init(&request_);
  cccl_cache__v1__nvrtc_program__init(&nvrtc_);
  cccl_cache__v1__link_program__init(&link_);
  cccl_cache__v1__nvvm_program__init(&nvvm_);
  cccl_cache__v1__toolchain_selector__init(&toolchain_);
  cccl_cache__v1__files_view__init(&files_view_);
}

Expected<Done> RequestMessage::SetProgram(const cccl_cache_nvrtc& program) {
  nvrtc_.source = Blob(program.source);
  nvrtc_.name = Text(program.name, "the program's name");
  nvrtc_.options = Texts(program.options, program.option_count, "an option")->data();
  nvrtc_.n_options = program.option_count;
  nvrtc_.name_expressions =
      Texts(program.name_expressions, program.name_expression_count, "a name expression")->data();
  nvrtc_.n_name_expressions = program.name_expression_count;
  SetHeaders(program);
  SetEnvironment(program);
  nvrtc_.append_toolchain_headers = program.append_toolchain_headers != 0;
  request_.nvrtc = &nvrtc_;
  return Outcome();
}

void RequestMessage::SetHeaders(const cccl_cache_nvrtc& program) {
  headers_.resize(program.header_count);
  for (size_t i = 0; i < program.header_count; ++i) {
    cccl_cache__v1__inline_header__init(&headers_[i]);
    headers_[i].name = Text(program.headers[i].name, "the name of a header");
    headers_[i].contents = Blob(program.headers[i].contents);
  }
  nvrtc_.headers = PointTo(&headers_, &header_pointers_);
  nvrtc_.n_headers = headers_.size();
}

void RequestMessage::SetEnvironment(const cccl_cache_nvrtc& program) {
  variables_.resize(program.environment_count);
  for (size_t i = 0; i < program.environment_count; ++i) {
    cccl_cache__v1__environment_variable__init(&variables_[i]);
    variables_[i].name = Text(program.environment[i].name, "the name of a variable");
    variables_[i].value = Text(program.environment[i].value, "the value of a variable");
  }
  nvrtc_.environment = PointTo(&variables_, &variable_pointers_);
  nvrtc_.n_environment = variables_.size();
}

Expected<Done> RequestMessage::SetProgram(const cccl_cache_link& program) {
  inputs_.resize(program.input_count);
  for (size_t i = 0; i < program.input_count; ++i) {
    cccl_cache__v1__link_input__init(&inputs_[i]);
    inputs_[i].type = static_cast<CcclCache__V1__LinkInputType>(program.inputs[i].type);
    inputs_[i].name = Text(program.inputs[i].name, "the name of an input");
    inputs_[i].contents = Blob(program.inputs[i].contents);
  }
  link_.inputs = PointTo(&inputs_, &input_pointers_);
  link_.n_inputs = inputs_.size();
  link_.options = Texts(program.options, program.option_count, "an option")->data();
  link_.n_options = program.option_count;
  request_.link = &link_;
  return Outcome();
}

Expected<Done> RequestMessage::SetProgram(const cccl_cache_nvvm& program) {
  modules_.resize(program.module_count);
  for (size_t i = 0; i < program.module_count; ++i) {
    cccl_cache__v1__nvvm_module__init(&modules_[i]);
    modules_[i].name = Text(program.modules[i].name, "the name of a module");
    modules_[i].contents = Blob(program.modules[i].contents);
    modules_[i].lazy = program.modules[i].lazy != 0;
  }
  nvvm_.modules = PointTo(&modules_, &module_pointers_);
  nvvm_.n_modules = modules_.size();
  nvvm_.options = Texts(program.options, program.option_count, "an option")->data();
  nvvm_.n_options = program.option_count;
  nvvm_.add_libdevice = program.add_libdevice != 0;
  request_.nvvm = &nvvm_;
  return Outcome();
}

Expected<Done> RequestMessage::SetOptions(const cccl_cache_build_options& options) {
  toolchain_.id = Text(options.toolchain_id, "the toolchain's id");
  toolchain_.version = Text(options.toolchain_version, "the toolchain's version");
  toolchain_.major = options.toolchain_major;
  request_.toolchain = &toolchain_;
  request_.driver_version = options.driver_version;
  request_.working_directory = Text(options.working_directory, "the working directory");
  for (size_t i = 0; i < options.wanted_count; ++i) {
    wanted_.push_back(static_cast<CcclCache__V1__ArtifactKind>(options.wanted[i]));
  }
  request_.wanted = wanted_.data();
  request_.n_wanted = wanted_.size();
  const int on_miss = WireNumber(options.on_miss);
  if (on_miss < CCCL_CACHE_ON_MISS_WAIT || on_miss > CCCL_CACHE_ON_MISS_FINISH) {
    return Error{CCCL_CACHE_INVALID_REQUEST,
                 std::to_string(on_miss) + " is not a cccl_cache_on_miss"};
  }
  request_.on_miss = static_cast<CcclCache__V1__OnMiss>(on_miss);
  // An older daemon would compile it.
  if (!may_be_compiled()) request_.min_api_minor = kApiMinorOfOnMiss;
  SetFilesView();
  return Outcome();
}

void RequestMessage::SetPriority(BuildPriority priority) {
  request_.priority = static_cast<CcclCache__V1__Priority>(priority);
}

void RequestMessage::SetFilesView() {
  // Computed for each build: a thread may enter another mount namespace at any time.
  const std::optional<FilesView> view = FilesViewOfThisThread();
  if (!view) return;
  files_view_.mount_namespace = view->mount_namespace;
  files_view_.root_device = view->root_device;
  files_view_.root_inode = view->root_inode;
  files_view_.root_mount = view->root_mount;
  request_.files_view = &files_view_;
}

size_t RequestMessage::PackedSize() const {
  return cccl_cache__v1__build_request__get_packed_size(&request_);
}

void RequestMessage::CopyContents() {
  for (BlobUse& use : blobs_) use.contents = texts_.emplace_back(use.contents);
  InlineAll();
}

void RequestMessage::InlineAll() {
  for (const BlobUse& use : blobs_) {
    use.blob->upload_sha256 = {};
    use.blob->inline_bytes = Binary(use.contents);
  }
}

void RequestMessage::NameUpload(const BlobUse& use, std::string sha256) {
  std::string& kept = texts_.emplace_back(std::move(sha256));
  use.blob->inline_bytes = {};
  use.blob->upload_sha256 = Binary(kept);
}

void RequestMessage::AppendTo(ByteChain* body) const { AppendMessage(request_.base, body); }

void RequestMessage::AppendQuestionTo(ByteChain* body) const {
  CcclCache__V1__ExplainRequest question = CCCL_CACHE__V1__EXPLAIN_REQUEST__INIT;
  CcclCache__V1__BuildRequest build = request_;
  question.build = &build;
  // Only contents are referred to, which the caller keeps.
  AppendMessage(question.base, body);
}

void RequestMessage::AppendWithFilesTo(ByteChain* body) const {
  CcclCache__V1__BuildWithFilesRequest first = CCCL_CACHE__V1__BUILD_WITH_FILES_REQUEST__INIT;
  CcclCache__V1__BuildRequest build = request_;
  first.build = &build;
  AppendMessage(first.base, body);
}

void RequestMessage::AppendTaggedTo(uint64_t tag, ByteChain* body) const {
  CcclCache__V1__BuildManyRequest message = CCCL_CACHE__V1__BUILD_MANY_REQUEST__INIT;
  CcclCache__V1__BuildRequest build = request_;
  message.tag = tag;
  message.build = &build;
  AppendMessage(message.base, body);
}

char* RequestMessage::Text(cccl_cache_bytes text, const char* field) {
  const std::string_view view(text.data, text.size);
  if (view.find('\0') != std::string_view::npos) invalid_field_ = field;
  return texts_.emplace_back(view).data();
}

std::vector<char*>* RequestMessage::Texts(const cccl_cache_bytes* texts, size_t count,
                                          const char* field) {
  std::vector<char*>& list = text_lists_.emplace_back();
  list.reserve(count);
  for (size_t i = 0; i < count; ++i) list.push_back(Text(texts[i], field));
  return &list;
}

CcclCache__V1__Blob* RequestMessage::Blob(cccl_cache_bytes contents) {
  CcclCache__V1__Blob& blob = blob_messages_.emplace_back();
  cccl_cache__v1__blob__init(&blob);
  blob.inline_bytes = {contents.size, reinterpret_cast<uint8_t*>(const_cast<char*>(contents.data))};
  blobs_.push_back({&blob, {contents.data, contents.size}});
  return &blob;
}

Expected<Done> RequestMessage::Outcome() const {
  if (invalid_field_ == nullptr) return Done{};
  return Error{CCCL_CACHE_INVALID_REQUEST,
               std::string(invalid_field_) + " holds a NUL: only contents may"};
}

// bytes := numbers, then texts, each list in the order of the fields. The numbers tell how many
// there are, and how long the texts. Lives in one process, and is never written anywhere.

RequestPieces::RequestPieces(const cccl_cache_nvrtc& program,
                             const cccl_cache_build_options& options) {
  numbers_.reserve(kUsualPieces);
  texts_.reserve(kUsualPieces);
  AddNumber(kNvrtc);
  AddText(program.source);
  AddText(program.name);
  AddTexts(program.options, program.option_count);
  AddNumber(program.header_count);
  for (size_t i = 0; i < program.header_count; ++i) {
    AddText(program.headers[i].name);
    AddText(program.headers[i].contents);
  }
  AddTexts(program.name_expressions, program.name_expression_count);
  AddNumber(program.environment_count);
  for (size_t i = 0; i < program.environment_count; ++i) {
    AddText(program.environment[i].name);
    AddText(program.environment[i].value);
  }
  AddNumber(program.append_toolchain_headers != 0 ? 1 : 0);
  AddOptions(options);
}

RequestPieces::RequestPieces(const cccl_cache_link& program,
                             const cccl_cache_build_options& options) {
  AddNumber(kLink);
  AddNumber(program.input_count);
  for (size_t i = 0; i < program.input_count; ++i) {
    AddNumber(static_cast<uint64_t>(program.inputs[i].type));
    AddText(program.inputs[i].name);
    AddText(program.inputs[i].contents);
  }
  AddTexts(program.options, program.option_count);
  AddOptions(options);
}

RequestPieces::RequestPieces(const cccl_cache_nvvm& program,
                             const cccl_cache_build_options& options) {
  AddNumber(kNvvm);
  AddNumber(program.module_count);
  for (size_t i = 0; i < program.module_count; ++i) {
    AddText(program.modules[i].name);
    AddText(program.modules[i].contents);
    AddNumber(program.modules[i].lazy != 0 ? 1 : 0);
  }
  AddTexts(program.options, program.option_count);
  AddNumber(program.add_libdevice != 0 ? 1 : 0);
  AddOptions(options);
}

void RequestPieces::AddText(cccl_cache_bytes text) {
  AddNumber(text.size);
  if (text.size > 0) texts_.emplace_back(text.data, text.size);
}

void RequestPieces::AddTexts(const cccl_cache_bytes* texts, size_t count) {
  AddNumber(count);
  for (size_t i = 0; i < count; ++i) AddText(texts[i]);
}

void RequestPieces::AddOptions(const cccl_cache_build_options& options) {
  AddText(options.toolchain_id);
  AddText(options.toolchain_version);
  AddNumber(options.toolchain_major);
  AddNumber(options.driver_version);
  AddText(options.working_directory);
  AddNumber(options.wanted_count);
  for (size_t i = 0; i < options.wanted_count; ++i) {
    AddNumber(static_cast<uint64_t>(options.wanted[i]));
  }
}

size_t RequestPieces::Hash() const {
  const std::hash<std::string_view> hash;
  size_t all = hash(View(numbers_));
  for (const std::string_view text : texts_) all = all * 0x9e3779b97f4a7c15u + hash(text);
  return all;
}

std::string RequestPieces::Bytes() const {
  const std::string_view numbers = View(numbers_);
  size_t size = numbers.size();
  for (const std::string_view text : texts_) size += text.size();
  std::string bytes;
  bytes.reserve(size);
  bytes.append(numbers);
  for (const std::string_view text : texts_) bytes.append(text);
  return bytes;
}

bool RequestPieces::Same(std::string_view bytes) const {
  const auto follows = [&bytes](std::string_view piece) {
    if (!bytes.starts_with(piece)) return false;
    bytes.remove_prefix(piece.size());
    return true;
  };
  if (!follows(View(numbers_))) return false;
  for (const std::string_view text : texts_) {
    if (!follows(text)) return false;
  }
  return bytes.empty();
}

}  // namespace cccl_cache
