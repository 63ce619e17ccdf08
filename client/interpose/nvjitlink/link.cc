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
constexpr int kPtx = 2;
constexpr int kLtoIr = 3;
constexpr int kAny = 10;
constexpr std::array kBinaries = {1, 4, 5, 6};  // cubin, fatbin, object, library

constexpr std::string_view kLtoIrMagic = "\xed\x43\x4e\x7f";
// The first bytes of a cubin or an object, of a library, and of a fatbin.
constexpr std::array<std::string_view, 3> kBinaryMagics = {"\x7f\x45\x4c\x46", "!<arch>\n",
                                                           "\x50\xed\x55\xba"};

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
  constexpr unsigned char kNotSpecific = 0x28;
  if (contents.size() < 64 || !contents.starts_with(kLtoIrMagic)) return false;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(contents[at]); };
  const int arch = byte(26) | byte(27) << 8;
  if (byte(16) == kNotSpecific) return arch <= target.number * 10;
  return target.specific && arch == target.number * 10;
}

bool IsBinary(std::string_view contents) {
  return std::ranges::any_of(kBinaryMagics,
                             [&](std::string_view magic) { return contents.starts_with(magic); });
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
  if (!target) return false;
  const std::vector<int> architectures = Architectures();
  return std::ranges::find(architectures, target->number) != architectures.end() &&
         std::ranges::all_of(options, [](const std::string& option) {
           return option.starts_with(kArch) || std::ranges::find(kPlain, option) != kPlain.end() ||
                  std::ranges::any_of(kWithValue, [&](std::string_view name) {
                    return option.size() > name.size() && option.starts_with(name);
                  });
         });
}

Link::Check Link::CheckFor(const Input& input) const {
  const bool any = input.type == kAny;
  const bool lto = std::ranges::find(options_, "-lto") != options_.end();
  if (any ? input.contents.starts_with(kLtoIrMagic) : input.type == kLtoIr) {
    return lto && Takes(*TargetOf(options_), input.contents) ? Check::kContents : Check::kNone;
  }
  if (!input.name) return Check::kNone;
  if (any ? !IsBinary(input.contents) : input.type == kPtx) {
    return real_ == nullptr ? Check::kDaemon : Check::kNone;
  }
  // Without LTO, the real library links binaries faster than the daemon answers.
  const bool binary = any || std::ranges::find(kBinaries, input.type) != kBinaries.end();
  return binary && lto && !has_ptx_ ? Check::kRealLibrary : Check::kNone;
}

LinkCode Link::Add(int type, const void* data, size_t size, const char* name) {
  const auto add_to = [&](LinkHandle real) {
    return real == nullptr ? kInternal : REAL_LINK(AddData)(real, type, data, size, name);
  };
  if (forwarded_ || completed_ || data == nullptr) return add_to(Real());
  Input input{type, std::string(static_cast<const char*>(data), size),
              name == nullptr ? std::nullopt : std::optional<std::string>(name)};
  const Check check = CheckFor(input);
  if (check == Check::kNone) return add_to(Real());
  if (check == Check::kRealLibrary) MakeReal();
  inputs_.push_back(std::move(input));
  result_.reset();
  counted_ = check == Check::kDaemon;
  if (check == Check::kDaemon) {
    CountedCall call;
    const std::optional<Reason> why = LinkInDaemon();
    has_ptx_ = !why;
    if (!why) return kSuccess;
    call.Forward(*why);
    inputs_.pop_back();
    return add_to(Real());
  }
  if (check == Check::kContents && real_ == nullptr) return kSuccess;
  const LinkCode code = add_to(real_);
  forwarded_ = code != kSuccess;
  return code;
}

LinkCode Link::Complete() {
  std::optional<CountedCall> call;
  if (!counted_) call.emplace();
  std::optional<Reason> why = Reason::kNotServed;
  if (!forwarded_ && !completed_ && !inputs_.empty()) {
    why = result_ ? std::nullopt : LinkInDaemon();
  }
  completed_ = completed_ || !why;
  if (!why) return kSuccess;
  if (call) call->Forward(*why);
  LinkHandle const real = Real();
  return real == nullptr ? kInternal : REAL_LINK(Complete)(real);
}

void Link::MakeReal() {
  if (real_ != nullptr || REAL_LINK(Create) == nullptr) return;
  std::vector<const char*> options;
  for (const std::string& each : options_) options.push_back(each.c_str());
  REAL_LINK(Create)(&real_, static_cast<uint32_t>(options.size()), options.data());
  for (const Input& each : inputs_) {
    REAL_LINK(AddData)
    (real_, each.type, each.contents.data(), each.contents.size(),
     each.name ? each.name->c_str() : nullptr);
  }
}

LinkHandle Link::Real() {
  MakeReal();
  if (completed_ && !forwarded_ && real_ != nullptr) REAL_LINK(Complete)(real_);
  forwarded_ = true;
  return real_;
}

std::optional<Reason> Link::LinkInDaemon() {
  std::vector<cccl_cache_bytes> options;
  std::vector<cccl_cache_link_input> inputs;
  for (const std::string& each : options_) options.push_back(Bytes(each));
  for (const Input& each : inputs_) {
    const std::string_view name = each.name ? std::string_view(*each.name) : "";
    // The daemon's interface has the numbers of nvJitLinkInputType, except for kAny.
    const int type = each.type == kAny ? CCCL_CACHE_INPUT_ANY : each.type;
    inputs.push_back(
        {static_cast<cccl_cache_link_input_type>(type), Bytes(name), Bytes(each.contents)});
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
  if (!completed_ || forwarded_ || linked_.kind != kind) return std::nullopt;
  return View(linked_.contents);
}

}  // namespace cccl_cache::interpose
