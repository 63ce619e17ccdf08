// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/trace.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <string>

#include "client/nvcc/record.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::nvcc::trace_test {
namespace {

/// Records as the recorder writes them.
class Records {
 public:
  Records& Add(RecordKind kind, const std::string& text, int error = 0, int process = 1) {
    std::string bytes(SizeOfRecord(text.size()), '\0');
    auto* const record = reinterpret_cast<Record*>(bytes.data());
    record->written = 1;
    record->size = static_cast<uint32_t>(text.size());
    record->kind = kind;
    record->error = error;
    record->process = process;
    text.copy(bytes.data() + sizeof(Record), text.size());
    bytes_ += bytes;
    return *this;
  }
  [[nodiscard]] std::string Bytes(uint64_t unwritten = 0, uint32_t lost = 0) const {
    RecordHead head{.used = bytes_.size() + unwritten, .lost = lost, .keeps_texts = 0, .token = 0};
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
    return bytes + bytes_ + std::string(unwritten, '\0');
  }
  [[nodiscard]] Trace Read() const { return ReadTrace(Bytes(), "/there"); }

 private:
  std::string bytes_;
};

TEST_CASE("names are absolute, and have the results of all look-ups") {
  const Trace trace = Records()
                          .Add(RecordKind::kBegin, "/bin/nvcc")
                          .Add(RecordKind::kLook, "a.h", ENOENT)
                          .Add(RecordKind::kLook, "/usr/a.h")
                          .Add(RecordKind::kLook, "a.h", EACCES)
                          .Add(RecordKind::kResolve, std::string("/usr/b.h\0/c.h", 13))
                          .Read();
  CHECK(trace.gap.empty());
  CHECK(trace.uses.at("/there/a.h").looks == std::set<int>{ENOENT, EACCES});
  CHECK(trace.uses.at("/usr/a.h").looks == std::set<int>{0});
  CHECK(trace.uses.at("/usr/b.h").resolved == std::set<std::string>{"/c.h"});
}

TEST_CASE("a look-up of a file that the run has made is none of an input") {
  const Trace trace = Records()
                          .Add(RecordKind::kBegin, "/bin/nvcc")
                          .Add(RecordKind::kLook, "a.o", ENOENT)
                          .Add(RecordKind::kMake, "a.o")
                          .Add(RecordKind::kLook, "a.o")
                          .Add(RecordKind::kRemove, "a.o")
                          .Read();
  const Use& use = trace.uses.at("/there/a.o");
  CHECK(use.looks == std::set<int>{ENOENT});
  CHECK(use.made);
  CHECK_FALSE(use.removed);
}

TEST_CASE("a program that started without the recorder is a gap") {
  const auto started = [](RecordKind kind) {
    return Records().Add(RecordKind::kBegin, "/bin/nvcc").Add(kind, "/bin/as");
  };
  CHECK_FALSE(started(RecordKind::kExec).Read().gap.empty());
  CHECK_FALSE(started(RecordKind::kStart).Read().gap.empty());
  CHECK(started(RecordKind::kExec).Add(RecordKind::kBegin, "/bin/as").Read().gap.empty());
  CHECK(started(RecordKind::kExec).Add(RecordKind::kExecFailed, "/bin/as", 2).Read().gap.empty());
  CHECK_FALSE(Records().Read().gap.empty());
}

TEST_CASE("programs are matched by their processes and names") {
  const auto records = [] { return Records().Add(RecordKind::kBegin, "/bin/nvcc"); };
  const auto complete = [](const Records& trace) { return trace.Read().gap.empty(); };
  // A child begins before or after the record of its start.
  CHECK(complete(records()
                     .Add(RecordKind::kBegin, "/bin/as", 0, 2)
                     .Add(RecordKind::kStart, "/bin/as", 0, 2)
                     .Add(RecordKind::kStart, "ld", 0, 3)
                     .Add(RecordKind::kBegin, "/bin/ld", 0, 3)));
  // The shell of system(), whose process is not known.
  CHECK(complete(
      records().Add(RecordKind::kStart, "/bin/sh", 0, 0).Add(RecordKind::kBegin, "/bin/sh", 0, 2)));
  // A stand-in in the place of a program.
  CHECK(complete(records()
                     .Add(RecordKind::kExec, "/bin/ptxas", 0, 2)
                     .Add(RecordKind::kBegin, "/lib/cccl-cache-ptxas", 0, 2)));
  // A static program, and a program that a raw system call has started.
  CHECK_FALSE(complete(records()
                           .Add(RecordKind::kExec, "/bin/static", 0, 2)
                           .Add(RecordKind::kBegin, "/bin/static", 0, 3)));
  // A script without "#!", for which a shell begins.
  CHECK_FALSE(complete(records()
                           .Add(RecordKind::kExec, "/bin/script", 0, 2)
                           .Add(RecordKind::kBegin, "/bin/sh", 0, 2)));
  CHECK_FALSE(complete(records().Add(RecordKind::kBegin, "/bin/as", 0, 2)));
}

TEST_CASE("a program is one of the run only if its start succeeded") {
  const Trace trace = Records()
                          .Add(RecordKind::kBegin, "/bin/nvcc")
                          .Add(RecordKind::kExec, "/a/ptxas", 0, 2)
                          .Add(RecordKind::kExecFailed, "/a/ptxas", ENOENT, 2)
                          .Add(RecordKind::kExec, "/b/ptxas", 0, 2)
                          .Add(RecordKind::kBegin, "/lib/cccl-cache-ptxas", 0, 2)
                          .Read();
  CHECK(trace.gap.empty());
  CHECK(trace.uses.at("/a/ptxas").looks == std::set<int>{ENOENT});
  CHECK_FALSE(trace.uses.at("/a/ptxas").run);
  CHECK(trace.uses.at("/b/ptxas").looks == std::set<int>{0});
  CHECK(trace.uses.at("/b/ptxas").run);
}

TEST_CASE("a look-up by the preprocessor before a program makes the file is known as such") {
  const auto trace = [](const char* program, bool made) {
    Records records;
    records.Add(RecordKind::kBegin, program, 0, 2);
    if (made) records.Add(RecordKind::kMake, "a.ptx", 0, 3);
    return records.Add(RecordKind::kLook, "a.ptx", ENOENT, 2)
        .Add(RecordKind::kMake, "a.ptx", 0, 3)
        .Read();
  };
  CHECK(trace("/lib/cc1plus", false).uses.at("/there/a.ptx").read_by_preprocessor);
  CHECK_FALSE(trace("/lib/cc1plus", true).uses.at("/there/a.ptx").read_by_preprocessor);
  CHECK_FALSE(trace("/bin/as", false).uses.at("/there/a.ptx").read_by_preprocessor);
  CHECK(trace("/bin/as", false).uses.at("/bin/as").run);
}

TEST_CASE("a call that can't be recorded is a gap, and is named") {
  const Trace trace =
      Records().Add(RecordKind::kBegin, "/nvcc").Add(RecordKind::kLost, "chdir").Read();
  CHECK(trace.gap.find("chdir()") != std::string::npos);
}

TEST_CASE("no change before a recording's stamp has a newer one, and none after it an older one") {
  daemon::TemporaryDirectory directory;
  const auto recording = Recording::Make();
  REQUIRE(recording);
  const auto stamp_of_new_file = [&] {
    const std::string path = directory.Write("file", "text");
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    return int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
  };
  for (int i = 0; i < 1000; ++i) {
    const int64_t before = stamp_of_new_file();
    const int64_t stamp = recording->Stamp().value_or(0);
    CHECK(before <= stamp);
    CHECK(stamp <= stamp_of_new_file());
  }
  CHECK(recording->Read("/").gap == "a program was not recorded");
}

TEST_CASE("records that are damaged, incomplete or too many are a gap") {
  const Records records = Records().Add(RecordKind::kBegin, "/bin/nvcc");
  const std::string bytes = records.Bytes();
  CHECK(ReadTrace(bytes, "/there").gap.empty());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(ReadTrace(std::string_view(bytes).substr(0, size), "/there").gap.empty());
  }
  CHECK_FALSE(ReadTrace(records.Bytes(sizeof(Record)), "/there").gap.empty());
  CHECK_FALSE(ReadTrace(records.Bytes(0, 1), "/there").gap.empty());
}

TEST_CASE("a temporary file's contents are no use of its name") {
  const std::string text = std::string("/tmp/a.ii") + std::string("\0", 1) + "int a;";
  const Trace trace =
      Records().Add(RecordKind::kBegin, "/bin/nvcc").Add(RecordKind::kText, text).Read();
  CHECK(trace.texts.at("/tmp/a.ii") == "int a;");
  CHECK_FALSE(trace.uses.contains("/tmp/a.ii"));
}

}  // namespace
}  // namespace cccl_cache::nvcc::trace_test
