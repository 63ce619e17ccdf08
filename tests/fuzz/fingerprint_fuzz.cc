// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Two requests have the same fingerprint if and only if they have the same meaning. The input is a
// request and a few edits. Each edit must change both meaning and fingerprint, or neither.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/fingerprint.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache;

using Texts = std::vector<std::string>;

/// Cuts the input into bytes and texts. One byte before each text is its length.
class Cutter {
 public:
  explicit Cutter(std::string_view input) : input_(input) {}

  bool More() const { return !input_.empty(); }
  uint8_t Byte() {
    if (input_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(input_[0]);
    input_.remove_prefix(1);
    return byte;
  }
  std::string Text() {
    const size_t length = std::min<size_t>(Byte(), input_.size());
    std::string text(input_.substr(0, length));
    input_.remove_prefix(length);
    return text;
  }
  std::vector<std::string> List() {
    std::vector<std::string> texts(Byte() % 8);
    for (std::string& text : texts) text = Text();
    return texts;
  }

 private:
  std::string_view input_;
};

/// A request of any kind as lists of texts. Edits move texts from list to list.
struct Request {
  [[nodiscard]] uint8_t TypeAt(size_t place) const {
    return place < types.size() ? static_cast<uint8_t>(types[place]) : 0;
  }

  BuildKind kind;
  bool path_dependent;
  bool libdevice;
  std::string source, name, working_directory, toolchain;
  /// One byte for each link input (its type) or module (whether it is lazy).
  std::string types;
  Texts options, expressions;
  /// The names and contents of inline headers, link inputs or modules, one name for each contents.
  Texts names, contents;
  Texts toolchain_roots, outside_roots;
};

Request TakeRequest(Cutter& cutter) {
  Request request;
  const uint8_t first = cutter.Byte();
  request.kind = static_cast<BuildKind>(1 + first % 3);
  request.path_dependent = first >= 128;
  request.libdevice = first % 128 >= 64;
  for (std::string* text : {&request.source, &request.name, &request.working_directory,
                            &request.toolchain, &request.types}) {
    *text = cutter.Text();
  }
  for (Texts* list : {&request.options, &request.expressions, &request.names, &request.contents,
                      &request.toolchain_roots, &request.outside_roots}) {
    *list = cutter.List();
  }
  request.contents.resize(request.names.size());
  return request;
}

LinkInputType InputTypeAt(const Request& request, size_t place) {
  return static_cast<LinkInputType>(request.TypeAt(place) % 7);
}

bool LazyAt(const Request& request, size_t place) { return request.TypeAt(place) % 2 == 1; }

BuildRequest ToBuildRequest(const Request& request) {
  BuildRequest built;
  built.working_directory = request.working_directory;
  if (request.kind == BuildKind::kNvrtc) {
    NvrtcProgram program{.source = request.source, .name = request.name};
    program.name_expressions = request.expressions;
    for (size_t i = 0; i < request.names.size(); ++i) {
      program.headers.push_back({request.names[i], request.contents[i]});
    }
    built.program = program;
  } else if (request.kind == BuildKind::kLink) {
    LinkProgram program;
    for (size_t i = 0; i < request.names.size(); ++i) {
      program.inputs.push_back({InputTypeAt(request, i), request.names[i], request.contents[i]});
    }
    built.program = program;
  } else {
    NvvmProgram program{.add_libdevice = request.libdevice};
    for (size_t i = 0; i < request.names.size(); ++i) {
      program.modules.push_back({request.names[i], request.contents[i], LazyAt(request, i)});
    }
    built.program = program;
  }
  return built;
}

std::vector<FingerprintRoot> ToRoots(const Request& request) {
  std::vector<FingerprintRoot> roots;
  for (const std::string& root : request.outside_roots) roots.push_back({"", root});
  for (const std::string& root : request.toolchain_roots) roots.push_back({root, "/cuda"});
  return roots;
}

Texts OptionMeanings(const std::vector<ParsedOption>& options) {
  Texts meanings;
  for (const ParsedOption& option : options) {
    const bool root = option.rule != nullptr && option.rule->names_directory;
    meanings.push_back(root ? "root" + std::string(option.rule->name) : "text" + option.canonical);
  }
  return meanings;
}

/// Returns the part of an NVRTC program's meaning that its random seed depends on too.
std::vector<Texts> ProgramMeaning(const Request& request) {
  const size_t slash = request.name.rfind('/');
  const std::string base =
      slash == std::string::npos ? request.name : request.name.substr(slash + 1);
  Texts expressions = request.expressions;
  std::sort(expressions.begin(), expressions.end());
  expressions.erase(std::unique(expressions.begin(), expressions.end()), expressions.end());
  // The order of headers matters if one name occurs twice.
  std::vector<Texts> headers;
  for (size_t i = 0; i < request.names.size(); ++i) {
    headers.push_back({request.names[i], request.contents[i]});
  }
  std::stable_sort(headers.begin(), headers.end(),
                   [](const Texts& a, const Texts& b) { return a[0] < b[0]; });
  std::vector<Texts> meaning = {{request.source, request.name.empty() ? "default_program" : base},
                                expressions};
  meaning.insert(meaning.end(), headers.begin(), headers.end());
  return meaning;
}

/// Returns the meaning of a request: lists that are equal for two requests if and only if a
/// compiler must treat both alike.
std::vector<Texts> Meaning(const Request& request, const std::vector<ParsedOption>& options) {
  std::vector<Texts> meaning = {{std::to_string(static_cast<int>(request.kind))},
                                {request.toolchain},
                                OptionMeanings(options)};
  if (request.kind != BuildKind::kNvrtc) {
    const bool link = request.kind == BuildKind::kLink;
    meaning.push_back({!link && request.libdevice ? "libdevice" : ""});
    for (size_t i = 0; i < request.names.size(); ++i) {
      const int type = link ? static_cast<int>(InputTypeAt(request, i)) : LazyAt(request, i);
      meaning.push_back({std::to_string(type), request.names[i], request.contents[i]});
    }
    return meaning;
  }
  Texts roots;
  Texts paths;
  for (const FingerprintRoot& root : ToRoots(request)) {
    const bool outside = root.toolchain_directory.empty();
    roots.push_back(!outside            ? "in" + root.toolchain_directory
                    : root.path.empty() ? "nowhere"
                                        : "outside");
    paths.push_back(root.path);
  }
  meaning.push_back(roots);
  meaning.push_back({request.working_directory.empty() ? "" : "known",
                     request.path_dependent ? "path-dependent" : ""});
  if (request.path_dependent) {
    meaning.push_back({request.name, request.working_directory});
    meaning.push_back(paths);
    Texts named;
    for (const ParsedOption& option : options) {
      if (option.rule != nullptr && option.rule->names_directory) named.push_back(option.value);
    }
    meaning.push_back(named);
  }
  const std::vector<Texts> program = ProgramMeaning(request);
  meaning.insert(meaning.end(), program.begin(), program.end());
  return meaning;
}

/// One request with its meaning and digests.
struct Judged {
  bool refused = true;
  std::vector<Texts> meaning, seed_meaning;
  Digest fingerprint;
  std::string seed;
};

Judged Judge(const Request& request) {
  Judged judged;
  const auto parsed = ParseOptions(request.kind, request.options);
  const auto* options = std::get_if<std::vector<ParsedOption>>(&parsed);
  if (options == nullptr) return judged;
  judged.refused = false;
  judged.meaning = Meaning(request, *options);
  const BuildRequest built = ToBuildRequest(request);
  const Digest toolchain = Sha256(request.toolchain);
  const std::vector<FingerprintRoot> roots = ToRoots(request);
  judged.fingerprint = Fingerprint({built, toolchain, *options, roots, request.path_dependent});
  if (const auto* program = std::get_if<NvrtcProgram>(&built.program)) {
    std::vector<ParsedOption> others = *options;
    std::erase_if(others, [](const ParsedOption& option) {
      return option.rule != nullptr && option.rule->name == "-frandom-seed";
    });
    judged.seed_meaning = ProgramMeaning(request);
    judged.seed_meaning.push_back(OptionMeanings(others));
    judged.seed = RandomSeed(*program, *options);
    assert(judged.seed.size() == 16);
  }
  return judged;
}

/// Moves texts and bytes across the boundaries of the encoding.
void Edit(Request& request, Cutter& cutter) {
  std::vector<Texts*> lists = {&request.options, &request.expressions, &request.toolchain_roots,
                               &request.outside_roots};
  std::vector<std::string*> texts = {&request.source, &request.name, &request.working_directory,
                                     &request.toolchain, &request.types};
  for (Texts* list : {&request.options, &request.expressions, &request.names, &request.contents,
                      &request.toolchain_roots, &request.outside_roots}) {
    for (std::string& text : *list) texts.push_back(&text);
  }
  const uint8_t what = cutter.Byte();
  std::string& from = *texts[cutter.Byte() % texts.size()];
  std::string& to = *texts[cutter.Byte() % texts.size()];
  Texts& from_list = *lists[what / 16 % lists.size()];
  Texts& to_list = *lists[what / 64 % lists.size()];
  switch (what % 8) {
    case 0:
      std::reverse(request.names.begin(), request.names.end());
      std::reverse(request.contents.begin(), request.contents.end());
      break;
    case 1:
      std::reverse(request.expressions.begin(), request.expressions.end());
      request.expressions.insert(request.expressions.end(), request.expressions.begin(),
                                 request.expressions.end());
      request.expressions.resize(std::min<size_t>(request.expressions.size(), 16));
      break;
    case 2:
      std::swap(from, to);
      break;
    case 3:
      if (from.empty()) break;
      to.insert(to.begin(), from.back());
      from.pop_back();
      break;
    case 4:
      if (from.empty()) break;
      to += from.front();
      from.erase(0, 1);
      break;
    case 5:
      if (from_list.empty()) break;
      to_list.insert(to_list.begin(), from_list.back());
      from_list.pop_back();
      break;
    case 6:
      request.path_dependent = !request.path_dependent;
      request.libdevice = what < 128 ? request.libdevice : !request.libdevice;
      break;
    default:
      from += 'x';
  }
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const auto text = [](std::string_view value) {
    return std::string(1, static_cast<char>(value.size())) + std::string(value);
  };
  const std::string nvrtc = text("__global__ void f() {}") + text("dir/p.cu") + text("/work") +
                            text("id") + text("") + "\3" + text("-arch=sm_90") + text("-I/a") +
                            text("-frandom-seed=1") + "\2" + text("f") + text("g<int>") + "\2" +
                            text("a.h") + text("b.h") + "\2" + text("int a;") + text("int b;") +
                            "\1" + text("include") + "\1" + text("/a");
  const std::string edits = "\x03\x01\x02\x04\x04\x01\x05\x00\x00\x41\x07\x08";
  const std::string others = text("") + text("") + text("") + text("id") + text("\2\3") + "\1" +
                             text("-lto") + std::string(1, 0) + "\2" + text("a") + text("b") +
                             "\2" + text("ptx") + text("ptx");
  return {std::string(1, '\0') + nvrtc + edits, "\x81" + nvrtc + edits, "\1" + others,
          "\2" + others + edits, "\x42" + others};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Cutter cutter({reinterpret_cast<const char*>(data), size});
  Request request = TakeRequest(cutter);
  Judged before = Judge(request);
  for (int edits = 0; cutter.More() && edits < 8; ++edits) {
    Edit(request, cutter);
    Judged after = Judge(request);
    if (!before.refused && !after.refused) {
      assert((before.fingerprint == after.fingerprint) == (before.meaning == after.meaning));
      assert((before.seed == after.seed) == (before.seed_meaning == after.seed_meaning));
    }
    before = std::move(after);
  }
  return 0;
}
