// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include "base/files/file_descriptor.h"

namespace cccl_cache::daemon {
namespace {

/// Two changes of a file within this time may leave equal time stamps. It is two ticks of the
/// slowest kernel clock (HZ=100) and a margin.
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

/// Returns the digest of a part from the names and contents of its files. A part without files has
/// a digest that no part with files has.
Digest DigestOf(std::string_view name, const SurveyedPart& part,
                const std::vector<Digest>& contents) {
  if (part.files.empty()) return Combine(name, {"none"});
  Hasher hasher;
  hasher.AppendValue("shape", part.shape);
  for (size_t i = 0; i < part.files.size(); ++i) {
    hasher.AppendValue("name", part.files[i].name);
    hasher.AppendValue("contents", contents[i].View());
  }
  return hasher.Finish();
}

std::shared_ptr<const ToolchainHeaders> HeadersOf(const Survey& survey,
                                                  const std::vector<Digest>& contents) {
  const SurveyedPart& part = survey.headers;
  std::vector<ToolchainHeaders::File> files;
  files.reserve(part.files.size());
  for (size_t i = 0; i < part.files.size(); ++i) {
    const SurveyedFile& file = part.files[i];
    files.push_back({file.name, contents[i], {file.stamp.device, file.stamp.inode}});
  }
  std::vector<ToolchainHeaders::Directory> directories;
  for (size_t i = 0; i < survey.header_directories.size(); ++i) {
    directories.push_back(
        {survey.header_directories[i].path, PlaceOf(survey.header_directories, i)});
  }
  return std::make_shared<const ToolchainHeaders>(std::move(files), std::move(directories),
                                                  part.linked);
}

bool IsStill(const FileDescriptor& fd, const ContentStamp& stamp) {
  struct statx status {};
  return StatusAt(fd.get(), "", &status) == 0 && ContentStamp::Of(status) == stamp;
}

}  // namespace

Result<Identity> Identifier::Identify(const Survey& survey, const std::stop_token& stop) {
  const auto compiler = DigestsOf("nvrtc", survey.nvrtc, stop);
  const auto headers = DigestsOf("headers", survey.headers, stop);
  const auto linker = DigestsOf("nvjitlink", survey.nvjitlink, stop);
  const auto nvvm = DigestsOf("nvvm", survey.nvvm, stop);
  if (!compiler || !headers || !linker || !nvvm) {
    return Error{ErrorCode::kUnavailable,
                 "its files can't be read, or change at this moment; it is looked at again soon"};
  }
  Identity identity{.nvrtc = DigestOf("nvrtc", survey.nvrtc, *compiler),
                    .nvjitlink = DigestOf("nvjitlink", survey.nvjitlink, *linker),
                    .nvvm = DigestOf("nvvm", survey.nvvm, *nvvm),
                    .whole = {},
                    .headers = HeadersOf(survey, *headers)};
  const Digest all_headers = DigestOf("headers", survey.headers, *headers);
  identity.whole = Combine("toolchain", {identity.nvrtc.View(), all_headers.View(),
                                         identity.nvjitlink.View(), identity.nvvm.View()});
  return identity;
}

std::optional<Identifier::Digests> Identifier::DigestsOf(std::string_view name,
                                                         const SurveyedPart& part,
                                                         const std::stop_token& stop) {
  if (part.files.empty()) return Digests{};
  const std::string record = "toolchain/files/2/" + Combine(name, {part.files.front().path}).Hex();
  if (auto digests = Remembered(record, part)) return digests;
  Digests digests;
  for (const SurveyedFile& file : part.files) {
    const std::optional<Digest> contents = DigestOfFile(file, stop);
    if (!contents) return std::nullopt;
    digests.push_back(*contents);
  }
  if (part.stamps_prove) Remember(record, part, digests);
  return digests;
}

std::optional<Identifier::Digests> Identifier::Remembered(const std::string& record,
                                                          const SurveyedPart& part) {
  const auto recent = recent_.find(record);
  const std::optional<std::string> value =
      recent != recent_.end() ? recent->second : meta_.GetMeta(record);
  if (!value || value->size() != (1 + part.files.size()) * sizeof(Digest::bytes)) {
    return std::nullopt;
  }
  std::string_view view = *value;
  if (!part.stamps_prove || view.substr(0, sizeof(Digest::bytes)) != part.stamps.View()) {
    return std::nullopt;
  }
  Digests digests;
  for (size_t i = 1; i <= part.files.size(); ++i) {
    digests.push_back(
        *Digest::FromBytes(view.substr(i * sizeof(Digest::bytes), sizeof(Digest::bytes))));
  }
  return digests;
}

void Identifier::Remember(const std::string& record, const SurveyedPart& part,
                          const Digests& digests) {
  std::string value(part.stamps.View());
  for (const Digest& digest : digests) value += digest.View();
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

std::optional<Digest> DigestOfFile(const SurveyedFile& file, const std::stop_token& stop) {
  // The file is read and not mapped into memory. If a mapped file shrinks, a read of the mapping
  // kills the process.
  const FileDescriptor fd(open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid() || !IsStill(fd, file.stamp)) return std::nullopt;
  std::vector<char> buffer(std::min<uint64_t>(file.stamp.size + 1, 1 << 20));
  Hasher hasher;
  while (!stop.stop_requested()) {
    const ssize_t length = read(fd.get(), buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return std::nullopt;
    if (length == 0) {
      if (!IsStill(fd, file.stamp)) return std::nullopt;
      return hasher.Finish();
    }
    hasher.Append(std::string_view(buffer.data(), static_cast<size_t>(length)));
  }
  return std::nullopt;
}

}  // namespace cccl_cache::daemon
