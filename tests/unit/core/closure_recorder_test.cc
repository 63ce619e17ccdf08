// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/closure_recorder.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include "tests/unit/core/fake_files.h"

namespace cccl_cache::daemon::closure_recorder_test {
namespace {

using cccl_cache::Sha256;
using testing::FakeDisk;
using testing::FakeRequesterFiles;

ToolchainPtr SmallToolchain() {
  auto toolchain = std::make_shared<Toolchain>();
  toolchain->contents = std::make_shared<const ToolchainHeaders>(
      std::vector<ToolchainHeaders::File>{{"0/cub/cub.cuh", Sha256("cub"), {1, 1}}},
      std::vector<ToolchainHeaders::Directory>{{"/cuda/include", "0"}}, false);
  return toolchain;
}

struct Job {
  explicit Job(const std::shared_ptr<FakeDisk>& disk, ClosureRecorder::Events events = {},
               const PathUses& request = {}, UsersFileTraits traits = {})
      : recorder(std::make_unique<FakeRequesterFiles>(
                     disk, RootDirectories{{"/src", "/include"}, "/src"}),
                 {.roots = {{"/cccl-root-0", 0},
                            {"/cccl-root-1", 1},
                            {"/cccl-work", kWorkingDirectoryRoot}},
                  .toolchain = {SmallToolchain(), {{"/cccl-root-2", "/cuda/include", true}}}},
                 std::move(events), request, std::move(traits)) {}

  FileAnswer Ask(const std::string& name) {
    const auto answer = recorder.Ask(name);
    REQUIRE(answer.ok());
    return *answer;
  }

  ClosureRecorder recorder;
};

TEST_CASE("LookInToolchain records the name and does not report a first question") {
  bool asked = false;
  Job job(std::make_shared<FakeDisk>(), {.first_question = [&] { asked = true; }});
  REQUIRE(job.recorder.LookInToolchain("/cccl-root-2/cub").ok());
  REQUIRE(job.recorder.LookInToolchain("/cccl-root-2/cub").ok());
  REQUIRE(job.recorder.LookInToolchain("/cccl-root-2/absent.h").ok());
  CHECK_FALSE(job.recorder.LookInToolchain("/cccl-root-1/cub").ok());
  CHECK_FALSE(asked);
  const auto record = job.recorder.Finish();
  CHECK_FALSE(record.asked);
  REQUIRE(record.closure.entries.size() == 2);
  CHECK(record.closure.entries[0].name == FileName{kToolchainRoot, "0/cub"});
  CHECK(record.closure.entries[0].kind == FileKind::kToolchain);
  CHECK(record.closure.entries[1].kind == FileKind::kAbsent);
  CHECK_FALSE(job.recorder.LookInToolchain("/cccl-root-2/late.h").ok());
}

TEST_CASE("too many look-ups in the toolchain end the job") {
  Job job(std::make_shared<FakeDisk>());
  int names = 0;
  while (job.recorder.LookInToolchain("/cccl-root-2/" + std::to_string(names)).ok()) {
    REQUIRE(++names < 100'000);
  }
  CHECK(job.recorder.Finish().closure.entries.size() == static_cast<size_t>(names));
}

TEST_CASE("the answers to a job are recorded, by root and relative name") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "a");
  disk->Write("/opt/b.h", "b");
  disk->Write("/src/c.h", "c");
  Job job(disk);
  CHECK(job.Ask("/cccl-root-0/a.h").kind == FileKind::kAbsent);
  CHECK(*job.Ask("/cccl-root-1/a.h").contents == "a");
  CHECK(*job.Ask("/opt/b.h").contents == "b");
  CHECK(*job.Ask("/cccl-work/c.h").contents == "c");
  Closure expected;
  expected.entries.push_back({{0, "a.h"}, FileKind::kAbsent, {}, 0});
  expected.entries.push_back({{1, "a.h"}, FileKind::kFile, Sha256("a"), 1});
  expected.entries.push_back({{kAbsoluteRoot, "/opt/b.h"}, FileKind::kFile, Sha256("b"), 2});
  expected.entries.push_back({{kWorkingDirectoryRoot, "c.h"}, FileKind::kFile, Sha256("c"), 3});
  CHECK(job.recorder.Finish().closure == expected);
}

TEST_CASE("the program's directory and the working directory exist without a look or a record") {
  int questions = 0;
  Job job(std::make_shared<FakeDisk>(), {.first_question = [&questions] { ++questions; }});
  const FileAnswer program = job.Ask("/cccl-root-0");
  const FileAnswer working = job.Ask("/cccl-work");
  CHECK(program.kind == FileKind::kDirectory);
  CHECK(working.kind == FileKind::kDirectory);
  CHECK(program.identity != working.identity);
  CHECK(job.Ask("/cccl-root-1").kind == FileKind::kAbsent);
  CHECK(questions == 1);
  CHECK(job.recorder.Finish().closure.entries.size() == 1);
}

TEST_CASE("a job ends if the answer for a name changes during it") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "before");
  Job job(disk);
  const FileAnswer first = job.Ask("/cccl-root-1/a.h");
  CHECK(*first.contents == "before");
  const FileAnswer again = job.Ask("/cccl-root-1/a.h");
  CHECK(*again.contents == "before");
  CHECK(again.identity == first.identity);
  disk->Write("/include/a.h", "after");
  const Result<FileAnswer> changed = job.recorder.Ask("/cccl-root-1/a.h");
  REQUIRE(!changed.ok());
  CHECK(changed.error().code == ErrorCode::kUnavailable);
  CHECK(job.recorder.Finish().closure.entries.size() == 1);
}

TEST_CASE("the recorder keeps no contents after an answer") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "text");
  Job job(disk);
  std::weak_ptr<const std::string> contents = job.Ask("/cccl-root-1/a.h").contents;
  CHECK(contents.expired());
}

TEST_CASE("hard links have one identity, copies have two") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "text", 7);
  disk->Write("/include/link.h", "text", 7);
  disk->Write("/include/copy.h", "text", 8);
  Job job(disk);
  const uint64_t identity = job.Ask("/cccl-root-1/a.h").identity;
  CHECK(identity != 0);
  CHECK(job.Ask("/cccl-root-1/link.h").identity == identity);
  CHECK(job.Ask("/cccl-root-1/copy.h").identity != identity);
}

TEST_CASE("a file with __TIME__ is recorded by its name") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "int x = sizeof(__TIME__);");
  Job job(disk);
  job.Ask("/cccl-root-1/a.h");
  const auto record = job.recorder.Finish();
  CHECK(record.traits.time_token == "__TIME__ is in a.h");
  CHECK_FALSE(record.traits.path_tokens);
}

TEST_CASE("a known text is not scanned again") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "text");
  const UsersFileTraits traits{std::make_shared<KnownFileTraits>(std::chrono::steady_clock::now),
                               {.uid = 1000, .gid = 1000}};
  (void)traits.Of("a.h", Sha256("text"), "__TIME__ __FILE__ __BASE_FILE__");
  Job job(disk, {}, {}, traits);
  job.Ask("/cccl-root-1/a.h");
  const auto found = job.recorder.Finish().traits;
  CHECK(found.time_token == "__TIME__ is in a.h");
  CHECK(found.path_tokens);
  CHECK(found.base_name_tokens);
}

TEST_CASE("a name that can be pasted from parts in files and the request is noticed") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "LE__ DATE");
  disk->Write("/include/b.h", "#define X(x) __##x");
  disk->Write("/include/c.h", "__");
  PathUses request;
  request.parts.Add("__FI");
  int told = 0;
  Job job(disk, {.path_token = [&told]() -> Status {
            ++told;
            return Ok{};
          }},
          request);
  job.Ask("/cccl-root-1/a.h");
  CHECK(told == 1);
  CHECK(job.recorder.Finish().traits.time_token.empty());
  Job other(disk);
  other.Ask("/cccl-root-1/a.h");
  other.Ask("/cccl-root-1/b.h");
  other.Ask("/cccl-root-1/c.h");
  const auto record = other.recorder.Finish();
  CHECK_FALSE(record.traits.path_tokens);
  CHECK(record.traits.time_token ==
        "__DATE__ can be pasted (##) together from b.h and other texts");
}

TEST_CASE("a name that can be pasted from parts in a job and its preamble is noticed") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "LE__ ME__");
  Job preamble(disk);
  preamble.Ask("/cccl-root-1/a.h");
  const auto parsed = preamble.recorder.Finish();
  CHECK_FALSE(parsed.traits.path_tokens);
  PathUses request;
  request.parts.Add("__FI");
  request.parts.Add("__TI");
  Job job(disk, {}, request);
  CHECK(*job.recorder.Adopt(parsed));
  const auto record = job.recorder.Finish();
  CHECK(record.traits.path_tokens);
  CHECK(record.traits.time_token.starts_with("__TIME__ can be pasted"));
}

TEST_CASE("the first question and the first file with a path token are reported once each") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "__FILE__");
  disk->Write("/include/b.h", "__FILE__");
  int questions = 0;
  int tokens = 0;
  Job job(disk, {[&] { ++questions; },
                 [&]() -> Status {
                   ++tokens;
                   return Ok{};
                 }});
  job.Ask("/cccl-root-0/a.h");
  CHECK(tokens == 0);
  job.Ask("/cccl-root-1/a.h");
  job.Ask("/cccl-root-1/b.h");
  CHECK(questions == 1);
  CHECK(tokens == 1);
}

TEST_CASE("an error of a look-up ends the job") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Refuse("/include/a.h", {ErrorCode::kDenied, "a FIFO"});
  Job job(disk);
  const auto answer = job.recorder.Ask("/cccl-root-1/a.h");
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().message == "a FIFO");
}

TEST_CASE("too many bytes of names end the job") {
  Job job(std::make_shared<FakeDisk>());
  const std::string longest(4'000, 'x');
  for (uint64_t i = 0; i < kMaxClosureNameBytes / longest.size(); ++i) {
    job.Ask("/cccl-root-0/" + std::to_string(i) + longest.substr(std::to_string(i).size()));
  }
  const auto answer = job.recorder.Ask("/cccl-root-0/last" + longest.substr(4));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::kDenied);
  CHECK(answer.error().message.find("bytes of names") != std::string::npos);
}

TEST_CASE("after Finish, questions are not answered") {
  const auto disk = std::make_shared<FakeDisk>();
  Job job(disk);
  CHECK(job.recorder.Finish().closure.entries.empty());
  CHECK_FALSE(job.recorder.Ask("/cccl-root-1/a.h").ok());
}

/// Returns the record of a job that asks for a.h in both roots, and for link.h.
ClosureRecorder::Record Parsed(const std::shared_ptr<FakeDisk>& disk) {
  Job job(disk);
  job.Ask("/cccl-root-0/a.h");
  job.Ask("/cccl-root-1/a.h");
  job.Ask("/cccl-root-1/link.h");
  return job.recorder.Finish();
}

TEST_CASE("Finish waits for a running `first_question`, and prevents later ones") {
  const auto disk = std::make_shared<FakeDisk>();
  std::latch told(1);
  std::latch taking(1);
  std::atomic<bool> over = false;
  Job job(disk, {.first_question = [&] {
            told.count_down();
            taking.wait();
            over = true;
          }});
  std::jthread asks([&] { (void)job.recorder.Ask("/cccl-root-1/a.h"); });
  told.wait();
  std::jthread helps([&] { taking.count_down(); });
  (void)job.recorder.Finish();
  CHECK(over);

  Job late(disk, {.first_question = [] { FAIL("told after the end"); }});
  (void)late.recorder.Finish();
  CHECK(late.recorder.Ask("/cccl-root-1/a.h").error().code == ErrorCode::kCancelled);
}

TEST_CASE("the answers of a preamble come first in the record of a job that adopts it") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "a", 7);
  disk->Write("/include/link.h", "a", 7);
  disk->Write("/include/b.h", "__TIME__");
  const auto parsed = Parsed(disk);
  Job job(disk);
  const Result<bool> adopted = job.recorder.Adopt(parsed);
  REQUIRE(adopted.ok());
  REQUIRE(*adopted);
  job.Ask("/cccl-root-1/b.h");
  CHECK(job.Ask("/cccl-root-1/a.h").identity == 2);
  CHECK(*job.Ask("/cccl-root-1/link.h").contents == "a");
  CHECK(job.Ask("/cccl-root-1/link.h").identity == 2);
  CHECK(job.Ask("/cccl-root-0/a.h").kind == FileKind::kAbsent);
  const auto record = job.recorder.Finish();
  Closure expected = parsed.closure;
  expected.entries.push_back({{1, "b.h"}, FileKind::kFile, Sha256("__TIME__"), 3});
  CHECK(record.closure == expected);
  CHECK_FALSE(record.traits.time_token.empty());
}

TEST_CASE("a preamble is not adopted once one of its files has changed") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "a", 7);
  disk->Write("/include/link.h", "a", 7);
  const auto parsed = Parsed(disk);
  SECTION("another text") { disk->Write("/include/a.h", "b", 7); }
  SECTION("an earlier a.h appeared") { disk->Write("/src/a.h", "a"); }
  SECTION("a.h is gone") { disk->Remove("/include/a.h"); }
  SECTION("link.h is no longer a hard link") { disk->Write("/include/link.h", "a", 8); }
  const Result<bool> adopted = Job(disk).recorder.Adopt(parsed);
  REQUIRE(adopted.ok());
  CHECK_FALSE(*adopted);
}

TEST_CASE("Adopt returns files-needed if only the caller can read a file of the preamble") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "a", 7);
  const auto parsed = Parsed(disk);
  disk->Refuse("/include/a.h", {ErrorCode::kFilesNeeded, "closed"});
  Job job(disk);
  const Result<bool> adopted = job.recorder.Adopt(parsed);
  REQUIRE_FALSE(adopted.ok());
  CHECK(adopted.error().code == ErrorCode::kFilesNeeded);
  CHECK(job.recorder.Finish().asked);
}

TEST_CASE("an adopted file that changes before it is asked for again ends the job") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "a", 7);
  const auto parsed = Parsed(disk);
  Job job(disk);
  REQUIRE(*job.recorder.Adopt(parsed));
  disk->Write("/include/a.h", "b", 7);
  CHECK_FALSE(job.recorder.Ask("/cccl-root-1/a.h").ok());
}

TEST_CASE("path tokens of a preamble count for the job that adopts it") {
  const auto disk = std::make_shared<FakeDisk>();
  disk->Write("/include/a.h", "__FILE__");
  const auto parsed = Parsed(disk);
  Job ending(disk, {.first_question = {}, .path_token = []() -> Status {
                      return Error{ErrorCode::kCancelled, "paths"};
                    }});
  CHECK_FALSE(ending.recorder.Adopt(parsed).ok());
  Job going_on(disk);
  REQUIRE(*going_on.recorder.Adopt(parsed));
  CHECK(going_on.recorder.Finish().traits.path_tokens);
}

}  // namespace
}  // namespace cccl_cache::daemon::closure_recorder_test
