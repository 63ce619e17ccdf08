// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/release_upload.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/wire.h"
#include "client/src/calls/file_digest.h"
#include "client/src/transport/byte_chain.h"
#include "client/src/transport/call.h"
#include "client/src/wire/messages.h"
#include "proto/digest.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

Error Unreadable(const std::string& path, const char* why) {
  return {CCCL_CACHE_INVALID_REQUEST, path + " can't be read: " + why};
}

/// kGive: upload the library. kAsk: only ask the daemon whether it would accept the library.
enum class Intent { kGive, kAsk };

struct ReleaseAnswer {
  bool added = false;
  std::string version;  ///< of the release to which the library belongs
};

/// The messages of a call of the RPC Admin.AddRelease. It reads a file only when the connection can
/// send more. Not thread-safe.
class ReleaseUpload final : public MessageSource, public MessageSink {
 public:
  ReleaseUpload(std::vector<std::string> files, std::vector<Digest> digests, Intent intent)
      : files_(std::move(files)), digests_(std::move(digests)), intent_(intent) {}

  const ByteChain* Next() override {
    message_.Clear();
    if (!named_) {
      AppendNames();
      return &message_;
    }
    if (intent_ == Intent::kAsk) return nullptr;
    piece_.resize(kMaxPiece);
    while (next_file_ < files_.size() || file_.valid()) {
      const ssize_t size = ReadPiece();
      if (size > 0) {
        AppendBytesMessage(fields::AddReleaseRequest::kData,
                           {piece_.data(), static_cast<size_t>(size)}, &message_);
        return &message_;
      }
      // A read error. No more data is sent, and the daemon refuses the incomplete file.
      if (size < 0) return nullptr;
      file_.Close();
    }
    return nullptr;
  }

  [[nodiscard]] bool done() const override {
    return named_ && !file_.valid() &&
           (intent_ == Intent::kAsk || failure_ || next_file_ == files_.size());
  }

  void Restart() override {
    named_ = false;
    next_file_ = 0;
    file_.Close();
    answer_.reset();
  }

  bool Take(Message message) override {
    if (answer_) return false;
    ProtoReader reader(message.View());
    ReleaseAnswer answer;
    while (const uint32_t number = reader.Next()) {
      if (number == fields::AddReleaseReply::kAdded) answer.added = reader.Number() != 0;
      if (number == fields::AddReleaseReply::kVersion) answer.version = reader.Text();
    }
    answer_ = std::move(answer);
    return reader.ok();
  }

  /// Returns none if the daemon has not answered.
  [[nodiscard]] std::optional<ReleaseAnswer>& answer() { return answer_; }
  /// Returns the error of a read of the files. None: there was no error.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  void AppendNames() {
    using Field = fields::AddReleaseRequest;
    ProtoWriter request;
    for (const Digest& digest : digests_) request.Message(Field::kSha256, digest.View());
    request.Number(Field::kOnlyAsk, intent_ == Intent::kAsk ? 1 : 0);
    AppendMessage(request.bytes(), &message_);
    named_ = true;
  }

  /// Reads from the open file, or opens the next one. Returns 0 at the end of a file, and -1 after
  /// an error.
  ssize_t ReadPiece() {
    if (!file_.valid()) {
      file_ = FileDescriptor(open(files_[next_file_].c_str(), O_RDONLY | O_CLOEXEC));
      ++next_file_;
    }
    ssize_t size = -1;
    while (file_.valid() && size < 0) {
      size = read(file_.get(), piece_.data(), piece_.size());
      if (size < 0 && errno != EINTR) break;
    }
    if (size < 0) {
      failure_ = Unreadable(files_[next_file_ - 1], std::strerror(errno));
      file_.Close();
    }
    return size;
  }

  const std::vector<std::string> files_;
  const std::vector<Digest> digests_;
  const Intent intent_;
  bool named_ = false;
  size_t next_file_ = 0;
  FileDescriptor file_;
  std::vector<char> piece_;
  ByteChain message_;
  std::optional<ReleaseAnswer> answer_;
  std::optional<Error> failure_;
};

Expected<ReleaseAnswer> OfferRelease(Channel* channel, const std::string& library, Intent intent,
                                     Deadline deadline) {
  std::vector<std::string> files = ComponentOf(library).files;
  if (files.empty()) {
    return Unreadable(library,
                      "it is not there, or not with the builtins of one release beside it");
  }
  std::vector<Digest> digests;
  for (const std::string& file : files) {
    const std::optional<Digest> digest = DigestOfFile(file);
    if (!digest) return Unreadable(file, "it is no file, not yours to read, or changes just now");
    digests.push_back(*digest);
  }
  const ByteChain nothing;
  ReleaseUpload upload(std::move(files), std::move(digests), intent);
  Expected<Done> called =
      channel->Invoke("/cccl_cache.v1.Admin/AddRelease", nothing, &upload, deadline, &upload);
  if (upload.failure()) return *upload.failure();
  if (!called.ok()) return std::move(called).error();
  if (upload.answer()) return *std::move(upload.answer());
  return Error{CCCL_CACHE_PROTOCOL, "the daemon's answer to a release can't be understood"};
}

}  // namespace

Expected<bool> AddRelease(Channel* channel, const std::string& library, Deadline deadline) {
  const Expected<ReleaseAnswer> answer = OfferRelease(channel, library, Intent::kGive, deadline);
  if (!answer.ok()) return answer.error();
  return answer->added;
}

Expected<std::string> FindRelease(Channel* channel, const std::string& library, Deadline deadline) {
  Expected<ReleaseAnswer> answer = OfferRelease(channel, library, Intent::kAsk, deadline);
  if (!answer.ok()) return answer.error();
  return std::move(answer->version);
}

}  // namespace cccl_cache
