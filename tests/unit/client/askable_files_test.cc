// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "client/src/calls/file_answers.h"
#include "tests/support/temporary_directory.h"

namespace askable_files_test {

using cccl_cache::AskableFiles;
using cccl_cache::daemon::TemporaryDirectory;

namespace {

/// A program named /home/me/src/k.cu, and the files that a daemon may ask for.
struct Program {
  std::string source;
  std::vector<std::string> options;

  AskableFiles* operator->() {
    if (!askable) {
      askable.emplace(AskableFiles::Program{.working_directory = "/home/me",
                                            .name = "src/k.cu",
                                            .options = options,
                                            .texts = {"an inline header", source}});
    }
    return &*askable;
  }

  std::optional<AskableFiles> askable;
};

const std::string kKey = "/home/you/.ssh/key";

}  // namespace

TEST_CASE("files below a build's directories may be asked for") {
  Program program;
  program.options = {
      "-I/opt/one",   "--include-path=/opt/two", "-I", "three", "-I../four", "-arch=sm_90",
      "-DX=/opt/five"};
  for (const char* path :
       {"/home/me", "/home/me/a.h", "/home/me/src/deep/a.h", "/opt/one/a.h", "/opt/one",
        "/opt/two//a.h", "/home/me/three/./a.h", "/home/me/../four/a.h"}) {
    INFO(path);
    CHECK(program->May(path));
  }
  for (const char* path :
       {"/home", "/home/me.h", "/opt/five/a.h", "/opt/seven", "/home/me/../you/a.h",
        "/home/me/src/../../you/a.h", "/opt/one/../a.h", kKey.c_str()}) {
    INFO(path);
    CHECK_FALSE(program->May(path));
  }
}

TEST_CASE("a file in another directory may be asked for if the program or an option names it") {
  Program program;
  SECTION("the program") { program.source = "#include \"" + kKey + "\"\n"; }
  SECTION("the program, in another spelling") {
    program.source = "#include </home//you/./.ssh/key>";
  }
  SECTION("a condition") { program.source = "#if __has_include(<" + kKey + ">)"; }
  SECTION("an option") { program.options = {"--pre-include=" + kKey}; }
  SECTION("an option whose value a macro makes a string") { program.options = {"-DH=" + kKey}; }
  CHECK(program->May(kKey));
  CHECK_FALSE(program->May(kKey + ".pub"));
  CHECK_FALSE(program->May("/home/you/.ssh"));
}

TEST_CASE("a file in another directory may be asked for once an answered file names it") {
  const TemporaryDirectory directory;
  const std::string text = "#include \"" + kKey + "\"\n#include \"../../shared/a.h\"\n";
  std::ofstream(directory / "a.h") << text;
  Program program;
  program.options = {"-I" + directory.path()};
  const std::string shared = directory.path() + "/../../shared/a.h";
  SECTION("the file is answered first") { program->NoteAnswered(directory / "a.h", text); }
  SECTION("the file is answered after refused questions") {
    CHECK_FALSE(program->May(kKey));
    CHECK_FALSE(program->May(shared));
    program->NoteAnswered(directory / "a.h", text);
  }
  CHECK(program->May(kKey));
  CHECK(program->May(shared));
  CHECK_FALSE(program->May("/elsewhere/../../shared/a.h"));
}

TEST_CASE("a file in another directory allows only the files beside it that it names") {
  Program program;
  program.source = "#include \"../shared/a.h\"\n#include \"key\"";
  const std::string shared = "/home/me/src/../shared/";
  REQUIRE(program->May(shared + "a.h"));
  CHECK_FALSE(program->May(shared + "b.h"));
  program->NoteAnswered(shared + "a.h", "#include \"b.h\"\n#include <deep/c.h>\n");
  CHECK(program->May(shared + "b.h"));
  CHECK(program->May(shared + "deep/c.h"));
  CHECK_FALSE(program->May(shared + "d.h"));
  CHECK_FALSE(program->May(shared + "key"));
}

TEST_CASE("no file may be asked for during a link") {
  AskableFiles askable(std::nullopt);
  CHECK_FALSE(askable.May("/home/me/a.o"));
}

}  // namespace askable_files_test
