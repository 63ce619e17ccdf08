// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/identity.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "daemon/toolchain/file_digest.h"

namespace cccl_cached {
namespace {

using cccl_cache::Digest;
using cccl_cache::Hasher;

/// Two ticks of the slowest kernel clock (HZ=100) and a little.
constexpr std::chrono::milliseconds kStampResolution{25};

std::chrono::nanoseconds Age(const Survey& survey) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - std::chrono::nanoseconds(survey.newest_change_ns);
}

Digest Combine(std::string_view what, std::initializer_list<std::string_view> parts) {
  Hasher hasher;
  hasher.AppendValue("what", what);
  for (std::string_view part : parts) hasher.AppendValue("part", part);
  return hasher.Finish();
}

}  // namespace

Result<Identity> Identifier::Identify(const Survey& survey, const std::stop_token& stop) {
  // A change time in the future (the clock was set back) orders nothing.
  const bool remember = survey.stamps_are_local && Age(survey) >= kStampResolution;
  const OptionalDigest compiler = PartDigest("nvrtc", survey.nvrtc, remember, stop);
  const OptionalDigest headers = PartDigest("headers", survey.headers, remember, stop);
  const OptionalDigest linker = PartDigest("nvjitlink", survey.nvjitlink, remember, stop);
  const OptionalDigest nvvm = PartDigest("nvvm", survey.nvvm, remember, stop);
  if (!compiler || !headers || !linker || !nvvm) {
    return Error{ErrorCode::kUnavailable,
                 "its files can't be read, or change at this moment; it is looked at again soon"};
  }
  Identity identity{.nvrtc = Combine("nvrtc", {compiler->View(), headers->View()}),
                    .nvjitlink = *linker,
                    .nvvm = *nvvm};
  identity.whole = Combine("toolchain", {identity.nvrtc.View(), linker->View(), nvvm->View()});
  return identity;
}

Identifier::OptionalDigest Identifier::PartDigest(std::string_view name, const SurveyedPart& part,
                                                  bool remember, const std::stop_token& stop) {
  if (part.files.empty()) return Combine(name, {"none"});
  const Digest place = Combine(name, {part.files.front().path});
  const std::string record = "toolchain/files/1/" + place.Hex();
  if (remember) {
    if (OptionalDigest digest = Remembered(record, part)) return digest;
  }
  const OptionalDigest digest = ReadPart(part, stop);
  if (digest && remember) Remember(record, part, *digest);
  return digest;
}

Identifier::OptionalDigest Identifier::ReadPart(const SurveyedPart& part,
                                                const std::stop_token& stop) {
  Hasher hasher;
  hasher.AppendValue("shape", part.shape);
  for (const SurveyedFile& file : part.files) {
    const OptionalDigest contents = DigestOfFile(file, stop);
    if (!contents) return std::nullopt;
    hasher.AppendValue("name", file.name);
    hasher.AppendValue("contents", contents->View());
  }
  return hasher.Finish();
}

Identifier::OptionalDigest Identifier::Remembered(const std::string& record,
                                                  const SurveyedPart& part) {
  const auto recent = recent_.find(record);
  const std::optional<std::string> value =
      recent != recent_.end() ? recent->second : meta_.GetMeta(record);
  if (!value || value->size() != 64) return std::nullopt;
  const std::string_view view = *value;
  if (view.substr(0, 32) != part.stamps.View()) return std::nullopt;
  return Digest::FromBytes(view.substr(32));
}

void Identifier::Remember(const std::string& record, const SurveyedPart& part,
                          const Digest& digest) {
  std::string value(part.stamps.View());
  value += digest.View();
  meta_.PutMeta(record, value);
  recent_[record] = std::move(value);
}

Result<Survey> SettledSurvey(const Installation& installation, uid_t own_uid,
                             LookupObserver* observer) {
  Result<Survey> survey = TakeSurvey(installation, own_uid, observer);
  if (!survey.ok() || Age(*survey) >= kStampResolution) return survey;
  std::this_thread::sleep_for(kStampResolution);
  return TakeSurvey(installation, own_uid, observer);
}

}  // namespace cccl_cached
