// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/closure.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/files/file_stamp.h"
#include "client/nvcc/kept_step.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::nvcc::closure_test {
namespace {

namespace fs = std::filesystem;
using daemon::TemporaryDirectory;

constexpr int64_t kHour = 3'600'000'000'000;

/// A directory with a header, and a trace that begins an hour after its last change.
struct Scene {
  TemporaryDirectory directory;
  std::string header = directory.Write("some/a.h", "int a;");
  Trace trace;
  std::vector<std::string> outputs;
  std::map<std::string, Digest> before;
  int64_t begin_ns = FileTimeNow() + kHour;

  [[nodiscard]] std::variant<Closure, std::string> Build() const {
    return Closure::Of(trace, outputs, before, begin_ns);
  }
  [[nodiscard]] bool Keeps() const { return std::holds_alternative<Closure>(Build()); }
  [[nodiscard]] Closure Built() const { return std::get<Closure>(Build()); }
};

const UserCache kNoFacts("", 0);

Use Found() { return {.looks = {0}, .resolved = {}}; }
/// Returns the use of a program with this file.
Use Run() {
  Use use = Found();
  use.run = true;
  return use;
}
FileIdentity IdentityOfFile(const std::string& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return IdentityOf(status);
}
Use Missing() { return {.looks = {ENOENT}, .resolved = {}}; }

TEST_CASE("a closure holds until the contents of a file change") {
  Scene scene;
  scene.trace.uses[scene.header] = Found();
  const Closure closure = scene.Built();
  CHECK(closure.Holds(kNoFacts));
  scene.directory.Write("some/a.h", "int b;");
  CHECK_FALSE(closure.Holds(kNoFacts));
  scene.directory.Write("some/a.h", "int a;");
  CHECK(closure.Holds(kNoFacts));
  fs::permissions(scene.header, fs::perms::owner_exec, fs::perm_options::add);
  CHECK_FALSE(closure.Holds(kNoFacts));
  fs::remove(scene.header);
  CHECK_FALSE(closure.Holds(kNoFacts));
}

TEST_CASE("a closure holds until a name that was looked up in vain is there") {
  Scene scene;
  scene.trace.uses[scene.directory / "some/b.h"] = Missing();
  scene.trace.uses[scene.directory / "other/b.h"] = Missing();
  scene.trace.uses[scene.directory / "other/more/b.h"] = Missing();
  const Closure closure = scene.Built();
  CHECK(closure.Holds(kNoFacts));
  fs::create_directories(scene.directory / "other/more");
  CHECK(closure.Holds(kNoFacts));
  scene.directory.Write("other/more/b.h", "");
  CHECK_FALSE(closure.Holds(kNoFacts));
}

TEST_CASE("a closure holds until a link leads elsewhere, also to equal contents") {
  Scene scene;
  const std::string link = scene.directory / "link";
  fs::create_symlink(scene.directory / "some", link);
  scene.trace.uses[link + "/a.h"] = {.looks = {0}, .resolved = {scene.header}};
  const Closure closure = scene.Built();
  CHECK(closure.Holds(kNoFacts));
  fs::remove(link);
  scene.directory.Write("other/a.h", "int a;");
  fs::create_symlink(scene.directory / "other", link);
  CHECK_FALSE(closure.Holds(kNoFacts));
}

TEST_CASE("a directory may get other names, but must stay a directory") {
  Scene scene;
  scene.trace.uses[scene.directory / "some"] = Found();
  const Closure closure = scene.Built();
  scene.directory.Write("some/b.h", "");
  CHECK(closure.Holds(kNoFacts));
  fs::remove_all(scene.directory / "some");
  CHECK_FALSE(closure.Holds(kNoFacts));
  scene.directory.Write("some", "");
  CHECK_FALSE(closure.Holds(kNoFacts));
}

TEST_CASE("a closure holds until another directory has the name") {
  Scene scene;
  const std::string link = scene.directory / "link";
  fs::create_symlink(scene.directory / "some", link);
  scene.trace.uses[link] = Found();
  const Closure closure = scene.Built();
  CHECK(closure.Holds(kNoFacts));
  fs::remove(link);
  fs::create_directory(link);
  CHECK_FALSE(closure.Holds(kNoFacts));
}

TEST_CASE("a run with an incomplete trace is not kept") {
  Scene scene;
  scene.trace.gap = "a program was not recorded";
  CHECK(std::get<std::string>(scene.Build()) == scene.trace.gap);
}

TEST_CASE(
    "a file that changes during the run is not kept, unless its digest is the one from before") {
  Scene scene;
  scene.begin_ns -= 2 * kHour;
  scene.trace.uses[scene.header] = Found();
  CHECK_FALSE(scene.Keeps());
  scene.before[scene.header] = Sha256("int b;");
  CHECK_FALSE(scene.Keeps());
  scene.before[scene.header] = Sha256("int a;");
  CHECK(scene.Keeps());
}

TEST_CASE("a name that led to another file during the run is not kept") {
  Scene scene;
  const std::string other = scene.directory.Write("other/a.h", "int a;");
  for (const std::string name : {"some/a.h", "some"}) {
    scene.trace.uses.clear();
    Use& use = scene.trace.uses[scene.directory / name];
    use = Found();
    use.found = {IdentityOfFile(scene.directory / name)};
    CHECK(scene.Keeps());
    use.found = {IdentityOfFile(name == "some" ? fs::path(other).parent_path().string() : other)};
    CHECK_FALSE(scene.Keeps());
    use.found.insert(IdentityOfFile(scene.directory / name));
    CHECK_FALSE(scene.Keeps());
  }
}

TEST_CASE("a program is kept only if it is an executable that reads no unknown variables") {
  Scene scene;
  for (const char* name : {"g++", "g++-12", "x86_64-linux-gnu-g++-12", "gcc", "cc1plus", "ld.bfd",
                           "x86_64-linux-gnu-as", "nvcc", "cudafe++", "cccl-cache-ptxas"}) {
    scene.trace.uses.clear();
    const std::string program = scene.directory.Write(std::string("bin/") + name, "\177ELF");
    scene.trace.uses[program] = Run();
    CHECK(scene.Keeps());
    scene.directory.Write(std::string("bin/") + name, "#!/bin/sh");
    CHECK_FALSE(scene.Keeps());
  }
  for (const char* name : {"mpicxx", "icpc", "ccache", "my-g++-wrapper", "date"}) {
    scene.trace.uses.clear();
    const std::string program = scene.directory.Write(std::string("bin/") + name, "\177ELF");
    scene.trace.uses[program] = Run();
    CHECK_FALSE(scene.Keeps());
    fs::create_symlink(program, scene.directory / "g++");
    scene.trace.uses.clear();
    scene.trace.uses[scene.directory / "g++"] = Run();
    CHECK_FALSE(scene.Keeps());
    fs::remove(scene.directory / "g++");
  }
}

TEST_CASE(
    "a closure with equal texts that may be read once holds until one of their times changes") {
  for (const std::string text : {"#pragma once\n", "#import <other.h>\n"}) {
    Scene scene;
    scene.directory.Write("some/a.h", text);
    const std::string copy = scene.directory.Write("other/a.h", text);
    scene.trace.uses[scene.header] = Found();
    const Closure alone = scene.Built();
    scene.trace.uses[copy] = Found();
    const Closure closure = scene.Built();
    CHECK(closure.Holds(kNoFacts));
    const auto later = fs::last_write_time(copy) + std::chrono::hours(1);
    fs::last_write_time(copy, later);
    CHECK_FALSE(closure.Holds(kNoFacts));
    fs::last_write_time(scene.header, later);
    CHECK_FALSE(closure.Holds(kNoFacts));
    CHECK(alone.Holds(kNoFacts));
  }
}

TEST_CASE("an output that the preprocessor looked up before it was made is not kept") {
  Scene scene;
  scene.outputs = {scene.header};
  Use& use = scene.trace.uses[scene.header];
  use = {.looks = {ENOENT}, .resolved = {}, .made = true};
  CHECK(scene.Keeps());
  use.read_by_preprocessor = true;
  CHECK_FALSE(scene.Keeps());
}

TEST_CASE("a name that appears or vanishes during the run is not kept") {
  Scene scene;
  scene.trace.uses[scene.header] = Missing();
  CHECK_FALSE(scene.Keeps());
  scene.trace.uses[scene.header] = {.looks = {0, ENOENT}, .resolved = {}};
  CHECK_FALSE(scene.Keeps());
  fs::remove(scene.header);
  scene.trace.uses[scene.header] = Found();
  CHECK_FALSE(scene.Keeps());
}

TEST_CASE("a run may write its outputs and files that are gone, and nothing else") {
  Scene scene;
  const Use made{.looks = {}, .resolved = {}, .made = true};
  scene.trace.uses[scene.directory / "some/temporary"] = made;
  scene.trace.uses[scene.directory / "some/a.o"] = made;
  CHECK(scene.Keeps());
  scene.directory.Write("some/a.o", "");
  CHECK_FALSE(scene.Keeps());
  scene.outputs = {scene.directory /
                   "some/../some/a.o"};  // another name, which no replay would write
  CHECK_FALSE(scene.Keeps());
  scene.outputs = {scene.directory / "some/a.o"};
  CHECK(scene.Keeps());
  scene.directory.Write("some/temporary", "");
  CHECK_FALSE(scene.Keeps());
}

TEST_CASE(
    "the null device and the process's program are no files of a closure, and others are not "
    "kept") {
  Scene scene;
  scene.trace.uses["/dev/null"] = {.looks = {0}, .resolved = {}, .made = true};
  scene.trace.uses["/proc/self/exe"] = {.looks = {0}, .resolved = {"/usr/bin/cicc"}};
  CHECK(scene.Keeps());
  CHECK(scene.Built() == Closure({}));
  for (const char* name : {"/proc/self/cwd", "/dev/stdin", "/dev/fd/3"}) {
    scene.trace.uses.clear();
    scene.trace.uses[name] = Missing();
    CHECK_FALSE(scene.Keeps());
    scene.trace.uses[name] = Found();
    CHECK_FALSE(scene.Keeps());
  }
}

TEST_CASE("a run that removes or changes a file that it did not make is not kept") {
  Scene scene;
  const std::string other = scene.directory / "some/b.h";
  scene.trace.uses[other] = {.looks = {}, .resolved = {}, .removed = true};
  CHECK_FALSE(scene.Keeps());
  scene.outputs = {other};
  CHECK(scene.Keeps());
  scene.trace.uses[other] = {.looks = {}, .resolved = {}, .changed = true};
  CHECK_FALSE(scene.Keeps());
}

TEST_CASE("if a run has read the names in a directory, it may get no other names") {
  Scene scene;
  scene.trace.uses[scene.directory / "some"] = {.looks = {0}, .resolved = {}, .listed = true};
  const Closure closure = scene.Built();
  CHECK(closure.Holds(kNoFacts));
  scene.directory.Write("some/b.h", "");
  CHECK_FALSE(closure.Holds(kNoFacts));
  fs::remove(scene.directory / "some/b.h");
  CHECK(closure.Holds(kNoFacts));
  scene.begin_ns -= 2 * kHour;
  CHECK_FALSE(scene.Keeps());
}

TEST_CASE("the names in the directory of a run's temporary files do not matter") {
  Scene scene;
  scene.begin_ns -= 2 * kHour;
  scene.trace.uses[scene.directory / "some"] = {.looks = {0}, .resolved = {}, .listed = true};
  scene.trace.uses[scene.directory / "some/temporary"] = {
      .looks = {}, .resolved = {}, .made = true};
  const Closure closure = scene.Built();
  scene.directory.Write("some/b.h", "");
  CHECK(closure.Holds(kNoFacts));
}

TEST_CASE("a text that asks for the time is not kept, and a program that has these words is") {
  Scene scene;
  scene.trace.uses[scene.header] = Found();
  for (const char* token : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    scene.directory.Write("some/a.h", std::string("auto a = ") + token);
    CHECK_FALSE(scene.Keeps());
    scene.directory.Write("some/a.h", std::string(3 << 20, ' ') + token);
    CHECK_FALSE(scene.Keeps());
    std::string continued = token;
    for (const char* end : {"\\\n", "\\\r\n", "\\ \t\n", "?\?/\n", "\\\n\\\n"}) {
      continued.insert(5, end);
      scene.directory.Write("some/a.h", continued);
      CHECK_FALSE(scene.Keeps());
    }
    scene.directory.Write("some/a.h", std::string("\177ELF") + token);
    CHECK(scene.Keeps());
  }
}

TEST_CASE("a text that compares the times of files is not kept") {
  Scene scene;
  scene.trace.uses[scene.header] = Found();
  for (const char* text : {"#pragma GCC dependency \"b.h\"", "_Pragma(\"GCC  dependency <b.h>\")",
                           "# pragma GCC \\\n dependency \"b.h\""}) {
    scene.directory.Write("some/a.h", text);
    CHECK_FALSE(scene.Keeps());
  }
  scene.directory.Write("some/a.h", "// GCC has no dependency here, and a dependency");
  CHECK(scene.Keeps());
}

TEST_CASE("specs of GCC that ask for a variable are not kept") {
  Scene scene;
  const std::string specs = scene.directory.Write("some/own.specs", "*cpp_options:\n+ -DX=1\n");
  scene.trace.uses[specs] = Found();
  CHECK(scene.Keeps());
  scene.directory.Write("some/own.specs", "*cpp_options:\n+ -DX=1%:getenv(OWN 0)\n");
  CHECK_FALSE(scene.Keeps());
}

TEST_CASE("a profile that reads a variable outside the key is not kept") {
  Scene scene;
  const std::string profile = scene.directory.Write("bin/nvcc.profile", "PTXAS_FLAGS += -O2\n");
  scene.trace.uses[profile] = Found();
  CHECK(scene.Keeps());
  scene.directory.Write("bin/nvcc.profile", "PTXAS_FLAGS += $(OWN)\n");
  CHECK_FALSE(scene.Keeps());
}

TEST_CASE("a kept run is decoded as it was encoded, and damaged bytes are refused") {
  Scene scene;
  scene.trace.uses[scene.header] = {.looks = {0}, .resolved = {scene.header}};
  scene.trace.uses[scene.directory / "some"] = Found();
  scene.trace.uses[scene.directory / "absent"] = Missing();
  KeptStep step{.made_s = 1,
                .took_us = 2,
                .only_in = "/tmp/a.cu",
                .closure = scene.Built(),
                .products = {{"a.o", true, "object"}, {"a.d", false, ""}},
                .out = "out",
                .err = "err",
                .joined = true};
  const std::string bytes = step.Encode();
  const auto decoded = KeptStep::Decode(bytes);
  REQUIRE(decoded);
  CHECK(decoded->closure == step.closure);
  CHECK(decoded->closure.Holds(kNoFacts));
  CHECK(decoded->made_s == 1);
  CHECK(decoded->took_us == 2);
  CHECK(decoded->only_in == "/tmp/a.cu");
  CHECK(decoded->products[0].path == "a.o");
  CHECK(decoded->products[0].executable);
  CHECK(decoded->products[0].contents == "object");
  CHECK(decoded->products.size() == 2);
  CHECK(decoded->out == "out");
  CHECK(decoded->err == "err");
  CHECK(decoded->joined);
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(KeptStep::Decode(std::string_view(bytes).substr(0, size)));
  }
  CHECK_FALSE(KeptStep::Decode(bytes + '\0'));
}

TEST_CASE("a kept run writes only outputs of the step") {
  TemporaryDirectory directory;
  const std::string path = directory / "a.o";
  const KeptStep kept{.products = {{path, true, "object"}}, .out = "", .err = ""};
  CHECK_FALSE(kept.Replay({.sources = {}, .outputs = {{directory / "b.o"}}, .read_words = ""}));
  CHECK_FALSE(fs::exists(path));
  CHECK(kept.Replay({.sources = {}, .outputs = {{path}}, .read_words = ""}));
  CHECK((fs::status(path).permissions() & fs::perms::owner_exec) != fs::perms::none);
}

TEST_CASE("an object is replaced as a whole, after the list of headers") {
  TemporaryDirectory directory;
  const std::string object = directory / "a.o";
  const std::string list = directory / "a.d";
  std::ofstream(object) << "former";
  const KeptStep kept{
      .products = {{object, false, "object"}, {list, false, "list"}}, .out = "", .err = ""};
  const Step step{.sources = {}, .outputs = {{object, true}, {list, false}}, .read_words = ""};
  fs::create_directory(list);  // the list can't be written
  CHECK_FALSE(kept.Replay(step));
  CHECK(fs::file_size(object) == 6);
  fs::remove(list);
  std::ifstream former(object);
  REQUIRE(kept.Replay(step));
  CHECK(std::string(std::istreambuf_iterator<char>(former), {}) == "former");
  CHECK(std::ifstream(object).get() == 'o');
  CHECK(std::distance(fs::directory_iterator(fs::path(object).parent_path()), {}) == 2);
}

TEST_CASE("an object is written through a link to a file that is not there") {
  TemporaryDirectory directory;
  const std::string link = directory / "a.o";
  fs::create_symlink("target", link);
  const KeptStep kept{.products = {{link, false, "object"}}, .out = "", .err = ""};
  const Step step{.sources = {}, .outputs = {{link, true}}, .read_words = ""};
  REQUIRE(kept.Replay(step));
  CHECK(fs::is_symlink(link));
  CHECK(fs::file_size(directory / "target") == 6);
  REQUIRE(kept.Replay(step));
  CHECK_FALSE(fs::is_symlink(link));
}

TEST_CASE("a run is not replayed beyond the limit of a file's size") {
  TemporaryDirectory directory;
  const std::string object = directory / "a.o";
  const KeptStep kept{.products = {{object, false, "object"}}, .out = "", .err = ""};
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{.rlim_cur = 5, .rlim_max = before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const bool replayed = kept.Replay({.sources = {}, .outputs = {{object, true}}, .read_words = ""});
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_FALSE(replayed);
  CHECK(fs::is_empty(fs::path(object).parent_path()));
}

/// Returns the fresh directory below a scene's with this name.
standin::FreshDirectory Fresh(const Scene& scene, const std::string& name) {
  return *standin::FreshDirectory::Of(scene.directory / name + "/k.cu");
}

TEST_CASE("a fact of our programs may change, and a header beside it may not") {
  Scene scene;
  REQUIRE(setenv("XDG_RUNTIME_DIR", scene.directory.path().c_str(), 1) == 0);
  const std::string fact = scene.directory.Write("cccl-cache/fact", "1");
  const std::string header = scene.directory.Write("cccl-cache/a.h", "1");
  scene.trace.uses[fact] = Found();
  scene.trace.uses[header] = Found();
  scene.trace.uses[header].read_by_preprocessor = true;
  scene.trace.uses[scene.directory / "cccl-cache/../some/a.h"] = Found();
  const Closure closure = scene.Built();
  scene.directory.Write("cccl-cache/fact", "2");
  CHECK(closure.Holds(kNoFacts));
  scene.directory.Write("cccl-cache/a.h", "2");
  CHECK_FALSE(closure.Holds(kNoFacts));
  scene.directory.Write("cccl-cache/a.h", "1");
  CHECK(closure.Holds(kNoFacts));
  scene.directory.Write("some/a.h", "2");
  CHECK_FALSE(closure.Holds(kNoFacts));
  unsetenv("XDG_RUNTIME_DIR");
}

TEST_CASE("the socket of a daemon may come and go, and a file beside it may not change") {
  Scene scene;
  REQUIRE(setenv("XDG_RUNTIME_DIR", scene.directory.path().c_str(), 1) == 0);
  const std::string beside = scene.directory.Write("cccl-cached/a.o", "object");
  const std::string socket = scene.directory / "cccl-cached/socket";
  scene.trace.uses[beside] = Found();
  scene.trace.uses[socket] = Missing();
  scene.trace.uses[fs::path(socket).parent_path()] = Found();
  const Closure closure = scene.Built();
  scene.directory.Write("cccl-cached/socket", "");
  CHECK(closure.Holds(kNoFacts));
  scene.directory.Write("cccl-cached/a.o", "other!");
  CHECK_FALSE(closure.Holds(kNoFacts));
  unsetenv("XDG_RUNTIME_DIR");
}

TEST_CASE("without a runtime directory, no directory below the root is taken for ours") {
  unsetenv("XDG_RUNTIME_DIR");
  Scene scene;
  scene.trace.uses["/cccl-cache/a.h"] = Found();
  CHECK_FALSE(scene.Keeps());
}

TEST_CASE("a closure with the name of a process's or the system's state never holds") {
  CHECK_FALSE(
      Closure({{"/proc/self/status", Closure::Kind::kDirectory, false, {}, ""}}).Holds(kNoFacts));
  CHECK_FALSE(Closure({{"/proc/self", Closure::Kind::kDirectory, false, {}, ""}}).Holds(kNoFacts));
}

TEST_CASE("a hidden closure holds in each directory with equal files") {
  Scene scene;
  const auto write = [&scene](const std::string& name, const std::string& text) {
    return scene.directory.Write(name + "/a.h", text);
  };
  const std::string header = write("tmpabcdefgh", "int a;");
  const std::string directory = header.substr(0, header.rfind('/'));
  scene.trace.uses[header] = Found();
  scene.trace.uses[directory + "/b.h"] = Missing();
  scene.trace.uses[directory] = Found();
  scene.trace.uses[directory].resolved = {directory};
  const auto hidden = scene.Built().Hidden(Fresh(scene, "tmpabcdefgh"));
  REQUIRE(hidden);
  const auto holds = [&](const std::string& name) {
    const standin::FreshDirectory fresh = Fresh(scene, name);
    return hidden->Holds(kNoFacts, &fresh);
  };
  CHECK(holds("tmpabcdefgh"));
  CHECK_FALSE(hidden->Holds(kNoFacts));
  CHECK_FALSE(holds("tmpqwe_12zx"));
  write("tmpqwe_12zx", "int a;");
  CHECK(holds("tmpqwe_12zx"));
  fs::remove_all(directory);
  CHECK(holds("tmpqwe_12zx"));
  write("tmpqwe_12zx", "int b;");
  CHECK_FALSE(holds("tmpqwe_12zx"));
  write("tmp0000_000", "int a;");
  scene.directory.Write("tmp0000_000/b.h", "");
  CHECK_FALSE(holds("tmp0000_000"));
}

TEST_CASE("a closure of a text with the directory's name can't be hidden") {
  Scene scene;
  scene.trace.uses[scene.header] = Found();
  CHECK(scene.Built().Hidden(Fresh(scene, "tmpabcdefgh")));
  scene.directory.Write("some/a.h", "int a; // tmpabcdefgh");
  CHECK_FALSE(scene.Built().Hidden(Fresh(scene, "tmpabcdefgh")));
}

}  // namespace
}  // namespace cccl_cache::nvcc::closure_test
