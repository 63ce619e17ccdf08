// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/command_line.h"

#include <algorithm>

namespace cccl_cache::standin {
namespace {

// The options of ptxas 12 and 13 between blanks, and one of Triton's that --help does not name.
// Left out are those that read or write other files, and those whose output may depend on the
// machine (--split-compile).

constexpr std::string_view kFlags =
    " --compile-as-tools-patch -astoolspatch --compile-only -c --device-debug -g "
    "--disable-optimizer-constants -disable-optimizer-consts --disable-warnings -w "
    "--dont-merge-basicblocks -no-bb-merge --extensible-whole-program -ewp --generate-line-info "
    "-lineinfo --make-errors-visible-at-exit -make-errors-visible-at-exit --optimize-float-atomics "
    "-opt-fp-atomics --preserve-relocs -preserve-relocs --return-at-end -ret-end --sp-bounds-check "
    "-sp-bounds-check --suppress-debug-info -suppress-debug-info --suppress-double-demote-warning "
    "-suppress-double-demote-warning --suppress-stack-size-warning -suppress-stack-size-warning "
    "--verbose -v --warn-on-double-precision-use -warn-double-usage --warn-on-local-memory-usage "
    "-warn-lmem-usage --warn-on-spills -warn-spills --warning-as-error -Werror "
    "-O0 -O1 -O2 -O3 -O4 -m64 ";

/// Options with "=value".
constexpr std::string_view kWithValue =
    " --Ofast-compile -Ofc --allow-expensive-optimizations -allow-expensive-optimizations "
    "--def-load-cache -dlcm --def-store-cache -dscm --device-function-maxrregcount "
    "-func-maxrregcount --device-stack-protector -device-stack-protector --entry -e --fmad -fmad "
    "--force-load-cache -flcm --force-store-cache -fscm --gpu-name -arch --machine -m --maxntid "
    "-maxntid --maxrregcount -maxrregcount --minnctapersm -minnctapersm --opt-level -O "
    "--position-independent-code -pic --regAllocOptLevel --register-usage-level -regUsageLevel ";

/// Options whose value may also be the next word.
constexpr std::string_view kWithNextWord =
    " --Ofast-compile -Ofc --gpu-name -arch --maxrregcount -maxrregcount --opt-level ";

bool Has(std::string_view names, std::string_view word) {
  return !word.empty() && word.find(' ') == std::string_view::npos &&
         names.find(" " + std::string(word) + " ") != std::string_view::npos;
}

bool NamesOutput(std::string_view word) { return word == "-o" || word == "--output-file"; }

/// Returns whether the word is taken for the name of one file, and for nothing else.
bool IsFileName(std::string_view word) {
  return !word.empty() && word.front() != '-' && word.front() != '@' &&
         word.find_first_of(",\\\"'") == std::string_view::npos;
}

}  // namespace

std::optional<Assembly> ReadAssembly(const Words& words) {
  Assembly assembly;
  if (words.empty()) return std::nullopt;
  assembly.name = words[0].substr(words[0].rfind('/') + 1);
  const auto keep = [&assembly](std::string_view word) {
    assembly.options.append(word).push_back('\0');
  };
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool last = i + 1 == words.size();
    if (NamesOutput(word) && !last && assembly.output.empty()) {
      assembly.output = words[++i];
    } else if (Has(kWithNextWord, word) && !last) {
      keep(word);
      keep(words[++i]);
    } else if (Has(kFlags, word) || (word.find('=') != std::string_view::npos &&
                                     Has(kWithValue, word.substr(0, word.find('='))))) {
      keep(word);
      if (word == "-g" || word == "--device-debug") assembly.shows_paths = true;
    } else if (IsFileName(word) && assembly.input.empty()) {
      assembly.input = word;
    } else {
      return std::nullopt;
    }
  }
  if (assembly.input.empty() || !IsFileName(assembly.output)) return std::nullopt;
  return assembly;
}

bool AsksForVersion(const Words& words) {
  return words.size() == 2 && (words[1] == "--version" || words[1] == "-V");
}

Environment ReadEnvironment(const char* const* variables) {
  Environment environment;
  std::vector<std::string_view> counts;
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (name == "DUMP_KNOBS_TO_FILE" || name == "CAN_FINALIZE_DEBUG" || name == "FINALIZER_CUBIE") {
      environment.writes_more = true;
    }
    if (name.starts_with("PTXAS") || name.starts_with("FINALIZER")) counts.push_back(variable);
  }
  std::ranges::sort(counts);
  for (const std::string_view variable : counts) {
    environment.part_of_key.append(variable).push_back('\0');
  }
  return environment;
}

}  // namespace cccl_cache::standin
