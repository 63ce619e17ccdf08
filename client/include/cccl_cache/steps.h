// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cccl_cache/build.h"
#include "cccl_cache/client_c.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

/// The value of one field of a step: a text, bytes, a number, a bool, nothing, or a tuple of these.
/// Values of different types differ: 1, 1.0, true and "1". A copy of the given value.
class StepField {
 public:
  StepField(std::string_view text) : bytes_(Encode('S', text)) {}            // NOLINT: implicit
  StepField(const std::string& text) : StepField(std::string_view(text)) {}  // NOLINT: implicit
  StepField(const char* text) : StepField(std::string_view(text)) {}         // NOLINT: implicit
  StepField(std::nullptr_t /*nothing*/) : bytes_(Encode('N', {})) {}         // NOLINT: implicit
  template <std::same_as<bool> Bool>
  StepField(Bool flag) : bytes_(Encode('B', flag ? "1" : "0")) {}  // NOLINT: implicit
  // No wider numbers, which would lose digits: two of them could be the same field.
  template <std::integral Number>
  requires(!std::same_as<Number, bool> && sizeof(Number) <= sizeof(int64_t))
      StepField(Number number)
      : bytes_(EncodeInteger(number)) {}  // NOLINT: implicit
  template <std::floating_point Number>
  requires(sizeof(Number) <= sizeof(double)) StepField(Number number)  // NOLINT: implicit
      : bytes_(Encode('F', BigEndian(std::bit_cast<uint64_t>(static_cast<double>(number))))) {}

  /// Returns the field of bytes that are no text.
  static StepField Bytes(std::string_view bytes) { return StepField('Y', bytes); }
  static StepField Tuple(const std::vector<StepField>& fields) {
    StepField tuple;
    tuple.bytes_ = "T" + BigEndian(fields.size());
    for (const StepField& field : fields) tuple.bytes_ += field.bytes_;
    return tuple;
  }

  /// Returns the encoded value: a tag, the size as 8 bytes in big endian order, and the value.
  /// Python's cccl_cache.steps has the same encoding.
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  StepField() = default;
  StepField(char tag, std::string_view value) : bytes_(Encode(tag, value)) {}

  static std::string BigEndian(uint64_t number) {
    std::string bytes(8, '\0');
    for (size_t i = 8; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number);
    return bytes;
  }
  static std::string Encode(char tag, std::string_view value) {
    std::string bytes;
    bytes.reserve(9 + value.size());
    return bytes.append(1, tag).append(BigEndian(value.size())).append(value);
  }
  template <typename Number>
  static std::string EncodeInteger(Number number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), number, 16).ptr;
    return Encode('I', {digits, static_cast<size_t>(end - digits)});
  }

  std::string bytes_;
};

/// All inputs on which the value of a step depends, by name.
using StepFields = std::map<std::string, StepField>;

/// The value of a step, or the right to make it. Steps::Get returns it. The destructor gives the
/// right up: the next waiting process makes the value. For one thread at a time, but for any
/// thread.
class Step {
 public:
  explicit Step(cccl_cache_step* step) : step_(step) {}

  /// Returns whether there is a value. If not, this program must make it and then call Put or Fail.
  [[nodiscard]] bool has_value() const { return cccl_cache_step_has_value(step_.get()) != 0; }
  /// Returns the value, or an empty view. Valid as long as the step.
  [[nodiscard]] std::string_view value() const& { return View(cccl_cache_step_value(step_.get())); }
  [[nodiscard]] std::string value() && { return std::string(std::as_const(*this).value()); }
  /// Returns whether other processes wait for this step while this program makes it.
  [[nodiscard]] bool held() const { return cccl_cache_step_held(step_.get()) != 0; }

  /// See cccl_cache_step_put.
  void Put(std::string_view value) { cccl_cache_step_put(step_.get(), cccl_cache::Bytes(value)); }
  /// See cccl_cache_step_fail.
  void Fail() { cccl_cache_step_fail(step_.get()); }

 private:
  Handle<cccl_cache_step, cccl_cache_step_free> step_;
};

/// Options of Steps. Each is described at the field of cccl_cache_steps_options.
struct StepsOptions {
  std::string_view group{};
  std::string_view socket{};
  std::chrono::milliseconds wait{};
  std::chrono::milliseconds hold{};
};

/// The steps of one namespace, each made once for all processes of this user: see
/// cccl_cache/c/steps.h. Steps of Python's cccl_cache.steps with the same namespace and fields are
/// the same steps. Thread-safe, except for a move of the object, and usable after a fork. No call
/// fails or throws.
class Steps {
 public:
  /// `name_space` is the program that defines the fields: "org.example.tool".
  explicit Steps(std::string_view name_space, const StepsOptions& given = {}) {
    const cccl_cache_steps_options options = {
        sizeof(options),     Bytes(name_space),           Bytes(given.group),
        Bytes(given.socket), c::Milliseconds(given.wait), c::Milliseconds(given.hold)};
    steps_.reset(cccl_cache_steps_open(&options));
  }

  /// Returns the step with its value. Calls `build` if neither the daemon nor another thread has
  /// it. `build` returns bytes that convert to std::string_view, or an object such as
  /// std::optional<std::string> that may have none: then the step has no value, and all waiting
  /// processes and threads are released. An exception of `build` releases them too, and passes
  /// through unchanged. A build may make other steps.
  template <typename Build>
  Step Make(const StepFields& fields, Build&& build) {
    Step step = Get(fields);
    if (step.has_value()) return step;
    const FailUnlessPut guard{step};
    if constexpr (std::convertible_to<std::invoke_result_t<Build>, std::string_view>) {
      step.Put(std::forward<Build>(build)());
    } else if (const auto value = std::forward<Build>(build)()) {
      step.Put(*value);
    }
    return step;
  }

  /// Returns the value of a step, or the right to make it, for a program that learns of the build's
  /// end elsewhere. `replace`: see cccl_cache_steps_get.
  Step Get(const StepFields& fields, bool replace = false) {
    const std::string description = Describe(fields);
    return Step(cccl_cache_steps_get(steps_.get(), Bytes(description), replace ? 1 : 0));
  }

  /// Returns a step that has a value if there is one, or if another process or thread makes it now.
  /// Makes nothing, and keeps no other process waiting.
  Step Wait(const StepFields& fields) {
    const std::string description = Describe(fields);
    return Step(cccl_cache_steps_wait(steps_.get(), Bytes(description)));
  }

  /// Returns the counts of these steps in this process.
  [[nodiscard]] cccl_cache_steps_counts counts() const {
    cccl_cache_steps_counts counts = {};
    counts.struct_size = sizeof(counts);
    cccl_cache_steps_describe(steps_.get(), &counts);
    return counts;
  }

 private:
  /// Releases all waiters at the end of a build that has put no value.
  struct FailUnlessPut {
    Step& step;
    ~FailUnlessPut() { step.Fail(); }
  };

  /// Returns the bytes that are hashed: a tuple of the format's number and of the fields in the
  /// order of their names.
  static std::string Describe(const StepFields& fields) {
    constexpr int kFormat = 1;
    std::vector<StepField> all = {kFormat};
    for (const auto& [name, value] : fields) all.push_back(StepField::Tuple({name, value}));
    return StepField::Tuple(all).bytes();
  }

  Handle<cccl_cache_steps, cccl_cache_steps_close> steps_;
};

}  // namespace cccl_cache
