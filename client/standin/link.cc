// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/link.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>
#include <variant>

namespace cccl_cache::standin {
namespace {

constexpr LinkCode kSuccess = 0;
constexpr LinkCode kInternal = 7;
// nvJitLinkInputType
constexpr int kLtoIr = 3;
constexpr int kAny = 10;

cccl_cache_bytes Bytes(std::string_view text) { return {text.data(), text.size()}; }
std::string_view View(cccl_cache_bytes bytes) { return {bytes.data, bytes.size}; }

}  // namespace

Link::~Link() {
  if (real_ != nullptr) REAL_LINK(Destroy)(&real_);
}

bool Link::Knows(const std::vector<std::string>& options) {
  static constexpr std::string_view kPlain[] = {"-lto",
                                                "-ptx",
                                                "-lineinfo",
                                                "-g",
                                                "-O0",
                                                "-O1",
                                                "-O2",
                                                "-O3",
                                                "-ftz=true",
                                                "-ftz=false",
                                                "-prec-div=true",
                                                "-prec-div=false",
                                                "-prec-sqrt=true",
                                                "-prec-sqrt=false",
                                                "-fma=true",
                                                "-fma=false"};
  bool lto = false;
  bool arch = false;
  for (const std::string& option : options) {
    if (option.starts_with("-arch=sm_")) {
      const std::vector<int> known = Architectures();
      int number = 0;
      const char* const end = option.data() + option.size();
      const auto [rest, error] = std::from_chars(option.data() + 9, end, number);
      const bool plain = rest == end || (rest + 1 == end && *rest == 'a' && number >= 90);
      if (arch || !plain || std::ranges::find(known, number) == known.end()) return false;
      arch = true;
    } else if (std::ranges::find(kPlain, option) == std::end(kPlain)) {
      return false;
    }
    if (option == "-lto") lto = true;
  }
  return lto && arch;
}

bool Link::Add(int type, const void* data, size_t size, const char* name) {
  static constexpr char kMagic[] = {'\xed', '\x43', '\x4e', '\x7f'};
  if (real_ != nullptr || result_ || (type != kLtoIr && type != kAny)) return false;
  if (data == nullptr || size < sizeof(kMagic) || std::memcmp(data, kMagic, 4) != 0) return false;
  inputs_.push_back({type, std::string(static_cast<const char*>(data), size),
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
    inputs.push_back({CCCL_CACHE_INPUT_LTOIR, Bytes(each.name.value_or("")), Bytes(each.contents)});
  }
  cccl_cache_link program = {};
  program.struct_size = sizeof(program);
  program.inputs = inputs.data();
  program.input_count = inputs.size();
  program.options = options.data();
  program.option_count = options.size();
  auto answer = Ask(program);
  if (const Reason* why = std::get_if<Reason>(&answer)) return *why;
  Result result = std::get<Result>(std::move(answer));
  cccl_cache_result_info info = {};
  info.struct_size = sizeof(info);
  cccl_cache_result_describe(result.get(), &info);
  // The real library says which call failed and keeps two logs.
  if (info.native_code != kSuccess || info.log.size > 0 || info.artifact_count != 1) {
    return Reason::kNotServed;
  }
  linked_.struct_size = sizeof(linked_);
  cccl_cache_result_artifact(result.get(), 0, &linked_);
  result_ = std::move(result);
  return std::nullopt;
}

std::optional<std::string_view> Link::Linked(cccl_cache_artifact_kind kind) const {
  if (real_ != nullptr || !result_ || linked_.kind != kind) return std::nullopt;
  return View(linked_.contents);
}

}  // namespace cccl_cache::standin
