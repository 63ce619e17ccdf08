// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/file_answers.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/files/file_stamp.h"
#include "base/files/whole_file.h"
#include "base/wire.h"
#include "client/src/wire/messages.h"
#include "proto/field_numbers.h"
#include "proto/options/options.h"

namespace cccl_cache {
namespace {

// Maximum total size of `names_` in bytes. The names in all headers of CCCL together have some 100
// KB.
constexpr size_t kMaxNameBytes = size_t{16} << 20;

// Returns the name without "." and repeated slashes, so that equal names have one spelling. ".." is
// kept, because only the kernel can resolve it.
std::string Tidy(std::string_view name) {
  std::string tidy(name.starts_with('/') ? "/" : "");
  while (!name.empty()) {
    const size_t slash = name.find('/');
    const std::string_view component = name.substr(0, slash);
    if (!component.empty() && component != ".") {
      if (!tidy.empty() && !tidy.ends_with('/')) tidy += '/';
      tidy += component;
    }
    if (slash == name.npos) break;
    name.remove_prefix(slash + 1);
  }
  return tidy;
}

bool GoesUp(std::string_view name) {
  for (size_t at = name.find(".."); at != name.npos; at = name.find("..", at + 1)) {
    const bool begins = at == 0 || name[at - 1] == '/';
    const bool ends = at + 2 == name.size() || name[at + 2] == '/';
    if (begins && ends) return true;
  }
  return false;
}

std::string_view DirectoryOf(std::string_view path) {
  return path.substr(0, std::max<size_t>(path.rfind('/'), 1));
}

// Returns whether the character is usual in the names of files.
bool IsOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_./~-+@%").find(c) != std::string_view::npos;
}

std::string Absolute(std::string_view path, std::string_view working_directory) {
  if (path.starts_with('/')) return Tidy(path);
  if (!working_directory.starts_with('/')) return {};
  return Tidy(std::string(working_directory).append("/").append(path));
}

// Maximum size of an answered file in bytes. The daemon has the same limit for files that it reads.
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;
// Maximum number of attempts to read a file that changes during the read.
constexpr int kMaxAttempts = 5;

OwnFile Refused(std::string reason) {
  OwnFile file;
  file.kind = OwnFile::Kind::kRefused;
  file.reason = std::move(reason);
  return file;
}

// Returns the answer about a path for which a system call failed with this errno.
OwnFile AfterError(int error) {
  if (error == EACCES) {
    return Refused(std::string(std::strerror(error)) +
                   ": you may not read it; open it and its directories to yourself (chmod), or "
                   "leave its directory out of those that are searched");
  }
  const bool absent =
      error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
  return absent ? OwnFile{} : Refused(std::strerror(error));
}

bool SameStamp(const struct statx& one, const struct statx& other) {
  const auto same = [](const statx_timestamp& a, const statx_timestamp& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  return one.stx_size == other.stx_size && same(one.stx_mtime, other.stx_mtime) &&
         same(one.stx_ctime, other.stx_ctime);
}

bool IsPseudoFile(int file) {
  struct statfs system {};
  if (fstatfs(file, &system) != 0) return true;
  return KindOf(system, {}) == FileSystem::kKernel;
}

// Reads a file and returns the answer. None: the file was changed or replaced during the read.
std::optional<OwnFile> ReadRegular(const std::string& path, bool contents) {
  // The file may have been replaced by a FIFO after the caller checked it. With O_NONBLOCK, open
  // does not wait for a writer of the FIFO.
  const FileDescriptor opened(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!opened.valid()) return errno == ENOENT ? std::nullopt : std::optional(AfterError(errno));
  struct statx before {};
  struct statx after {};
  const auto look = [&](struct statx* status) {
    return statx(opened.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS, status) == 0;
  };
  if (!look(&before)) return AfterError(errno);
  if (!S_ISREG(before.stx_mode)) return std::nullopt;
  if (IsPseudoFile(opened.get()))
    return Refused("it is not a real file: the kernel makes up its contents");
  OwnFile file;
  file.kind = OwnFile::Kind::kRegular;
  if (before.stx_size <= kMaxBytes) {
    std::optional<std::string> read = ReadAll(opened.get(), kMaxBytes + 1);
    if (!read) return Refused(std::strerror(errno));
    file.contents = *std::move(read);
  }
  if (before.stx_size > kMaxBytes || file.contents.size() > kMaxBytes) {
    return Refused("it is larger than 64 MiB, the most that is read of one file: split it");
  }
  if (!look(&after) || !SameStamp(before, after)) return std::nullopt;
  file.device = uint64_t{before.stx_dev_major} << 32 | before.stx_dev_minor;
  file.inode = before.stx_ino;
  if (!contents) file.digest = Sha256(file.contents);
  return file;
}

// Contents are collected in one message up to this size in bytes, and answers up to this number.
constexpr size_t kEnoughContents = size_t{256} << 10;
constexpr size_t kEnoughAnswers = 512;
// If files are slow to read, the answers so far are sent after this time. Otherwise the daemon
// might give up.
constexpr std::chrono::seconds kLongEnough{1};
// Maximum number of unanswered questions. A correct daemon has far fewer.
constexpr size_t kMaxQuestions = 1'000'000;

void ReadNvrtc(ProtoReader nvrtc, AskableFiles::Program* program) {
  using Field = fields::NvrtcProgram;
  while (const uint32_t number = nvrtc.Next()) {
    if (number == Field::kName) program->name = nvrtc.View();
    if (number == Field::kOptions) program->options.emplace_back(nvrtc.View());
    if (number != Field::kEnvironment) continue;
    ProtoReader variable = nvrtc.Message();
    while (const uint32_t member = variable.Next()) {
      if (member != fields::EnvironmentVariable::kValue) continue;
      AppendWords(variable.View(), &program->options);
    }
  }
}

std::optional<AskableFiles::Program> ProgramOf(const RequestMessage& request) {
  const std::string message = request.Name();
  AskableFiles::Program program;
  bool is_nvrtc = false;
  ProtoReader reader(message);
  while (const uint32_t number = reader.Next()) {
    if (number == fields::BuildRequest::kWorkingDirectory)
      program.working_directory = reader.View();
    if (number != fields::BuildRequest::kNvrtc) continue;
    is_nvrtc = true;
    ReadNvrtc(reader.Message(), &program);
  }
  if (!is_nvrtc) return std::nullopt;
  for (const RequestMessage::Blob& blob : request.blobs()) program.texts.push_back(blob.contents);
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

}  // namespace

AskableFiles::AskableFiles(std::optional<Program> program) : program_(std::move(program)) {
  if (program_) AddDirectories();
}

void AskableFiles::AddDirectories() {
  const std::string& name = program_->name;
  const auto add = [this](std::string_view directory) {
    std::string absolute = Absolute(directory, program_->working_directory);
    if (!absolute.empty()) directories_.push_back(std::move(absolute));
  };
  add(".");
  add(name.substr(0, name.rfind('/') + 1));
  const auto parsed = ParseOptions(BuildKind::kNvrtc, program_->options);
  const auto* const options = std::get_if<std::vector<ParsedOption>>(&parsed);
  if (options == nullptr) return;  // the daemon refuses such options too
  for (const ParsedOption& option : *options) {
    if (option.rule != nullptr && option.rule->names_directory) add(option.value);
  }
}

bool AskableFiles::May(const std::string& path) {
  const std::string tidy = Tidy(path);
  if (IsBelowDirectories(tidy)) return true;
  if (!program_) return false;
  if (!learns_) StartToLearn();
  return IsNamed(tidy);
}

bool AskableFiles::IsBelowDirectories(std::string_view path) const {
  return std::ranges::any_of(directories_, [&](const std::string& directory) {
    if (!path.starts_with(directory)) return false;
    const std::string_view below = path.substr(directory.size());
    const bool inside = below.empty() || below.front() == '/' || directory == "/";
    return inside && !GoesUp(below);
  });
}

bool AskableFiles::IsNamed(std::string_view path) const {
  if (names_.contains(std::string(path))) return true;
  for (size_t slash = path.rfind('/'); slash != 0; slash = path.rfind('/', slash - 1)) {
    const std::string_view directory = path.substr(0, slash);
    const bool searched = IsBelowDirectories(directory) || others_.contains(std::string(directory));
    if (searched && names_.contains(std::string(path.substr(slash + 1)))) return true;
  }
  return false;
}

void AskableFiles::NoteAnswered(const std::string& path, std::string_view contents) {
  const std::string tidy = Tidy(path);
  const bool outside = !IsBelowDirectories(tidy);
  if (outside) others_.emplace(DirectoryOf(tidy));
  if (learns_) {
    Learn(contents, outside);
  } else {
    answered_.push_back(path);
  }
}

void AskableFiles::StartToLearn() {
  learns_ = true;
  for (const std::string_view text : program_->texts) Learn(text, false);
  for (const std::string& option : program_->options) Learn(option, false);
  for (const std::string& path : answered_) Learn(LookAtOwnFile(path, true).contents, false);
  answered_ = {};
}

void AskableFiles::Learn(std::string_view text, bool all) {
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '<') {
      const std::string_view rest = text.substr(at + 1, PATH_MAX);
      const size_t end = rest.find_first_of(c == '"' ? "\"\n" : ">\n");
      if (end != rest.npos && rest[end] != '\n') Keep(rest.substr(0, end), all);
    }
    if (!IsOfName(c)) {
      ++at;
      continue;
    }
    // A name without quotes, which a macro may turn into a string, or a part of an option.
    size_t end = at;
    while (end < text.size() && IsOfName(text[end])) ++end;
    Keep(text.substr(at, std::min<size_t>(end - at, PATH_MAX)), false);
    at = end;
  }
}

void AskableFiles::Keep(std::string_view name, bool all) {
  const bool leads_out = name.starts_with('/') || GoesUp(name);
  if ((!all && !leads_out) || name.starts_with("//")) return;
  std::string tidy = Tidy(name);
  if (tidy.size() <= 1 || name_bytes_ + tidy.size() > kMaxNameBytes) return;
  const size_t bytes = tidy.size();
  if (names_.insert(std::move(tidy)).second) name_bytes_ += bytes;
}

OwnFile LookAtOwnFile(const std::string& path, bool contents) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    struct statx status {};
    if (statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &status) != 0) {
      return AfterError(errno);
    }
    if (S_ISDIR(status.stx_mode)) {
      OwnFile directory;
      directory.kind = OwnFile::Kind::kDirectory;
      directory.device = uint64_t{status.stx_dev_major} << 32 | status.stx_dev_minor;
      directory.inode = status.stx_ino;
      return directory;
    }
    if (!S_ISREG(status.stx_mode)) {
      return Refused(
          "it is no regular file but a FIFO, a device or a socket: copy what it gives into a "
          "regular file");
    }
    if (std::optional<OwnFile> file = ReadRegular(path, contents)) return *std::move(file);
  }
  return Refused("it keeps changing while it is read: build when its writer is done");
}

void BuildConversation::Restart() {
  reply_.Restart();
  askable_.reset();
  questions_.clear();
  message_.Clear();
  rest_ = {};
}

bool BuildConversation::Take(Message message) {
  ProtoReader reader(message.View());
  bool asks = false;
  while (const uint32_t number = reader.Next()) {
    if (number != fields::BuildWithFilesReply::kQuestions) continue;
    asks = true;
    if (!TakeQuestion(reader.View())) return false;
  }
  if (!reader.ok()) return false;
  return asks || reply_.Take(std::move(message));
}

bool BuildConversation::TakeQuestion(std::string_view question) {
  using Field = fields::FileQuestion;
  Question asked;
  ProtoReader reader(question);
  while (const uint32_t number = reader.Next()) {
    if (number == Field::kPath) asked.path = reader.View();
    if (number == Field::kContents) asked.contents = reader.Number() != 0;
  }
  // A relative name could mean another file in the daemon than in this process.
  const bool sound =
      reader.ok() && asked.path.starts_with('/') && asked.path.find('\0') == std::string::npos;
  if (!sound || questions_.size() >= kMaxQuestions) return false;
  questions_.push_back(std::move(asked));
  return true;
}

const ByteChain* BuildConversation::Next() {
  message_.Clear();
  if (!rest_.empty()) {
    const std::string_view piece = rest_.substr(0, kMaxPiece);
    rest_.remove_prefix(piece.size());
    AppendBytesMessage(fields::BuildWithFilesRequest::kMore, piece, &message_);
    return &message_;
  }
  if (questions_.empty()) return nullptr;
  AppendAnswers();
  return &message_;
}

OwnFile BuildConversation::LookAt(const Question& question) {
  if (!askable_) askable_.emplace(ProgramOf(request_));
  if (!askable_->May(question.path)) return NotOfThisBuild();
  OwnFile file = LookAtOwnFile(question.path, question.contents);
  if (file.kind == OwnFile::Kind::kRegular) askable_->NoteAnswered(question.path, file.contents);
  return file;
}

void BuildConversation::AppendAnswers() {
  using Field = fields::FileAnswer;
  ProtoWriter answers;
  size_t count = 0;
  size_t size = 0;
  const auto until = std::chrono::steady_clock::now() + kLongEnough;
  while (!questions_.empty() && size < kEnoughContents && count < kEnoughAnswers && rest_.empty() &&
         (count == 0 || std::chrono::steady_clock::now() < until)) {
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    OwnFile file = LookAt(question);
    ProtoWriter answer;
    answer.Number(Field::kKind, static_cast<uint64_t>(file.kind))
        .Number(Field::kDevice, file.device)
        .Number(Field::kInode, file.inode)
        .Number(Field::kSize, file.contents.size());
    if (!question.contents && file.kind == OwnFile::Kind::kRegular) {
      answer.Bytes(Field::kSha256, file.digest.View());
    } else {
      contents_ = std::move(file.contents);
      const std::string_view piece = std::string_view(contents_).substr(0, kMaxPiece - size);
      rest_ = std::string_view(contents_).substr(piece.size());
      size += piece.size();
      answer.Bytes(Field::kContents, piece);
    }
    answer.Bytes(Field::kReason, file.reason);
    answers.Message(fields::BuildWithFilesRequest::kAnswers, answer.bytes());
    ++count;
  }
  AppendMessage(answers.bytes(), &message_);
}

}  // namespace cccl_cache
