// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_toolchain/script.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/fake_toolchain/attacks.h"
#include "tests/support/fake_toolchain/break_out.h"
#include "tests/support/fake_toolchain/futex.h"
#include "tests/support/fake_toolchain/questions.h"

namespace fake_toolchain {
namespace {

struct Command {
  std::string name;
  std::string argument;
};

/// Returns 64 * 2^20 for "64M".
size_t ParseSize(const std::string& text) {
  char* end = nullptr;
  const size_t number = std::strtoull(text.c_str(), &end, 10);
  switch (*end) {
    case 'K':
      return number << 10;
    case 'M':
      return number << 20;
    case 'G':
      return number << 30;
    default:
      return number;
  }
}

/// If there is no more memory, the compile fails like that of a compiler at its memory limit.
void Allocate(size_t bytes, Effects& effects) {
  constexpr size_t kChunk = 1 << 20;
  for (size_t done = 0; done < bytes; done += kChunk) {
    char* chunk = static_cast<char*>(std::malloc(kChunk));
    if (chunk == nullptr) {
      effects.ending = Ending::kCompileError;
      effects.log += "catastrophic error: out of memory\n";
      return;
    }
    for (size_t page = 0; page < kChunk; page += 4096) const_cast<volatile char*>(chunk)[page] = 1;
  }
}

void AllocateOrAbort(size_t bytes) {
  Effects effects;
  Allocate(bytes, effects);
  if (effects.ending != Ending::kSuccess) std::abort();
}

/// Sleeps instead of computing, so that many compiles can run on few processors.
void Last(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  std::atomic<uint32_t> never = 0;
  for (auto left = time; left.count() > 0;) {
    const timespec timeout{left.count() / 1000, left.count() % 1000 * 1'000'000};
    FutexWait(never, 0, &timeout);
    left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  }
}

enum class AtGate { kWait, kTakeNumber };

void ComeTo(const std::string& name, AtGate what, Control* control, Effects& effects) {
  if (control == nullptr) {
    effects.ending = Ending::kCompileError;
    effects.log += "error: this toolkit has no control file, gate " + name + " can't open\n";
    return;
  }
  Gate& gate = GateNamed(*control, name);
  const uint32_t number = gate.arrivals.fetch_add(1);
  FutexWakeAll(gate.arrivals);
  if (what == AtGate::kTakeNumber) {
    effects.notes += "number " + std::to_string(number) + "\n";
    return;
  }
  while (gate.open.load() == 0) FutexWait(gate.open, 0, nullptr);
}

bool ChangeEffects(const Command& command, Control* control, Effects& effects) {
  if (command.name == "fail") {
    effects.ending = Ending::kCompileError;
    effects.log += "error: " + command.argument + "\n";
  } else if (command.name == "out-of-memory") {
    effects.ending = Ending::kOutOfMemory;
  } else if (command.name == "warn") {
    effects.log += "warning: " + command.argument + "\n";
  } else if (command.name == "output-size") {
    effects.output_bytes = ParseSize(command.argument);
  } else if (command.name == "wait-for") {
    ComeTo(command.argument, AtGate::kWait, control, effects);
  } else if (command.name == "take-number") {
    ComeTo(command.argument, AtGate::kTakeNumber, control, effects);
  } else if (command.name == "last") {
    Last(std::chrono::milliseconds(ParseSize(command.argument)));
  } else if (command.name == "allocate") {
    Allocate(ParseSize(command.argument), effects);
  } else if (command.name == "allocate-or-abort") {
    AllocateOrAbort(ParseSize(command.argument));
  } else {
    return false;
  }
  return true;
}

void RunCommand(const Command& command, Control* control, Effects& effects) {
  if (ChangeEffects(command, control, effects)) return;
  if (Attack(command.name, command.argument)) return;
  if (BreakOut(command.name, command.argument, effects.notes)) return;
  if (Ask(command.name, command.argument, effects.notes)) return;
  effects.ending = Ending::kCompileError;
  effects.log += "error: the fake compiler knows no command '" + command.name + "'\n";
}

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

void RunCommands(std::string_view text, Control* control, Effects& effects) {
  constexpr std::string_view kMark = "fake:";
  for (size_t at = text.find(kMark); at != std::string_view::npos;
       at = text.find(kMark, at + kMark.size())) {
    const std::string_view before = Trimmed(text.substr(at < 4 ? 0 : at - 4, at < 4 ? at : 4));
    if (!before.ends_with("//") && !before.ends_with(";")) continue;
    const size_t start = at + kMark.size();
    const std::string_view line = Trimmed(text.substr(start, text.find('\n', start) - start));
    const size_t space = line.find(' ');
    const std::string_view argument =
        space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    RunCommand({std::string(line.substr(0, space)), std::string(Trimmed(argument))}, control,
               effects);
    if (effects.ending != Ending::kSuccess) return;
  }
}

std::string Fingerprint(std::string_view bytes) {
  uint64_t hash = 14695981039346656037ull;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

void Pad(std::string& output, size_t bytes) {
  uint64_t state = 88172645463325252ull;
  output.reserve(bytes);
  while (output.size() < bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    output += static_cast<char>('!' + state % 94);
  }
}

}  // namespace fake_toolchain
