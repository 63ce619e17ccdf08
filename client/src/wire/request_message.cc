// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/request_message.h"

#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "base/wire.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/messages.h"
#include "proto/request_fields.h"

namespace cccl_cache {
namespace {

// The initial buffer sizes: usual sizes in bytes of an encoded program and of the encoded options.
constexpr size_t kUsualProgram = 512;
constexpr size_t kUsualOptions = 128;

// The first minor version of the daemon's API with the option on_miss.
constexpr uint32_t kApiMinorOfOnMiss = 3;

constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15u;

uint64_t Mix(uint64_t lane, const char* word) {
  uint64_t number;
  std::memcpy(&number, word, sizeof(number));
  return std::rotl((lane ^ number) * kMultiplier, 31);
}

/// Returns a hash that is used only inside this process. A source is long, so four hashes are
/// computed over every fourth word each. A processor computes them in parallel, in half of the time
/// of std::hash.
size_t HashOf(std::string_view bytes) {
  std::array<uint64_t, 4> lanes = {bytes.size(), 1, 2, 3};
  auto& [a, b, c, d] = lanes;
  for (; bytes.size() >= sizeof(lanes); bytes.remove_prefix(sizeof(lanes))) {
    a = Mix(a, bytes.data());
    b = Mix(b, bytes.data() + 8);
    c = Mix(c, bytes.data() + 16);
    d = Mix(d, bytes.data() + 24);
  }
  size_t all = std::hash<std::string_view>()(bytes);
  for (const uint64_t lane : lanes) all = std::rotl((all ^ lane) * kMultiplier, 31);
  return all;
}

// The arrays of the C structs as spans. The members have the names that the functions of
// proto/request_fields.h expect.
struct NvrtcLists {
  explicit NvrtcLists(const cccl_cache_nvrtc& program)
      : options(program.options, program.option_count),
        headers(program.headers, program.header_count),
        name_expressions(program.name_expressions, program.name_expression_count),
        environment(program.environment, program.environment_count) {}

  std::span<const cccl_cache_bytes> options;
  std::span<const cccl_cache_header> headers;
  std::span<const cccl_cache_bytes> name_expressions;
  std::span<const cccl_cache_variable> environment;
};

struct LinkLists {
  std::span<const cccl_cache_link_input> inputs;
  std::span<const cccl_cache_bytes> options;
};

struct NvvmLists {
  std::span<const cccl_cache_nvvm_module> modules;
  std::span<const cccl_cache_bytes> options;
};

/// The options of the C struct. The members have the names that WalkRequest
/// (proto/request_fields.h) expects.
struct RequestOptions {
  explicit RequestOptions(const cccl_cache_build_options& options)
      : toolchain{options.toolchain_id, options.toolchain_version, options.toolchain_major},
        driver_version(options.driver_version),
        working_directory(options.working_directory),
        wanted(options.wanted, options.wanted_count) {}

  struct {
    cccl_cache_bytes id;
    cccl_cache_bytes version;
    uint32_t major;
  } toolchain;
  uint32_t driver_version;
  cccl_cache_bytes working_directory;
  std::span<const cccl_cache_artifact_kind> wanted;
  // The fields below do not affect the answer, so the request's name does not contain them.
  uint32_t min_api_minor = 0;
  std::optional<FilesView> files_view;
  BuildPriority priority = BuildPriority::kNormal;
  MissAction on_miss = MissAction::kWait;
};

std::string Head(uint32_t field, size_t size) { return ProtoWriter().Head(field, size).Take(); }

/// Returns the size in bytes of an encoded field whose value has `size` bytes.
size_t SizeOfField(uint32_t field, size_t size) {
  const auto varint = [](uint64_t value) { return (std::bit_width(value | 1) + 6) / 7; };
  return static_cast<size_t>(varint(uint64_t{field} << 3) + varint(size)) + size;
}

}  // namespace

/// Encodes one message. The functions of proto/request_fields.h call the method for each field.
class RequestMessage::Writer {
 public:
  /// `usual_bytes` is the initial buffer size. `request` receives the contents and the list items
  /// of a program. It may be null for a message without them.
  explicit Writer(size_t usual_bytes, RequestMessage* request = nullptr)
      : out_(usual_bytes), request_(request) {}

  [[nodiscard]] std::string Take() { return out_.Take(); }
  [[nodiscard]] Expected<Done> Outcome() const {
    if (invalid_.empty()) return Done{};
    return Error{CCCL_CACHE_INVALID_REQUEST,
                 std::string(invalid_) + " holds a NUL: only contents may"};
  }

  void Name(uint32_t field, std::string_view name, cccl_cache_bytes text) {
    if (text.size > 0) Add(field, name, text);
  }
  void Option(uint32_t field, std::string_view name, cccl_cache_bytes text) {
    Name(field, name, text);
  }
  void Options(uint32_t field, std::string_view name, std::span<const cccl_cache_bytes> list) {
    for (const cccl_cache_bytes text : list) Add(field, name, text);
  }
  void SourceText(uint32_t field, std::string_view name, cccl_cache_bytes text) {
    Contents(field, name, text);
  }
  void Contents(uint32_t field, std::string_view, cccl_cache_bytes contents) {
    Part own = {.begin = size(), .end = size()};
    Part& part = item_ != nullptr ? *item_ : own;
    part.contents = field;
    part.place = size();
    part.blob = request_->blobs_.size();
    request_->blobs_.push_back({{contents.data, contents.size}, {}});
    if (item_ == nullptr) request_->parts_.push_back(own);
  }
  void Number(uint32_t field, uint64_t value) { out_.Number(field, value); }
  void Flag(uint32_t field, int32_t value) { out_.Number(field, value != 0 ? 1 : 0); }
  template <typename Value>
  void Enum(uint32_t field, std::string_view, const Value& value) {
    out_.Number(field, OnWire(value));
  }
  template <typename Value>
  void Enums(uint32_t field, std::string_view, std::span<Value> values) {
    ProtoWriter packed;
    for (const Value& value : values) packed.Varint(OnWire(value));
    out_.Bytes(field, packed.bytes());
  }
  template <typename Value, typename Fields>
  void Message(uint32_t field, const Value& member, const Fields& fields) {
    Writer nested(0);
    fields(nested, member);
    out_.Message(field, nested.out_.bytes());
    if (!nested.invalid_.empty()) invalid_ = nested.invalid_;
  }
  template <typename Value, typename Fields>
  void Message(uint32_t field, const std::optional<Value>& member, const Fields& fields) {
    if (member) Message(field, *member, fields);
  }
  template <typename Item, typename Fields>
  void Items(uint32_t field, std::string_view, std::span<Item> items, const Fields& fields) {
    for (const Item& item : items) {
      Part part = {.item = field, .begin = size()};
      item_ = &part;
      fields(*this, item);
      part.end = size();
      request_->parts_.push_back(part);
    }
    item_ = nullptr;
  }

 private:
  [[nodiscard]] size_t size() const { return out_.bytes().size(); }
  void Add(uint32_t field, std::string_view name, cccl_cache_bytes text) {
    const std::string_view view(text.data, text.size);
    if (view.find('\0') != view.npos) invalid_ = name;
    out_.Message(field, view);
  }
  /// Returns the enum's number as protobuf encodes it: sign-extended to 64 bits.
  template <typename Value>
  static uint64_t OnWire(const Value& value) {
    if constexpr (sizeof(Value) == sizeof(int)) {
      return static_cast<uint64_t>(int64_t{WireNumber(value)});
    } else {
      return static_cast<uint64_t>(value);
    }
  }

  ProtoWriter out_;
  RequestMessage* const request_;
  Part* item_ = nullptr;  ///< the list item whose fields are being written; null outside of items
  std::string_view invalid_;
};

template <typename Fields>
Expected<Done> RequestMessage::SetProgram(uint32_t number, const Fields& fields) {
  Writer writer(kUsualProgram, this);
  fields(writer);
  number_ = number;
  program_ = writer.Take();
  return writer.Outcome();
}

Expected<Done> RequestMessage::SetProgram(const cccl_cache_nvrtc& program) {
  const NvrtcLists lists(program);
  Expected<Done> set = SetProgram(fields::BuildRequest::kNvrtc,
                                  [&](Writer& writer) { WalkNvrtc(writer, program, lists); });
  if (set.ok()) MakeHeaderSet(program);
  return set;
}

void RequestMessage::MakeHeaderSet(const cccl_cache_nvrtc& program) {
  size_t bytes = 0;
  const std::span headers(program.headers, program.header_count);
  for (const cccl_cache_header& header : headers) bytes += header.contents.size;
  if (bytes < kHeaderSetBytes) return;
  for (const Part& part : parts_) {
    if (part.item != fields::NvrtcProgram::kHeaders) continue;
    const cccl_cache_bytes name = headers[set_headers_.size()].name;
    set_headers_.emplace_back(std::string(name.data, name.size), part.blob);
    blobs_[part.blob].in_set = true;
  }
  header_set_sha256_ = HeaderSetMessage().Sha256();
  names_header_set_ = true;
}

EncodedHeaderSet RequestMessage::HeaderSetMessage() const {
  std::vector<HeaderText> headers;
  headers.reserve(set_headers_.size());
  for (const auto& [name, blob] : set_headers_) headers.push_back({name, blobs_[blob].contents});
  return EncodedHeaderSet(std::move(headers));
}

Expected<Done> RequestMessage::SetProgram(const cccl_cache_link& program) {
  const LinkLists lists = {{program.inputs, program.input_count},
                           {program.options, program.option_count}};
  return SetProgram(fields::BuildRequest::kLink,
                    [&](Writer& writer) { WalkLink(writer, program, lists); });
}

Expected<Done> RequestMessage::SetProgram(const cccl_cache_nvvm& program) {
  const NvvmLists lists = {{program.modules, program.module_count},
                           {program.options, program.option_count}};
  return SetProgram(fields::BuildRequest::kNvvm,
                    [&](Writer& writer) { WalkNvvm(writer, program, lists); });
}

Expected<Done> RequestMessage::SetNamedOptions(const cccl_cache_build_options& options) {
  const RequestOptions named(options);
  Writer writer(kUsualOptions);
  WalkRequest(writer, named);
  named_options_ = writer.Take();
  return writer.Outcome();
}

Expected<Done> RequestMessage::SetOptions(const cccl_cache_build_options& options,
                                          BuildPriority priority) {
  const Expected<Done> named = SetNamedOptions(options);
  if (!named.ok()) return named;
  const int on_miss = WireNumber(options.on_miss);
  if (on_miss < CCCL_CACHE_ON_MISS_WAIT || on_miss > CCCL_CACHE_ON_MISS_FINISH) {
    return Error{CCCL_CACHE_INVALID_REQUEST,
                 std::to_string(on_miss) + " is not a cccl_cache_on_miss"};
  }
  on_miss_ = static_cast<MissAction>(on_miss);
  RequestOptions whole(options);
  whole.on_miss = on_miss_;
  whole.priority = priority;
  // A daemon of an older version ignores on_miss and would compile. So it must reject the request.
  if (!may_be_compiled()) whole.min_api_minor = kApiMinorOfOnMiss;
  // Computed for each build, because a thread may enter another mount namespace at any time.
  whole.files_view = FilesViewOfThisThread();
  Writer writer(kUsualOptions);
  WalkRequest(writer, whole);
  options_ = writer.Take();
  return Done{};
}

// The encoded message:
// message := [program] options
// program := head *(fields of the program | part)
// part    := [head of the item] fields of the item, with [head of the blob, blob] among them

template <typename Piece>
void RequestMessage::ForEachPiece(Use use, const Piece& piece) const {
  size_t at = 0;
  const auto fields_up_to = [&](size_t end) {
    piece(std::string_view(program_).substr(at, end - at));
    at = end;
  };
  if (number_ != 0) piece(Head(number_, ProgramSize(use)));
  for (const Part& part : parts_) {
    fields_up_to(part.begin);
    if (IsLeftOut(part, use)) {
      at = part.end;
      continue;
    }
    if (part.item != 0) piece(Head(part.item, ItemSize(part, use)));
    if (part.contents != 0) {
      const auto [field, bytes] = Sent(part, use);
      fields_up_to(part.place);
      piece(Head(part.contents, BlobSize(part, use)));
      if (!bytes.empty()) piece(Head(field, bytes.size()));
      piece(bytes);
    }
    fields_up_to(part.end);
  }
  fields_up_to(program_.size());
  piece(HeaderSetField(use));
  piece(use == Use::kName ? named_options_ : options_);
  if (use == Use::kWire) piece(ApiMinorField());
}

bool RequestMessage::IsLeftOut(const Part& part, Use use) const {
  return part.item == fields::NvrtcProgram::kHeaders && HasHeaderSet(use);
}

// The name has the digest even if the headers are sent inline, so that it does not change.
bool RequestMessage::HasHeaderSet(Use use) const {
  return use == Use::kName ? !set_headers_.empty() : names_header_set_;
}

std::string RequestMessage::HeaderSetField(Use use) const {
  if (!HasHeaderSet(use)) return {};
  return ProtoWriter().Bytes(fields::NvrtcProgram::kHeaderSetSha256, header_set_sha256()).Take();
}

std::string RequestMessage::ApiMinorField() const {
  // The last value of a field counts. This one is higher than that of the other options.
  if (!names_header_set_) return {};
  return ProtoWriter().Number(fields::BuildRequest::kMinApiMinor, kApiMinorOfHeaderSets).Take();
}

std::pair<uint32_t, std::string_view> RequestMessage::Sent(const Part& part, Use use) const {
  const Blob& blob = blobs_[part.blob];
  const bool ahead = use == Use::kWire && !blob.upload_sha256.empty();
  if (ahead) return {fields::Blob::kUploadSha256, blob.upload_sha256};
  return {fields::Blob::kInlineBytes, blob.contents};
}

size_t RequestMessage::BlobSize(const Part& part, Use use) const {
  const auto [field, bytes] = Sent(part, use);
  return bytes.empty() ? 0 : SizeOfField(field, bytes.size());
}

size_t RequestMessage::ItemSize(const Part& part, Use use) const {
  const size_t blob = part.contents == 0 ? 0 : SizeOfField(part.contents, BlobSize(part, use));
  return part.end - part.begin + blob;
}

size_t RequestMessage::ProgramSize(Use use) const {
  size_t size = program_.size();
  size += HeaderSetField(use).size();
  for (const Part& part : parts_) {
    if (IsLeftOut(part, use)) {
      size -= part.end - part.begin;
      continue;
    }
    const size_t whole = ItemSize(part, use);
    size += (part.item == 0 ? whole : SizeOfField(part.item, whole)) - (part.end - part.begin);
  }
  return size;
}

size_t RequestMessage::PackedSize() const {
  return options_.size() + ApiMinorField().size() +
         (number_ == 0 ? 0 : SizeOfField(number_, ProgramSize(Use::kWire)));
}

size_t RequestMessage::HashOfName() const {
  size_t all = HashOf(program_);
  const auto add = [&](std::string_view bytes) { all = all * kMultiplier + HashOf(bytes); };
  for (const Blob& blob : blobs_) {
    if (!blob.in_set || !HasHeaderSet(Use::kName)) add(blob.contents);
  }
  add(header_set_sha256());
  add(named_options_);
  return all;
}

std::string RequestMessage::Name() const {
  std::string name;
  ForEachPiece(Use::kName, [&](std::string_view piece) { name.append(piece); });
  return name;
}

bool RequestMessage::HasName(std::string_view name) const {
  bool same = true;
  ForEachPiece(Use::kName, [&](std::string_view piece) {
    same = same && name.starts_with(piece);
    if (same) name.remove_prefix(piece.size());
  });
  return same && name.empty();
}

void RequestMessage::CopyContents() {
  for (Blob& blob : blobs_) {
    blob.contents = copies_.emplace_front(blob.contents);
    blob.upload_sha256.clear();
  }
}

void RequestMessage::InlineAll() {
  for (Blob& blob : blobs_) blob.upload_sha256.clear();
}

void RequestMessage::NameUpload(size_t blob, std::string sha256) {
  blobs_[blob].upload_sha256 = std::move(sha256);
}

void RequestMessage::AppendTo(ByteChain* body) const { AppendBehind({}, body); }

void RequestMessage::AppendQuestionTo(ByteChain* body) const {
  AppendBehind(Head(fields::ExplainRequest::kBuild, PackedSize()), body);
}

void RequestMessage::AppendWithFilesTo(ByteChain* body) const {
  AppendBehind(Head(fields::BuildWithFilesRequest::kBuild, PackedSize()), body);
}

void RequestMessage::AppendTaggedTo(uint64_t tag, ByteChain* body) const {
  using Field = fields::BuildManyRequest;
  AppendBehind(ProtoWriter().Number(Field::kTag, tag).Head(Field::kBuild, PackedSize()).bytes(),
               body);
}

void RequestMessage::AppendBehind(std::string_view fields, ByteChain* body) const {
  AppendHead(fields.size() + PackedSize(), body);
  body->Copy(fields);
  ForEachPiece(Use::kWire, [&](std::string_view piece) { AppendPiece(piece, body); });
}

}  // namespace cccl_cache
