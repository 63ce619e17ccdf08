// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/options/options.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/proto/parsed.h"

namespace cccl_cache::options_test {
namespace {

constexpr BuildKind kKinds[] = {BuildKind::kNvrtc, BuildKind::kLink, BuildKind::kNvvm};
constexpr BuildKind kNvrtc = BuildKind::kNvrtc;

TEST_CASE("every table is valid: each spelling has one owner, a meaning, and a reason if refused") {
  for (BuildKind kind : kKinds) {
    std::set<std::string_view> seen;
    REQUIRE_FALSE(OptionRules(kind).empty());
    for (const OptionRule& rule : OptionRules(kind)) {
      CAPTURE(rule.name);
      REQUIRE_FALSE(rule.spellings.empty());
      REQUIRE(rule.spellings.front() == rule.name);
      for (std::string_view spelling : rule.spellings) {
        REQUIRE(spelling.starts_with("-"));
        REQUIRE(spelling.find_first_of("= \t") == std::string_view::npos);
        REQUIRE(seen.insert(spelling).second);
      }
      REQUIRE(rule.meaning.ends_with("."));
      // The table applies to builds without the daemon too.
      REQUIRE(rule.reason.find("without the daemon") == std::string_view::npos);
      REQUIRE(rule.reason.empty() == (rule.effect == OptionEffect::kEntersKey));
      const bool takes_argument = rule.value == OptionValue::kRequired;
      REQUIRE((takes_argument || (!rule.separate && !rule.joined)));
    }
  }
}

TEST_CASE("every spelling of an option becomes the one canonical argument") {
  for (BuildKind kind : kKinds) {
    for (const OptionRule& rule : OptionRules(kind)) {
      if (rule.effect == OptionEffect::kRefused || rule.effect == OptionEffect::kNone) continue;
      if (rule.receiver != OptionReceiver::kCompiler) continue;
      const std::string name(rule.name);
      for (std::string_view spelling_view : rule.spellings) {
        const std::string spelling(spelling_view);
        CAPTURE(spelling);
        if (rule.value != OptionValue::kNone) {
          REQUIRE(Canonical(kind, {spelling + "=v"}) == Texts{name + "=v"});
        }
        if (rule.value != OptionValue::kRequired) {
          REQUIRE(Canonical(kind, {spelling}) == Texts{name});
        }
        if (rule.separate) REQUIRE(Canonical(kind, {spelling, "v"}) == Texts{name + "=v"});
        if (rule.joined && spelling.size() == 2) {
          REQUIRE(Canonical(kind, {spelling + "v"}) == Texts{name + "=v"});
        }
      }
    }
  }
}

TEST_CASE("a canonical argument is its own canonical form") {
  for (BuildKind kind : kKinds) {
    for (const OptionRule& rule : OptionRules(kind)) {
      if (rule.effect == OptionEffect::kRefused || rule.effect == OptionEffect::kNone) continue;
      std::string text(rule.name);
      if (rule.value == OptionValue::kRequired) text += "=-v";
      if (rule.receiver == OptionReceiver::kFrontEnd) text = "-Xcudafe=--diag_suppress=177";
      CAPTURE(text);
      const std::vector<ParsedOption> parsed = Parsed(kind, {text});
      REQUIRE(parsed.size() == 1);
      REQUIRE(parsed[0].rule == &rule);
      REQUIRE(parsed[0].canonical == text);
    }
  }
}

TEST_CASE("a refused option is refused in every spelling, with and without a value") {
  for (BuildKind kind : kKinds) {
    for (const OptionRule& rule : OptionRules(kind)) {
      if (rule.effect != OptionEffect::kRefused) continue;
      for (std::string_view spelling_view : rule.spellings) {
        const std::string spelling(spelling_view);
        CAPTURE(spelling);
        REQUIRE(Refused(kind, {"-unknown", spelling}) == spelling);
        REQUIRE(Refused(kind, {spelling + "=/tmp/f"}) == spelling + "=/tmp/f");
        REQUIRE(Refused(kind, {spelling, "/tmp/f"}) == spelling);
      }
    }
  }
}

TEST_CASE("a refusal for files suggests --fallback local, a refusal for a NUL does not") {
  const auto taken = [](const Texts& options) {
    const auto refused = std::get<RefusedOption>(ParseOptions(kNvrtc, options));
    const bool says_so = refused.reason.find("--fallback local") != std::string::npos;
    REQUIRE(says_so == refused.taken_by_compiler);
    return refused.taken_by_compiler;
  };
  REQUIRE(taken({"--create-pch=a.pch"}));
  REQUIRE(taken({"-Xptxas", "--options-file=a"}));
  REQUIRE_FALSE(taken({std::string("-DA=\0", 5)}));
  REQUIRE_FALSE(taken({"--create-pch=a.pch", std::string("-DA=\0", 5)}));
}

TEST_CASE("an unknown option is passed unchanged") {
  const Texts unknown{"-no-such-option",
                      "word",
                      "-",
                      "--",
                      "=",
                      "-=x",
                      "--gpu-arch=sm_90",
                      "--lineinfo",
                      "",
                      "  ",
                      "-no-such option",
                      "--GPU-ARCHITECTURE=sm_90"};
  for (BuildKind kind : kKinds) {
    const std::vector<ParsedOption> parsed = Parsed(kind, unknown);
    REQUIRE(parsed.size() == unknown.size());
    for (size_t i = 0; i < parsed.size(); ++i) {
      REQUIRE(parsed[i].rule == nullptr);
      REQUIRE(parsed[i].canonical == unknown[i]);
      REQUIRE(parsed[i].value.empty());
    }
  }
}

TEST_CASE("an option without its value is passed unchanged") {
  for (const char* option : {"-arch", "--std", "-D", "--ptxas-options", "-frandom-seed"}) {
    CAPTURE(option);
    const std::vector<ParsedOption> parsed = Parsed(kNvrtc, {"-G", option});
    REQUIRE(parsed.size() == 2);
    REQUIRE(parsed[1].rule == nullptr);
    REQUIRE(parsed[1].canonical == option);
  }
}

TEST_CASE("an empty value is a value") {
  const std::vector<ParsedOption> parsed = Parsed(kNvrtc, {"-arch=", "-D", ""});
  REQUIRE(parsed.size() == 2);
  REQUIRE(parsed[0].canonical == "--gpu-architecture=");
  REQUIRE(parsed[0].value.empty());
  REQUIRE(parsed[0].rule != nullptr);
  REQUIRE(parsed[1].canonical == "--define-macro=");
}

TEST_CASE("a flag with an invalid value is passed unchanged") {
  const std::vector<ParsedOption> parsed = Parsed(kNvrtc, {"-G=true"});
  REQUIRE(parsed[0].rule == nullptr);
  REQUIRE(parsed[0].canonical == "-G=true");
}

TEST_CASE("a NUL character is refused, in an option and in its value") {
  using namespace std::string_literals;
  REQUIRE(Refused(kNvrtc, {"-G\0x"s}) == "-G\0x"s);
  REQUIRE(Refused(kNvrtc, {"--pch\0"s}) == "--pch\0"s);
  REQUIRE(Refused(kNvrtc, {"-D", "A\0B"s}) == "-D A\0B"s);
  REQUIRE(Refused(BuildKind::kLink, {"\0"s}) == "\0"s);
  REQUIRE(Refused(BuildKind::kNvvm, {"-opt=3\0"s}) == "-opt=3\0"s);
}

TEST_CASE("an empty list of options is valid") {
  for (BuildKind kind : kKinds) REQUIRE(Parsed(kind, {}).empty());
}

TEST_CASE("100,000 options are parsed in a moment") {
  Texts options;
  for (int i = 0; i < 100'000; ++i) options.push_back("-DNAME_" + std::to_string(i) + "=1");
  const std::vector<ParsedOption> parsed = Parsed(kNvrtc, options);
  REQUIRE(parsed.size() == options.size());
  REQUIRE(parsed.back().canonical == "--define-macro=NAME_99999=1");
}

TEST_CASE("an option of 16 megabytes is parsed in a moment") {
  const std::string value(16 << 20, 'x');
  REQUIRE(Parsed(kNvrtc, {"-D" + value})[0].value == value);
  REQUIRE(Parsed(kNvrtc, {"-Xptxas=-" + value})[0].value.size() == value.size() + 1);
}

constexpr OptionReceiver kAssembler = OptionReceiver::kAssembler;

/// Returns whether one of the tool's arguments is refused.
bool IsRefused(OptionReceiver receiver, const std::vector<std::string>& values) {
  PassedOptions passed;
  bool refused = false;
  for (const std::string& value : values) {
    refused = !passed.Refusal(receiver, value).empty() || refused;
  }
  return refused;
}

TEST_CASE("the assembler's usual options are accepted") {
  for (const char* value : {"-v", "--verbose", "-O3", "--opt-level=1", "-maxrregcount=32",
                            "--entry=k,l", "--warn-on-spills", "-dlcm=cg", "--no-such-option"}) {
    CAPTURE(value);
    REQUIRE_FALSE(IsRefused(kAssembler, {value}));
  }
}

TEST_CASE("options that name files for the assembler are refused in every spelling") {
  for (const char* value :
       {"--options-file=/f", "--options-file", "-optf=/f", "-optf", "-o=/f", "-o",
        "--output-file=/f", "--nv-host=/f", "--apply-controls=/f", "--query-controls=/f",
        "--compiler-stats-file=/f", "--fdevice-time-trace=/f", "--dump-perf-metrics-file=/f"}) {
    CAPTURE(value);
    REQUIRE(IsRefused(kAssembler, {value}));
    REQUIRE(IsRefused(kAssembler, {"--entry", value}));
  }
}

TEST_CASE("a file option inside a list, quotes or white space is found") {
  for (const char* value :
       {"-v,-optf=/f", "-v -optf /f", "\"-optf=/f\"", "' -optf=/f'", " -optf=/f",
        "\t--options-file=/f", "-v;-o=/f", "-v,\"-o\",/f", "-v\n-optf\n/f"}) {
    CAPTURE(value);
    REQUIRE(IsRefused(kAssembler, {value}));
  }
}

TEST_CASE("an argument without a dash is refused, because the assembler takes it for a file") {
  for (const char* value : {"/etc/hostname", "file.ptx", "@/f", "", " ", ","}) {
    CAPTURE(value);
    REQUIRE(IsRefused(kAssembler, {value}));
    REQUIRE(IsRefused(kAssembler, {"-v", value}));
    REQUIRE(IsRefused(kAssembler, {"-O", value}));
    REQUIRE(IsRefused(kAssembler, {"--no-such-option", value}));
  }
}

TEST_CASE("an argument without a dash may be the value of the option before it") {
  REQUIRE_FALSE(IsRefused(kAssembler, {"--maxrregcount", "32", "-v"}));
  REQUIRE_FALSE(IsRefused(kAssembler, {"-e", "kernel"}));
  REQUIRE(IsRefused(kAssembler, {"--maxrregcount", "32", "file"}));
  REQUIRE(IsRefused(kAssembler, {"--maxrregcount=32", "file"}));
  REQUIRE(IsRefused(kAssembler, {"-e", "-e", "file"}));
}

TEST_CASE("only diagnostics by number are passed to the front end") {
  for (const char* value : {"--diag_suppress=177", "--diag_error=1,2", "--diag_warning=3"}) {
    CAPTURE(value);
    REQUIRE_FALSE(IsRefused(OptionReceiver::kFrontEnd, {value}));
  }
  for (const char* value :
       {"--list=/f", "--diag_suppress=177 --list=/f", "--diag_suppress", "file", "",
        "--diag_suppress=177,--list=/f", "--create_pch=/f", "--diag_suppress=name"}) {
    CAPTURE(value);
    REQUIRE(IsRefused(OptionReceiver::kFrontEnd, {value}));
  }
}

TEST_CASE("options passed to libNVVM may be its own, but not LLVM's") {
  REQUIRE_FALSE(IsRefused(OptionReceiver::kOptimizer, {"-opt=0"}));
  for (const char* value :
       {"-Xllc", "-Xlnk", " -Xopt", "-opt=0,-Xopt", "-Xopt=-disable-SCCPPass"}) {
    CAPTURE(value);
    REQUIRE(IsRefused(OptionReceiver::kOptimizer, {value}));
  }
}

TEST_CASE("a few options of LLVM are passed after -Xopt") {
  const auto is_refused = [](const std::vector<std::string>& values) {
    return IsRefused(OptionReceiver::kOptimizer, values);
  };
  for (const char* value : {"-disable-SCCPPass", "-do-base-address-strength-reduce=0",
                            "-alias-set-saturation-threshold=12", "-full-inst-combine=0"}) {
    CAPTURE(value);
    REQUIRE_FALSE(is_refused({"-Xopt", value, "-opt=3"}));
    REQUIRE_FALSE(is_refused({"-opt=3", "-Xopt", value, "-Xopt", value}));
  }
  for (const char* value :
       {"-info-output-file=/f", "-Xopt", "-opt=0", "", "-disable-SCCPPass=/f", "-disable-SCCPPass ",
        "-full-inst-combine", "-full-inst-combine=", "-full-inst-combine=1,-info-output-file=/f",
        "-full-inst-combine=/f", "-full-inst-combine=1234567890", "--full-inst-combine=1"}) {
    CAPTURE(value);
    REQUIRE(is_refused({"-Xopt", value}));
    REQUIRE(is_refused({"-Xopt", "-disable-SCCPPass", "-Xopt", value}));
  }
}

TEST_CASE("options that end with -Xopt are refused, because libNVVM would end the process") {
  PassedOptions passed;
  REQUIRE(passed.Refusal(OptionReceiver::kOptimizer, "-Xopt").empty());
  REQUIRE_FALSE(passed.RefusalOfEnd().empty());
  REQUIRE(passed.Refusal(OptionReceiver::kOptimizer, "-disable-SCCPPass").empty());
  REQUIRE(passed.RefusalOfEnd().empty());
  for (const auto& options : {Texts{"-Xnvvm", "-Xopt"}, Texts{"-Xnvvm=-Xopt", "-w"}}) {
    REQUIRE(std::holds_alternative<RefusedOption>(ParseOptions(BuildKind::kNvrtc, options)));
  }
}

TEST_CASE("a value that is passed to no tool is not checked") {
  REQUIRE_FALSE(IsRefused(OptionReceiver::kCompiler, {"--options-file=/f", "file"}));
}

}  // namespace
}  // namespace cccl_cache::options_test
