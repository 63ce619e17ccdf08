// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/build_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "proto/request_fields.h"

namespace cccl_cache::daemon {
namespace {

// Removes duplicates, because the compiler returns only one lowered name for equal expressions.
void MakeDistinct(std::vector<std::string>* texts) {
  std::sort(texts->begin(), texts->end());
  texts->erase(std::unique(texts->begin(), texts->end()), texts->end());
}

/// A BuildRequest, and the received fields that the core does not use.
struct ReceivedRequest : BuildRequest {
  size_t programs = 0;  ///< number of programs in the message; exactly one is valid
  uint32_t min_api_minor = 0;
  std::vector<ArtifactKind> wanted;
};

/// A repeated field of a message. Its entries beyond `limit` are counted but not kept.
struct BoundedList {
  std::string_view name;
  size_t limit;
  size_t count = 0;
};

/// Reads one message. The functions that list the fields (proto/request_fields.h) are called for
/// each field in the message. Each then calls a member function per known field, and the one with
/// the right number stores the value. Not thread-safe. The constructor's arguments must outlive the
/// object.
class MessageReader {
 public:
  MessageReader(const ServiceLimits& limits, RequestFields* checks, ProtoReader* message)
      : limits_(limits), checks_(*checks), message_(*message) {}

  /// Calls `fields` once for each field in the message.
  template <typename Fields>
  void Read(const Fields& fields) {
    while ((number_ = message_.Next()) != 0) fields(*this);
    for (const BoundedList& list : lists_) checks_.CheckCount(list.name, list.count, list.limit);
  }

  void Name(uint32_t field, std::string_view name, std::string& text) {
    if (number_ == field) text = checks_.Name(name, message_.Bytes());
  }
  void Option(uint32_t field, std::string_view name, std::string& text) {
    if (number_ == field) text = checks_.Option(name, message_.Bytes());
  }
  void Options(uint32_t field, std::string_view name, std::vector<std::string>& list) {
    if (number_ != field || !HasRoom(name, limits_.options)) return;
    list.push_back(checks_.Option(name, message_.Bytes()));
  }
  void SourceText(uint32_t field, std::string_view name, std::string& text) {
    if (number_ == field) text = checks_.SourceText(name, ReadBlob());
  }
  void HeaderSetDigest(uint32_t field, std::string_view name,
                       std::shared_ptr<const HeaderSet>& set) {
    if (number_ == field) set = checks_.Headers(name, message_.Bytes());
  }
  void Contents(uint32_t field, std::string_view name, std::string& bytes) {
    if (number_ == field) bytes = checks_.Contents(name, ReadBlob());
  }
  template <typename Integer>
  void Number(uint32_t field, Integer& value) {
    if (number_ == field) value = static_cast<Integer>(message_.Number());
  }
  void Flag(uint32_t field, bool& value) {
    if (number_ == field) value = message_.Number() != 0;
  }
  void Enum(uint32_t field, std::string_view name, LinkInputType& type);
  // An unknown value, from a newer client, counts as the default. A daemon that does not know the
  // field would act the same way.
  void Enum(uint32_t field, std::string_view, BuildPriority& priority) {
    if (number_ == field) priority = KnownOr(BuildPriority::kNormal, BuildPriority::kWarmUp);
  }
  void Enum(uint32_t field, std::string_view, MissAction& action) {
    if (number_ == field) action = KnownOr(MissAction::kWait, MissAction::kFinish);
  }
  void Enums(uint32_t field, std::string_view name, std::vector<ArtifactKind>& kinds);

  template <typename Kind, typename Fields>
  void Program(uint32_t field, ReceivedRequest& request, const Fields& fields) {
    if (number_ != field) return;
    ++request.programs;
    Kind& program = request.program.emplace<Kind>();
    ReadNested([&](MessageReader& nested) { fields(nested, program, program); });
  }
  template <typename Value, typename Fields>
  void Message(uint32_t field, Value& member, const Fields& fields) {
    if (number_ != field) return;
    member = {};
    ReadNested([&](MessageReader& nested) { fields(nested, member); });
  }
  template <typename Value, typename Fields>
  void Message(uint32_t field, std::optional<Value>& member, const Fields& fields) {
    if (number_ == field) Message(field, member.emplace(), fields);
  }
  template <typename Item, typename Fields>
  void Items(uint32_t field, std::string_view name, std::vector<Item>& list, const Fields& fields) {
    constexpr bool kHeaders = std::is_same_v<Item, InlineHeader>;
    if (number_ != field || !HasRoom(name, kHeaders ? limits_.headers : limits_.options)) {
      return;
    }
    Item& item = list.emplace_back();
    ReadNested([&](MessageReader& nested) { fields(nested, item); });
  }

 private:
  template <typename Fields>
  void ReadNested(const Fields& fields) {
    ProtoReader message = message_.Message();
    MessageReader(limits_, &checks_, &message).Read(fields);
  }
  Blob ReadBlob();
  void AddKind(std::string_view name, uint64_t number, std::vector<ArtifactKind>& kinds);
  /// Counts one more entry of a repeated field. Returns whether the entry is kept.
  bool HasRoom(std::string_view name, size_t limit) {
    auto list = std::ranges::find(lists_, name, &BoundedList::name);
    if (list == lists_.end()) list = lists_.insert(list, {name, limit});
    return ++list->count <= limit;
  }
  template <typename Value>
  Value KnownOr(Value otherwise, Value last) {
    const uint64_t number = message_.Number();
    return number <= static_cast<uint64_t>(last) ? static_cast<Value>(number) : otherwise;
  }

  const ServiceLimits& limits_;
  RequestFields& checks_;
  ProtoReader& message_;
  uint32_t number_ = 0;  ///< number of the field that is read now
  std::vector<BoundedList> lists_;
};

void MessageReader::Enum(uint32_t field, std::string_view name, LinkInputType& type) {
  if (number_ != field) return;
  const auto number = static_cast<int32_t>(message_.Number());
  if (number < 0 || number > static_cast<int32_t>(LinkInputType::kLibrary)) {
    checks_.Refuse(fmt::format("{}: {} is not a type of input", name, number));
  } else {
    type = static_cast<LinkInputType>(number);
  }
}

/// Reads a repeated enum, whose values are separate fields or packed in one field.
void MessageReader::Enums(uint32_t field, std::string_view name, std::vector<ArtifactKind>& kinds) {
  if (number_ != field) return;
  if (!message_.is_bytes()) return AddKind(name, message_.Number(), kinds);
  ProtoReader numbers = message_.Message();
  while (numbers.more()) AddKind(name, numbers.NextOfNumbers(), kinds);
}

void MessageReader::AddKind(std::string_view name, uint64_t number,
                            std::vector<ArtifactKind>& kinds) {
  // After an error the other values are skipped. A message has room for millions, and only the
  // first error is kept.
  if (checks_.error()) return;
  const auto value = static_cast<int32_t>(number);
  if (value <= 0 || value > static_cast<int32_t>(ArtifactKind::kOptixIr)) {
    checks_.Refuse(fmt::format("{}: {} is not a kind of artifact", name, value));
    return;
  }
  const auto kind = static_cast<ArtifactKind>(value);
  if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
}

Blob MessageReader::ReadBlob() {
  Blob blob;
  ProtoReader message = message_.Message();
  while (const uint32_t number = message.Next()) {
    if (number == fields::Blob::kInlineBytes) blob.inline_bytes = message.Bytes();
    if (number == fields::Blob::kUploadSha256) blob.upload_sha256 = message.Bytes();
  }
  return blob;
}

/// Refuses a request with fields that must not be set together.
void CheckTogether(const ReceivedRequest& request, RequestFields* checks) {
  const ToolchainSelector& toolchain = request.toolchain;
  const int set = static_cast<int>(!toolchain.id.empty()) +
                  static_cast<int>(!toolchain.version.empty()) +
                  static_cast<int>(toolchain.major != 0);
  if (set > 1) checks->Refuse("toolchain: set at most one of id, version and major");
  const bool absolute =
      request.working_directory.empty() || request.working_directory.starts_with('/');
  if (!absolute) checks->Refuse("working_directory: must be absolute");
  if (request.programs != 1) checks->Refuse("exactly one of nvrtc, link and nvvm must be set");
}

Error NotARequest() {
  return Error{ErrorCode::kInvalidRequest,
               "the message is not a cccl_cache.v1.BuildRequest: it is damaged or compressed"};
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

void RequestFields::CheckName(std::string_view field, std::string_view text, uint64_t limit) {
  if (text.size() > limit) {
    Refuse(fmt::format("{}: {} bytes long, at most {} are allowed", field, text.size(), limit));
  } else if (text.find('\0') != std::string_view::npos) {
    Refuse(fmt::format("{}: holds a zero byte", field));
  }
}

std::string RequestFields::Text(std::string_view field, std::string&& text, uint64_t limit) {
  if (error_) return {};
  CheckName(field, text, limit);
  bytes_ += text.size();
  return std::move(text);
}

void RequestFields::Count(std::string_view field, uint64_t size) {
  bytes_ += size;
  if (bytes_ <= limits_.source_bytes) return;
  Refuse(
      fmt::format("{}: source, headers and inputs together are larger than {} bytes, which is "
                  "the most that one request may hold (the daemon's source_limit): split the "
                  "program, or move parts of it into files that it includes",
                  field, limits_.source_bytes));
}

std::optional<Digest> RequestFields::DigestOf(std::string_view field, std::string_view raw) {
  const auto digest = Digest::FromBytes(raw);
  if (!digest) Refuse(fmt::format("{}: {} bytes long, a SHA-256 has 32", field, raw.size()));
  return digest;
}

std::shared_ptr<const HeaderSet> RequestFields::Headers(std::string_view field,
                                                        std::string_view sha256) {
  const auto digest = error_ ? std::nullopt : DigestOf(field, sha256);
  if (!digest) return nullptr;
  auto set =
      std::make_shared<HeaderSet>(HeaderSet{.digest = *digest, .bytes = find_upload_(*digest)});
  if (!set->has_contents()) return set;
  if (set->bytes->size() > limits_.header_set_bytes) {
    Refuse(fmt::format("{}: the set has more than {} bytes (the daemon's header_set_limit)", field,
                       limits_.header_set_bytes));
    return nullptr;
  }
  auto headers = ReadHeaderSet(*set->bytes, limits_.headers);
  if (!headers) {
    Refuse(
        fmt::format("{}: the upload is not a cccl_cache.v1.HeaderSet with inline contents", field));
    return nullptr;
  }
  set->headers = *std::move(headers);
  Count(field, set->headers.size() * sizeof(HeaderText));
  CheckCount(field, set->headers.size(), limits_.headers);
  for (const HeaderText& header : set->headers) CheckName(field, header.name, limits_.name_bytes);
  return set;
}

std::string RequestFields::Uploaded(std::string_view field, const std::string& raw) {
  const auto digest = DigestOf(fmt::format("{}.upload_sha256", field), raw);
  if (!digest) return {};
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

Result<ConvertedRequest> ReadBuild(ProtoReader& message, const ServiceLimits& limits,
                                   const FindUpload& find_upload) {
  using Field = fields::BuildRequest;
  RequestFields checks(limits, find_upload);
  const auto request = std::make_shared<ReceivedRequest>();
  MessageReader(limits, &checks, &message).Read([&request](MessageReader& walk) {
    walk.Program<NvrtcProgram>(
        Field::kNvrtc, *request, [](auto& each, NvrtcProgram& program, NvrtcProgram& lists) {
          WalkNvrtc(each, program, lists);
          each.HeaderSetDigest(fields::NvrtcProgram::kHeaderSetSha256, "nvrtc.header_set_sha256",
                               program.header_set);
        });
    walk.Program<LinkProgram>(Field::kLink, *request, [](auto&... of) { WalkLink(of...); });
    walk.Program<NvvmProgram>(Field::kNvvm, *request, [](auto&... of) { WalkNvvm(of...); });
    WalkRequest(walk, *request);
  });
  if (!message.ok()) return NotARequest();
  // This check comes first. A client that needs a newer API thus gets this error, and no error
  // about fields that this daemon does not know.
  if (request->min_api_minor > kApiMinor) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("min_api_minor: the request needs {}, this daemon has {}: update "
                             "the daemon",
                             request->min_api_minor, kApiMinor)};
  }
  CheckTogether(*request, &checks);
  if (checks.error()) return *checks.error();
  if (auto* nvrtc = std::get_if<NvrtcProgram>(&request->program))
    MakeDistinct(&nvrtc->name_expressions);
  return ConvertedRequest{request, std::move(request->wanted), checks.bytes()};
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
