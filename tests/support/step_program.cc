// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The program tests/python/step_program.py in C++: takes the same commands, and answers each line
// with a line of JSON.
//   step_program PLACE [GATE]
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "cccl_cache/steps.h"

namespace {

using cccl_cache::Step;
using cccl_cache::StepField;
using cccl_cache::StepFields;
using cccl_cache::Steps;

struct Unmade : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Program {
  std::filesystem::path place;
  std::string gate;
  Steps steps{"org.example.test",
              {.wait = std::chrono::seconds(60), .hold = std::chrono::seconds(60)}};

  [[nodiscard]] std::string Build(const std::string& name) const {
    std::ofstream(place / "made", std::ios::app) << name << std::endl;
    std::string word = "go";
    if (!gate.empty()) {
      std::ifstream file(gate);
      word = std::string(std::istreambuf_iterator<char>(file), {});
    }
    if (word == "fail") throw Unmade(name);
    if (word == "exit") std::exit(0);
    if (word == "hang") sleep(600);
    return "value of " + name;
  }

  std::string Make(const std::string& name) {
    try {
      return '"' + steps.Make({{"name", name}}, [&] { return Build(name); }).value() + '"';
    } catch (const Unmade& error) {
      return std::string("\"Unmade('") + error.what() + "')\"";
    }
  }

  std::string Wait(const std::string& name) {
    const Step step = steps.Wait({{"name", name}});
    return step.has_value() ? '"' + std::string(step.value()) + '"' : "null";
  }

  /// Makes a step with a field of each type.
  std::string Kinds(const std::string& name) {
    using namespace std::string_literals;
    const StepFields fields = {
        {"text", "na\u00efve \U0001f600"},
        {"no text", StepField::Bytes("\x00\xff"s)},
        {"large text", std::string(100'000, 'x')},
        {"negative", -255},
        {"smallest", INT64_MIN},
        {"largest", UINT64_MAX},
        {"zero", 0},
        {"half", 0.5},
        {"no number", -0.0},
        {"yes", true},
        {"no", false},
        {"nothing", nullptr},
        {"tuple", StepField::Tuple({"a", StepField::Tuple({1, 1.0}), StepField::Tuple({})})},
        {"\u00ef", "a name"},
    };
    return '"' + steps.Make(fields, [&] { return Build(name); }).value() + '"';
  }

  [[nodiscard]] std::string Counts() const {
    const cccl_cache_steps_counts counts = steps.counts();
    std::string text = R"({"org.example.test": {)";
    const auto add = [&](const char* name, uint64_t count) {
      text += '"' + std::string(name) + "\": " + std::to_string(count) + ", ";
    };
    add("hits", counts.hits);
    add("made", counts.made);
    add("published", counts.published);
    add("released", counts.released);
    add("failed", counts.failed);
    add("hit_bytes", counts.hit_bytes);
    add("made_bytes", counts.made_bytes);
    const std::string name = cccl_cache_status_name(counts.last_error);
    const std::string errors = '"' + name + "\": " + std::to_string(counts.errors);
    return text + "\"errors\": {" + (counts.errors == 0 ? "" : errors) + "}}}";
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Program program = {.place = argv[1], .gate = argc > 2 ? argv[2] : ""};
  std::cout << "\"ready\"" << std::endl;
  std::string call;
  std::string name;
  while (std::cin >> call) {
    if (call == "counts") {
      std::cout << program.Counts() << std::endl;
      continue;
    }
    std::cin >> name;
    if (call == "make") std::cout << program.Make(name) << std::endl;
    if (call == "wait") std::cout << program.Wait(name) << std::endl;
    if (call == "kinds") std::cout << program.Kinds(name) << std::endl;
  }
}
