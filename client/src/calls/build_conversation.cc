// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/build_conversation.h"

#include <cccl_cache/v1/build.pb-c.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "client/src/wire/messages.h"
#include "client/src/wire/wire_reader.h"

namespace cccl_cache {
namespace {

// Numbers in build.proto.
constexpr uint32_t kQuestions = 3;
constexpr uint32_t kPath = 1;
constexpr uint32_t kContents = 2;
constexpr uint32_t kMore = 3;

// The protocol's bound for the contents in one message.
constexpr size_t kLargestPiece = size_t{1} << 20;
// Enough for a message: what is small goes together.
constexpr size_t kEnoughContents = size_t{256} << 10;
constexpr size_t kEnoughAnswers = 512;
// Where files are slow to be read the daemon hears of each in time, and does not give up.
constexpr std::chrono::seconds kLongEnough{1};
// Many more than a daemon asks before it has heard an answer.
constexpr size_t kMostQuestions = 1'000'000;

ProtobufCBinaryData Binary(std::string_view bytes) {
  return {bytes.size(), reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()))};
}

CcclCache__V1__FileKind KindOf(OwnFile::Kind kind) {
  switch (kind) {
    case OwnFile::Kind::kAbsent:
      return CCCL_CACHE__V1__FILE_KIND__FILE_KIND_ABSENT;
    case OwnFile::Kind::kRegular:
      return CCCL_CACHE__V1__FILE_KIND__FILE_KIND_REGULAR;
    case OwnFile::Kind::kDirectory:
      return CCCL_CACHE__V1__FILE_KIND__FILE_KIND_DIRECTORY;
    case OwnFile::Kind::kRefused:
      break;
  }
  return CCCL_CACHE__V1__FILE_KIND__FILE_KIND_REFUSED;
}

void AppendWords(std::string_view text, std::vector<std::string>* words) {
  constexpr std::string_view kBlanks = " \t\n";
  while (true) {
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == text.npos) return;
    const size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words->emplace_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

std::optional<AskableFiles::Program> ProgramOf(const BuildRequest& request) {
  const CcclCache__V1__BuildRequest& message = request.message();
  if (message.nvrtc == nullptr) return std::nullopt;
  const CcclCache__V1__NvrtcProgram& nvrtc = *message.nvrtc;
  AskableFiles::Program program{.working_directory = message.working_directory,
                                .name = nvrtc.name,
                                .options = {nvrtc.options, nvrtc.options + nvrtc.n_options},
                                .texts = {}};
  for (size_t i = 0; i < nvrtc.n_environment; ++i) {
    AppendWords(nvrtc.environment[i]->value, &program.options);
  }
  for (const BuildRequest::BlobUse& use : request.blobs()) program.texts.push_back(use.contents);
  return program;
}

OwnFile NotOfThisBuild() {
  OwnFile file;
  file.kind = OwnFile::Kind::kRefused;
  file.reason =
      "it lies outside the directories of this build, and neither the program nor a header that "
      "was read before names it as it is spelled here: add its directory with -I";
  return file;
}

/// An answer with what its message refers to; does not move.
struct Told {
  OwnFile file;
  CcclCache__V1__FileAnswer message;

  explicit Told(OwnFile found) : file(std::move(found)) {
    cccl_cache__v1__file_answer__init(&message);
    message.kind = KindOf(file.kind);
    message.device = file.device;
    message.inode = file.inode;
    message.reason = file.reason.data();
  }
};

}  // namespace

BuildConversation::BuildConversation(const BuildRequest& request)
    : request_(request), askable_(std::in_place, ProgramOf(request)) {}

void BuildConversation::Restart() {
  reply_.Restart();
  askable_.emplace(ProgramOf(request_));
  questions_.clear();
  message_.Clear();
  contents_.clear();
  rest_ = {};
}

bool BuildConversation::Take(Message message) {
  WireReader reader(message.View());
  WireField field;
  bool asks = false;
  while (reader.Next(&field)) {
    if (field.number != kQuestions || !field.is_bytes) continue;
    asks = true;
    if (!TakeQuestion(field.bytes)) return false;
  }
  if (reader.malformed()) return false;
  return asks || reply_.Take(std::move(message));
}

bool BuildConversation::TakeQuestion(std::string_view question) {
  Question asked;
  WireReader reader(question);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == kPath && field.is_bytes) asked.path = field.bytes;
    if (field.number == kContents) asked.contents = field.value != 0;
  }
  // Relative names mean nothing that both sides agree on.
  const bool sound = !reader.malformed() && asked.path.starts_with('/') &&
                     asked.path.find('\0') == std::string::npos;
  if (!sound || questions_.size() >= kMostQuestions) return false;
  questions_.push_back(std::move(asked));
  return true;
}

const ByteChain* BuildConversation::Next() {
  message_.Clear();
  if (!rest_.empty()) {
    const std::string_view piece = rest_.substr(0, kLargestPiece);
    rest_.remove_prefix(piece.size());
    AppendBytesMessage(kMore, piece, &message_);
    return &message_;
  }
  if (questions_.empty()) return nullptr;
  AppendAnswers();
  return &message_;
}

OwnFile BuildConversation::LookAt(const Question& question) {
  if (!askable_->May(question.path)) return NotOfThisBuild();
  OwnFile file = LookAtOwnFile(question.path, question.contents);
  if (file.kind == OwnFile::Kind::kRegular) askable_->NoteAnswered(question.path, file.contents);
  return file;
}

void BuildConversation::AppendAnswers() {
  contents_.clear();
  std::deque<Told> told;
  std::vector<CcclCache__V1__FileAnswer*> answers;
  size_t size = 0;
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  while (!questions_.empty() && size < kEnoughContents && answers.size() < kEnoughAnswers &&
         (answers.empty() || std::chrono::steady_clock::now() < until)) {
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    Told& last = told.emplace_back(LookAt(question));
    answers.push_back(&last.message);
    if (last.file.kind != OwnFile::Kind::kRegular) continue;
    last.message.size = last.file.contents.size();
    if (!question.contents) {
      last.message.sha256 = Binary(last.file.digest.View());
      last.file.contents = {};
      continue;
    }
    rest_ = contents_.emplace_back(std::move(last.file.contents));
    const std::string_view piece = rest_.substr(0, kLargestPiece - size);
    rest_.remove_prefix(piece.size());
    last.message.contents = Binary(piece);
    size += piece.size();
    if (!rest_.empty()) break;
  }
  CcclCache__V1__BuildWithFilesRequest message = CCCL_CACHE__V1__BUILD_WITH_FILES_REQUEST__INIT;
  message.answers = answers.data();
  message.n_answers = answers.size();
  AppendMessage(message.base, &message_);
}

}  // namespace cccl_cache
