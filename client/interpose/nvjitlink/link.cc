// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/interpose/nvjitlink/link.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <variant>

namespace cccl_cache::interpose {
namespace {

constexpr LinkCode kSuccess = 0;
constexpr LinkCode kInternal = 7;
// Numbers of nvJitLinkInputType.
constexpr int kLtoIr = 3;
constexpr int kAny = 10;

constexpr std::string_view kArch = "-arch=sm_";
// Options without a value that all releases accept.
constexpr std::array<std::string_view, 6> kPlain = {"-lto", "-ptx", "-lineinfo",
                                                    "-O0",  "-O3",  "-optimize-unused-variables"};
// Options with a value. All releases accept every value of them.
constexpr std::array<std::string_view, 6> kWithValue = {
    "-ftz=", "-fma=", "-prec-div=", "-prec-sqrt=", "-kernels-used=", "-variables-used="};

struct Target {
  int number;     ///< 90 for sm_90 and sm_90a
  bool specific;  ///< whether the target is architecture-specific, such as sm_90a
};

/// Returns the target of the option -arch. None unless there is exactly one such option, and valid.
std::optional<Target> TargetOf(const std::vector<std::string>& options) {
  std::optional<Target> target;
  for (const std::string& option : options) {
    if (!option.starts_with(kArch)) continue;
    int number = 0;
    const char* const end = option.data() + option.size();
    const auto [rest, error] = std::from_chars(option.data() + kArch.size(), end, number);
    const bool specific = rest + 1 == end && *rest == 'a' && number >= 90;
    if (target || (rest != end && !specific)) return std::nullopt;
    target = {number, specific};
  }
  return target;
}

/// Returns whether all releases accept this LTO-IR for the target. In the header of LTO-IR, the
/// bytes 26 and 27 are the architecture times ten, and byte 16 tells whether it is an
/// architecture-specific one.
bool Takes(const Target& target, std::string_view contents) {
  constexpr std::string_view kMagic = "\xed\x43\x4e\x7f";
  constexpr unsigned char kNotSpecific = 0x28;
  if (contents.size() < 64 || !contents.starts_with(kMagic)) return false;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(contents[at]); };
  const int arch = byte(26) | byte(27) << 8;
  if (byte(16) == kNotSpecific) return arch <= target.number * 10;
  return target.specific && arch == target.number * 10;
}

/// Returns whether all lines of the log begin with "INFO: ". Such a log belongs to the info log,
/// which release 13.5 and newer write.
bool IsInformation(std::string_view log) {
  while (!log.empty()) {
    if (!log.starts_with("INFO: ")) return false;
    log.remove_prefix(std::min(log.find('\n'), log.size() - 1) + 1);
  }
  return true;
}

cccl_cache_bytes Bytes(std::string_view text) { return {text.data(), text.size()}; }
std::string_view View(cccl_cache_bytes bytes) { return {bytes.data, bytes.size}; }

}  // namespace

Link::~Link() {
  if (real_ != nullptr) REAL_LINK(Destroy)(&real_);
}

bool Link::Knows(const std::vector<std::string>& options) {
  const std::optional<Target> target = TargetOf(options);
  if (!target || std::ranges::find(options, "-lto") == options.end()) return false;
  const std::vector<int> architectures = Architectures();
  return std::ranges::find(architectures, target->number) != architectures.end() &&
         std::ranges::all_of(options, [](const std::string& option) {
           return option.starts_with(kArch) || std::ranges::find(kPlain, option) != kPlain.end() ||
                  std::ranges::any_of(kWithValue, [&](std::string_view name) {
                    return option.size() > name.size() && option.starts_with(name);
                  });
         });
}

bool Link::Add(int type, const void* data, size_t size, const char* name) {
  if (real_ != nullptr || result_ || (type != kLtoIr && type != kAny) || data == nullptr) {
    return false;
  }
  std::string contents(static_cast<const char*>(data), size);
  if (!Takes(*TargetOf(options_), contents)) return false;
  inputs_.push_back({type, std::move(contents),
                     name == nullptr ? std::nullopt : std::optional<std::string>(name)});
  return true;
}

LinkCode Link::Complete() {
  CountedCall call;
  const bool first = real_ == nullptr && !result_;
  const std::optional<Reason> forwarded =
      first && !inputs_.empty() ? LinkInDaemon() : std::optional(Reason::kNotServed);
  if (!forwarded) return kSuccess;
  call.Forward(*forwarded);
  LinkHandle real = Real();
  return real == nullptr ? kInternal : REAL_LINK(Complete)(real);
}

LinkHandle Link::Real() {
  if (real_ != nullptr || REAL_LINK(Create) == nullptr) return real_;
  std::vector<const char*> options;
  for (const std::string& each : options_) options.push_back(each.c_str());
  REAL_LINK(Create)(&real_, static_cast<uint32_t>(options.size()), options.data());
  for (const Input& each : inputs_) {
    REAL_LINK(AddData)
    (real_, each.type, each.contents.data(), each.contents.size(),
     each.name ? each.name->c_str() : nullptr);
  }
  if (result_) REAL_LINK(Complete)(real_);
  return real_;
}

std::optional<Reason> Link::LinkInDaemon() {
  std::vector<cccl_cache_bytes> options;
  std::vector<cccl_cache_link_input> inputs;
  for (const std::string& each : options_) options.push_back(Bytes(each));
  for (const Input& each : inputs_) {
    const std::string_view name = each.name ? std::string_view(*each.name) : "";
    inputs.push_back({CCCL_CACHE_INPUT_LTOIR, Bytes(name), Bytes(each.contents)});
  }
  cccl_cache_link program = {};
  program.struct_size = sizeof(program);
  program.inputs = inputs.data();
  program.input_count = inputs.size();
  program.options = options.data();
  program.option_count = options.size();
  auto answer = Ask(program);
  if (const Reason* why = std::get_if<Reason>(&answer)) return *why;
  auto [result, info] = std::get<Answer>(std::move(answer));
  // After a failure or a warning, the real library must link again: only it knows which call
  // failed, and whether a line belongs to its error log or its info log.
  if (info.native_code != kSuccess || info.artifact_count != 1 || !IsInformation(View(info.log))) {
    return Reason::kNotServed;
  }
  info_log_ = View(info.log);
  Count(info);
  linked_.struct_size = sizeof(linked_);
  cccl_cache_result_artifact(result.get(), 0, &linked_);
  result_ = std::move(result);
  return std::nullopt;
}

std::optional<std::string_view> Link::Linked(cccl_cache_artifact_kind kind) const {
  if (real_ != nullptr || !result_ || linked_.kind != kind) return std::nullopt;
  return View(linked_.contents);
}

}  // namespace cccl_cache::interpose
