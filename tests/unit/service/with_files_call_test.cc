// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cccl_cache/v1/info.grpc.pb.h"
#include "daemon/core/closure/file_exchange.h"
#include "daemon/service/limits/read_gate.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::with_files_call_test {
namespace {

namespace v1 = cccl_cache::v1;
using Stream = grpc::ClientReaderWriter<v1::BuildWithFilesRequest, v1::BuildWithFilesReply>;

/// One call of BuildWithFiles; its request is sent.
struct Conversation {
  explicit Conversation(RunningServer& running)
      : channel(running.Connect()),
        stub(v1::Build::NewStub(channel)),
        stream(stub->BuildWithFiles(&context)) {
    v1::BuildWithFilesRequest first;
    *first.mutable_build() = SmallRequest();
    stream->Write(first);
  }

  void Answer(v1::FileKind kind, const std::string& contents = "", uint64_t size = 0) {
    v1::BuildWithFilesRequest message;
    auto& answer = *message.add_answers();
    answer.set_kind(kind);
    answer.set_inode(1);
    answer.set_size(size == 0 ? contents.size() : size);
    answer.set_contents(contents);
    stream->Write(message);
  }
  /// Returns the next requested path. Returns "" if the call is over, or answered.
  std::string NextPath() {
    if (!stream->Read(&reply) || reply.questions_size() == 0) return {};
    return reply.questions(0).path();
  }

  /// Reads to the end. Returns whether the call succeeded.
  bool IsBuilt() {
    while (stream->Read(&reply)) {
    }
    return stream->Finish().ok();
  }
  /// Waits until the server has read the sent messages, as far as it reads them now.
  void AwaitServer() {
    grpc::ClientContext other;
    v1::InfoReply info;
    REQUIRE(v1::Info::NewStub(channel)->Get(&other, {}, &info).ok());
  }

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Build::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<Stream> stream;
  v1::BuildWithFilesReply reply;
};

/// Each build reads this path of its caller, on its own thread as in the core, and answers with the
/// contents as the cubin.
class ReadingBuilds {
 public:
  ReadingBuilds(RunningServer& running, std::string path) : path_(std::move(path)) {
    running.builder.AnswerLater([this](const Caller& caller, Builder::Done done) {
      const std::lock_guard lock(mutex_);
      last_ = caller.files;
      threads_.emplace_back([this, files = caller.files, done = std::move(done)] {
        const auto read = files->Open({.roots = {"/"}})->Read({kAbsoluteRoot, path_});
        if (!read) return done(read.error());
        done(MakeAnswer(read->bytes ? *read->bytes : "nothing there"));
      });
    });
  }
  ~ReadingBuilds() {
    for (std::thread& thread : threads_) thread.join();
  }
  /// Returns whether the last caller has unanswered questions.
  bool LastIsToAnswer() {
    const std::lock_guard lock(mutex_);
    return std::dynamic_pointer_cast<FileExchange>(last_)->awaits_answers();
  }

 private:
  const std::string path_;
  std::mutex mutex_;
  std::vector<std::thread> threads_;  // guarded by mutex_, until the end
  CallerFilesPtr last_;               // guarded by mutex_
};

TEST_CASE("a build asks its caller for files, and answers with chunks") {
  RunningServer running;
  const ReadingBuilds builds(running, "/p/a.h");
  Conversation talk(running);
  REQUIRE(talk.NextPath() == "/p/a.h");
  CHECK(talk.reply.questions(0).contents());
  talk.Answer(v1::FILE_KIND_REGULAR, "text of a");
  REQUIRE(talk.stream->Read(&talk.reply));
  CHECK(talk.reply.reply().artifacts(0).size() == 9);
  REQUIRE(talk.stream->Read(&talk.reply));
  CHECK(talk.reply.data() == "text of a");
  CHECK_FALSE(talk.stream->Read(&talk.reply));
  CHECK(talk.stream->Finish().ok());
}

TEST_CASE("a large file comes in several messages") {
  RunningServer running;
  const ReadingBuilds builds(running, "/p/a.h");
  Conversation talk(running);
  REQUIRE(talk.NextPath() == "/p/a.h");
  const std::string piece(1 << 20, 'x');
  talk.Answer(v1::FILE_KIND_REGULAR, piece, 3 * piece.size());
  for (int i = 0; i < 2; ++i) {
    v1::BuildWithFilesRequest more;
    more.set_more(piece);
    talk.stream->Write(more);
  }
  REQUIRE(talk.stream->Read(&talk.reply));
  CHECK(talk.reply.reply().artifacts(0).size() == 3 * piece.size());
  talk.context.TryCancel();
  talk.stream->Finish();
}

TEST_CASE("a build without questions is answered immediately") {
  RunningServer running;
  running.builder.AnswerWith(
      [](const cccl_cache::BuildRequest&, const Peer&) { return MakeAnswer("cubin"); });
  Conversation talk(running);
  REQUIRE(talk.stream->Read(&talk.reply));
  REQUIRE(talk.stream->Read(&talk.reply));
  CHECK(talk.reply.data() == "cubin");
  CHECK_FALSE(talk.stream->Read(&talk.reply));
  CHECK(talk.stream->Finish().ok());
}

TEST_CASE("a message that a caller may not send ends its call with the reason") {
  RunningServer running;
  const ReadingBuilds builds(running, "/p/a.h");
  Conversation talk(running);
  REQUIRE(talk.NextPath() == "/p/a.h");
  std::string says;
  SECTION("a second build") {
    v1::BuildWithFilesRequest message;
    *message.mutable_build() = SmallRequest();
    talk.stream->Write(message);
    says = "another build";
  }
  SECTION("an answer before the contents of the earlier one") {
    talk.Answer(v1::FILE_KIND_REGULAR, "", 1);
    talk.Answer(v1::FILE_KIND_ABSENT);
    says = "contents are missing";
  }
  SECTION("an unknown kind of file") {
    talk.Answer(v1::FILE_KIND_UNSPECIFIED);
    says = "no kind of file";
  }
  SECTION("a message that is too large") {
    talk.Answer(v1::FILE_KIND_REGULAR, std::string(2 << 20, 'x'));
    says = "may be contents";
  }
  CHECK_FALSE(talk.stream->Read(&talk.reply));
  const grpc::Status status = talk.stream->Finish();
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(status.error_message().find(says) != std::string::npos);
  CHECK(Trailer(talk.context, "cccl-error") == "invalid-request");
}

TEST_CASE("a stream that does not begin with a build is refused") {
  RunningServer running;
  auto stub = running.BuildStub();
  grpc::ClientContext context;
  const auto stream = stub->BuildWithFiles(&context);
  v1::BuildWithFilesRequest first;
  first.add_answers()->set_kind(v1::FILE_KIND_ABSENT);
  stream->Write(first);
  v1::BuildWithFilesReply reply;
  CHECK_FALSE(stream->Read(&reply));
  CHECK(stream->Finish().error_code() == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("a build ends with an error if its caller does not answer in time") {
  ServiceLimits limits;
  limits.answer_patience = std::chrono::milliseconds(50);
  RunningServer running(limits);
  const ReadingBuilds builds(running, "/p/a.h");
  Conversation talk(running);
  REQUIRE(talk.NextPath() == "/p/a.h");
  CHECK_FALSE(talk.stream->Read(&talk.reply));
  const grpc::Status status = talk.stream->Finish();
  CHECK(status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
  CHECK(status.error_message().find("/p/a.h") != std::string::npos);
}

TEST_CASE("a caller that leaves ends the wait for its answers") {
  RunningServer running;
  std::promise<ErrorCode> heard;
  std::thread reads;
  running.builder.AnswerLater([&](const Caller& caller, Builder::Done) {
    reads = std::thread([&heard, files = caller.files] {
      heard.set_value(files->Open({.roots = {"/"}})->Read({kAbsoluteRoot, "/a"}).error().code);
    });
  });
  Conversation talk(running);
  REQUIRE(talk.NextPath() == "/a");
  SECTION("by cancelling") { talk.context.TryCancel(); }
  SECTION("by closing its side") {
    talk.stream->WritesDone();
    CHECK_FALSE(talk.stream->Read(&talk.reply));
  }
  CHECK(heard.get_future().get() == ErrorCode::kCancelled);
  reads.join();
  talk.stream->Finish();
  CHECK(running.builder.WaitForLeft(1));
}

TEST_CASE("callers that do not answer about files don't block other requests") {
  RunningServer running;
  const ReadingBuilds builds(running, "/p/a.h");
  // More calls than may have a turn at the same time.
  constexpr int kSilent = 33;
  std::vector<std::unique_ptr<Conversation>> talks;
  for (int i = 0; i < kSilent; ++i) {
    talks.push_back(std::make_unique<Conversation>(running));
    REQUIRE(talks.back()->NextPath() == "/p/a.h");
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::InfoReply reply;
  CHECK(v1::Info::NewStub(running.Connect())->Get(&context, {}, &reply).ok());
  for (auto& talk : talks) talk->Answer(v1::FILE_KIND_REGULAR, "text");
  for (auto& talk : talks) {
    while (talk->stream->Read(&talk->reply)) {
    }
    CHECK(talk->stream->Finish().ok());
  }
}

TEST_CASE("an answer about files waits for its turn to be received") {
  RunningServer running;
  ReadingBuilds builds(running, "/p/a.h");
  std::vector<std::unique_ptr<Conversation>> silent;
  for (size_t i = 0; i < ServiceLimits{}.gate_turns(); ++i) {
    silent.push_back(std::make_unique<Conversation>(running));
    REQUIRE(silent.back()->NextPath() == "/p/a.h");
  }
  // A call may get its turn before one that was made a moment earlier.
  std::unique_ptr<Conversation> waiting;
  for (int attempt = 0; attempt < 10 && waiting == nullptr; ++attempt) {
    auto talk = std::make_unique<Conversation>(running);
    REQUIRE(talk->NextPath() == "/p/a.h");
    talk->Answer(v1::FILE_KIND_REGULAR, "text");
    talk->AwaitServer();
    if (builds.LastIsToAnswer()) {
      waiting = std::move(talk);
    } else {
      CHECK(talk->IsBuilt());
    }
  }
  CHECK(waiting != nullptr);
  silent.front()->Answer(v1::FILE_KIND_REGULAR, "text");
  CHECK(silent.front()->IsBuilt());
  if (waiting != nullptr) CHECK(waiting->IsBuilt());
  for (auto talk = silent.begin() + 1; talk != silent.end(); ++talk) {
    (*talk)->context.TryCancel();
    (*talk)->stream->Finish();
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::with_files_call_test
