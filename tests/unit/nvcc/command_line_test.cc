// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/command_line.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cccl_cache::nvcc::command_line_test {
namespace {

std::variant<Step, Refusal> Read(const std::string& line, std::string_view front = "",
                                 std::string_view back = "") {
  std::istringstream stream("nvcc " + line);
  standin::Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return ReadStep(words, front, back);
}

bool Serves(const std::string& line) { return std::holds_alternative<Step>(Read(line)); }

/// Returns the outputs with a blank behind each.
std::string OutputsOf(const std::string& line) {
  std::string text;
  const Step step = std::get<Step>(Read(line));
  for (const Output& output : step.outputs) text += output.path + " ";
  return text;
}

TEST_CASE("the output is the value of -o, or named after the source") {
  CHECK(OutputsOf("-c a.cu -o b.o") == "b.o ");
  CHECK(OutputsOf("-c a.cu -ob.o") == "b.o ");
  CHECK(OutputsOf("--output-file=b.o -dc a.cu") == "b.o ");
  CHECK(OutputsOf("-c some/a.cu other/b.c.cu") == "a.o b.c.o ");
  CHECK(OutputsOf("-cubin a.cu -odir some") == "some/a.cubin ");
  CHECK(OutputsOf("-cubin a.cu -odir some//") == "some/a.cubin ");
  CHECK(OutputsOf("-fatbin a.cu") == "a.fatbin ");
  CHECK(OutputsOf("-ptx a.cu") == "a.ptx ");
  CHECK(OutputsOf("-shared a.cu") == "a.out ");
  CHECK(OutputsOf("a.cu b.o -o program") == "program ");
}

TEST_CASE("a list of headers is one more output") {
  CHECK(OutputsOf("-c a.cu -o b.o -MD -MF some/list") == "b.o some/list ");
  CHECK(OutputsOf("-c a.cu -o b.o -MMD") == "b.o b.d b.o.d a.d ");
}

TEST_CASE("only objects and linked files are removed before they are written") {
  const auto replaced = [](const std::string& line) {
    return std::get<Step>(Read(line)).outputs[0].replaced;
  };
  CHECK(replaced("-c a.cu"));
  CHECK(replaced("-shared a.cu"));
  CHECK(replaced("a.cu"));
  CHECK_FALSE(replaced("-ptx a.cu"));
  CHECK_FALSE(replaced("-cubin a.cu"));
  CHECK_FALSE(std::get<Step>(Read("-c a.cu -MD -MF list")).outputs[1].replaced);
}

TEST_CASE("the value of an option is no input") {
  const auto step = std::get<Step>(Read("-include x.cu -Xcompiler -O2 -I b.cu -D c.cu -c a.cu"));
  CHECK(step.sources == std::vector<std::string>{"a.cu"});
}

TEST_CASE("options have several spellings") {
  CHECK(Serves("-c a.cu -O3 -Isome -DX=1 -arch=sm_90 -arch sm_90 -std=c++17 --threads=0 -t8 -lm"));
  CHECK(Serves("-c a.cu -gencode arch=compute_90,code=sm_90 --generate-code=arch=compute_80"));
  CHECK(Serves("-c a.cu -Werror all-warnings -Werror=cross-execution-space-call -x cu -xcu -m64"));
}

TEST_CASE("a word whose meaning is not known leaves the run to nvcc") {
  for (const char* line : {"-c a.cu --no-such-option",
                           "-c a.cu -fPIC",
                           "-c a.cu -o",
                           "-E a.cu",
                           "-M a.cu",
                           "-run a.cu",
                           "-dryrun -c a.cu",
                           "-keep -c a.cu",
                           "-time f -c a.cu",
                           "-time=f -c a.cu",
                           "-lib a.cu",
                           "-v -c a.cu",
                           "-dlink a.o",
                           "-c -ptx a.cu",
                           "-c a.cu -o a.o -o b.o",
                           "-c",
                           "--version",
                           "-",
                           "-c -x cu -",
                           "-c a.cu,b.cu",
                           "-c a.txt",
                           "-c a.cu @file",
                           "-c a.cu -optf",
                           "-shared a.cu b.so -o b.so"}) {
    INFO(line);
    CHECK_FALSE(Serves(line));
  }
}

TEST_CASE("unknown options are the host compiler's where nvcc forwards them") {
  CHECK(Serves("-forward-unknown-to-host-compiler -fPIC -Wall -c a.cu"));
  CHECK(Serves("-fPIC -c a.cu --forward-unknown-opts"));
  CHECK_FALSE(Serves("-forward-unknown-to-host-compiler -march=native -c a.cu"));
  for (const char* word : {"-E", "-run", "-keep", "--time=f", "-v", "-split-compile=0"}) {
    INFO(word);
    CHECK_FALSE(Serves("-forward-unknown-to-host-compiler -c a.cu " + std::string(word)));
  }
}

TEST_CASE("a result that depends on the machine or the time is left to nvcc") {
  CHECK_FALSE(Serves("-c a.cu -arch=native"));
  CHECK_FALSE(Serves("-c a.cu -Xcompiler -march=native"));
  CHECK_FALSE(Serves("-c a.cu -Xcompiler -fplugin=some.so"));
  CHECK_FALSE(Serves("-c a.cu -Xcompiler -Wl,-plugin,some.so"));
  CHECK_FALSE(Serves("-c a.cu -Xcompiler=-O2,-mtune=native"));
  CHECK_FALSE(Serves("-c a.cu -gencode arch=native,code=[native]"));
  CHECK_FALSE(Serves("-c a.cu -DBUILT=__DATE__"));
  CHECK_FALSE(Serves("-c a.cu -D BUILT=__TIME__"));
}

TEST_CASE("a link with a random build id is left to nvcc") {
  for (const char* words :
       {"-Xlinker --build-id=uuid", "-Xlinker=-build-id=uuid",
        "-Xlinker --build-id=sha1,--build-id=uuid", "-Xcompiler -Wl,--build-id=uuid",
        "-Xcompiler=-fPIC,-Wl,--build-id=uuid", "-forward-unknown-to-host-linker --build-id=uuid",
        "-forward-unknown-to-host-compiler -Wl,--build-id=uuid"}) {
    INFO(words);
    CHECK_FALSE(Serves("-shared -o a.so a.cu " + std::string(words)));
  }
  CHECK(Serves("-shared -o uuid a.cu -Xlinker --build-id=sha1 -luuid -Iuuid"));
}

TEST_CASE("a path with the name of an option for the machine is served") {
  CHECK(Serves("-c native/a.cu -o plugin/native.o -I plugin -Iat/native -include some/native.h"));
  CHECK(Serves("-c a.cu -isystem gcc@12/include -DPLUGIN=plugin"));
}

TEST_CASE("a number of processors, or a response file for another program, is left to nvcc") {
  for (const char* words :
       {"-split-compile 0", "--split-compile=4", "-split-compile-extended=0",
        "-Xptxas -split-compile=2", "-Xptxas=-O3,--split-compile,2", "-Xcompiler @file",
        "-Xcompiler -O2,@file", "-Xlinker=@file", "-Xptxas --options-file,file"}) {
    INFO(words);
    CHECK_FALSE(Serves("-c a.cu " + std::string(words)));
  }
}

TEST_CASE("options for the program that makes fatbins are served") {
  CHECK(Serves("-c a.cu -Xfatbin=-compress-all -Xfatbin -compress-all"));
}

TEST_CASE("a question about nvcc is told from a compile") {
  CHECK(IsQuestion({"nvcc", "--version"}));
  CHECK(IsQuestion({"nvcc", "-arch-ls"}));
  CHECK(IsQuestion({"nvcc", "-ccbin", "g++", "--version"}));
  CHECK(IsQuestion({"nvcc", "--dryrun", "a.cu"}));
  CHECK(IsQuestion({"nvcc"}));
  CHECK_FALSE(IsQuestion({"nvcc", "a.cu"}));
}

TEST_CASE("a question to another program, as the value of an option, is a compile") {
  CHECK_FALSE(IsQuestion({"nvcc", "-shared", "-Xlinker", "-h", "-Xlinker", "libx.so", "a.cu"}));
  CHECK_FALSE(IsQuestion({"nvcc", "-c", "-Xcompiler", "--version", "a.cu"}));
  CHECK_FALSE(IsQuestion({"nvcc", "-c", "-Xptxas", "-V", "a.cu"}));
  CHECK(Serves("-shared -Xlinker -h -Xlinker libx.so a.cu"));
}

TEST_CASE("relocatable device code is known by its options") {
  const auto relocatable = [](const std::string& line) {
    return std::get<Step>(Read(line)).links_device_code;
  };
  for (const char* words : {"-dc", "-dw", "--device-c", "-c -rdc=true", "-c -rdc true", "-c -ewp",
                            "-shared --relocatable-device-code=true"}) {
    INFO(words);
    CHECK(relocatable("a.cu " + std::string(words)));
  }
  CHECK_FALSE(relocatable("-c a.cu"));
  CHECK_FALSE(relocatable("-c a.cu -rdc=false"));
}

TEST_CASE("a pipe as a response file is not opened") {
  const auto pipe = std::filesystem::temp_directory_path() / "cccl_cache_response_pipe";
  std::filesystem::remove(pipe);
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_FALSE(Serves("-c a.cu -optf " + pipe.string()));
  std::filesystem::remove(pipe);
}

TEST_CASE("the words of response files and of nvcc's own variables count") {
  const auto file = std::filesystem::temp_directory_path() / "cccl_cache_response_file";
  std::ofstream(file) << "-o  b.o\n-MD";
  const auto step = std::get<Step>(Read("-c a.cu -optf " + file.string()));
  CHECK(step.outputs[0].path == "b.o");
  CHECK(step.read_words == std::string("-o\0b.o\0-MD\0", 11));
  std::ofstream(file) << "-DX='a b'";
  CHECK_FALSE(Serves("-c a.cu -optf " + file.string()));
  std::filesystem::remove(file);
  CHECK_FALSE(Serves("-c a.cu -optf " + file.string()));
  CHECK(std::get<Step>(Read("a.cu", "-c", "-o b.o")).outputs[0].path == "b.o");
  CHECK(std::holds_alternative<Refusal>(Read("-c a.cu", "-DX='a b'")));
}

}  // namespace
}  // namespace cccl_cache::nvcc::command_line_test
