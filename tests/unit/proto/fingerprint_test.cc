// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/fingerprint.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/proto/parsed.h"

namespace cccl_cache::fingerprint_test {
namespace {

/// The inputs of a fingerprint, owned.
struct Case {
  BuildRequest request;
  Digest toolchain = Sha256("toolchain");
  std::vector<FingerprintRoot> roots;
  bool path_dependent = false;

  NvrtcProgram& nvrtc() { return std::get<NvrtcProgram>(request.program); }
  LinkProgram& link() { return std::get<LinkProgram>(request.program); }
  NvvmProgram& nvvm() { return std::get<NvvmProgram>(request.program); }

  [[nodiscard]] std::vector<ParsedOption> Options() const {
    return std::visit(
        [this](const auto& program) { return Parsed(request.kind(), program.options); },
        request.program);
  }
  [[nodiscard]] Digest Fingerprint() const {
    return cccl_cache::Fingerprint({request, toolchain, Options(), roots, path_dependent});
  }
};

Case NvrtcCase() {
  NvrtcProgram program;
  program.source = "__global__ void kernel() {}";
  program.name = "/home/one/kernel.cu";
  program.options = {"-arch=sm_90", "-DA=1", "-UA", "-I/home/one/include", "-std=c++17"};
  program.headers = {{"a.h", "int a;"}, {"b.h", "int b;"}};
  program.name_expressions = {"kernel", "other<int>"};
  Case made;
  made.request.program = std::move(program);
  made.request.working_directory = "/home/one";
  made.roots = {{"", "/home/one"}, {"", "/home/one/include"}, {"include", "/usr/cuda/include"}};
  return made;
}

Case LinkCase() {
  Case made;
  made.request.program =
      LinkProgram{{{LinkInputType::kLtoIr, "a", "first"}, {LinkInputType::kPtx, "b", "second"}},
                  {"-arch=sm_90", "-lto"}};
  return made;
}

Case NvvmCase() {
  Case made;
  made.request.program =
      NvvmProgram{{{"a", "first", false}, {"b", "second", true}}, {"-arch=compute_90"}, true};
  return made;
}

struct Change {
  const char* name;
  std::function<void(Case&)> apply;
};

void RequireDifferent(const Case& base, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    CAPTURE(change.name);
    Case changed = base;
    change.apply(changed);
    REQUIRE(changed.Fingerprint() != base.Fingerprint());
  }
}

void RequireEqual(const Case& base, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    CAPTURE(change.name);
    Case changed = base;
    change.apply(changed);
    REQUIRE(changed.Fingerprint() == base.Fingerprint());
  }
}

TEST_CASE("the fingerprint of a fixed request never changes by accident") {
  Case shown = NvrtcCase();
  shown.path_dependent = true;
  REQUIRE(kFingerprintLayout == 2);
  CHECK(NvrtcCase().Fingerprint().Hex() ==
        "214303e3ee3009ea1bd13bf37577edf2f0bc4d928ca5c58ca8671ad7510e9d14");
  CHECK(shown.Fingerprint().Hex() ==
        "7fe700f1a21e24057e594e0799245959660f32357bf71f22a0c0e88d7b713cf5");
  CHECK(LinkCase().Fingerprint().Hex() ==
        "f37f346771e567c35ff0537d04e75041bd972110915846065c06d7e769f050d0");
  CHECK(NvvmCase().Fingerprint().Hex() ==
        "ae0c327a8dcc0230eb729bc9e625ab83105c2392d128d43b9869f447cbdcff1c");
  CHECK(KeyWithoutClosure(Sha256("fingerprint")).Hex() ==
        "c10f9a1f8445083db9844879dc2b3d39962ebcaa432930f6267bdb72a8c4781c");
  CHECK(FingerprintWithTwins(Sha256("fingerprint"), {0, 1, 1}).Hex() ==
        "edc442be153b29550ea24417dcece990183af43a238cd52e59b7db508ecaa592");
  const std::vector<ClosureRecord> closure = {
      {.root = 1, .name = "a.h", .kind = 1, .digest = Sha256("contents"), .same_as = 0},
      {.root = 2, .name = "b.h", .kind = 0}};
  CHECK(KeyWithClosure(Sha256("fingerprint"), closure).Hex() ==
        "1d55d4b49b1ea8bb7652d472f609d74c60d90c863f74ec716503d0d93e15ae4b");
  CHECK(RandomSeed(NvrtcCase().nvrtc(), NvrtcCase().Options()) == "eb5ec97483cb1095");
}

TEST_CASE("each relevant part of an NVRTC program changes the fingerprint") {
  RequireDifferent(
      NvrtcCase(),
      {{"toolchain", [](Case& c) { c.toolchain = Sha256("other"); }},
       {"source", [](Case& c) { c.nvrtc().source += ' '; }},
       {"source empty", [](Case& c) { c.nvrtc().source.clear(); }},
       {"base name", [](Case& c) { c.nvrtc().name = "/home/one/other.cu"; }},
       {"no name", [](Case& c) { c.nvrtc().name.clear(); }},
       {"a directory's name", [](Case& c) { c.nvrtc().name += '/'; }},
       {"option value", [](Case& c) { c.nvrtc().options[0] = "-arch=sm_80"; }},
       {"option added", [](Case& c) { c.nvrtc().options.push_back("-w"); }},
       {"unknown option", [](Case& c) { c.nvrtc().options.push_back("-no-such-option"); }},
       {"option twice", [](Case& c) { c.nvrtc().options.push_back("-std=c++17"); }},
       {"order of options", [](Case& c) { std::swap(c.nvrtc().options[1], c.nvrtc().options[2]); }},
       {"place of a directory", [](Case& c) { c.nvrtc().options.pop_back(); }},
       {"name expression", [](Case& c) { c.nvrtc().name_expressions[0] = "k"; }},
       {"name expression added", [](Case& c) { c.nvrtc().name_expressions.push_back("k"); }},
       {"header name", [](Case& c) { c.nvrtc().headers[0].name = "A.h"; }},
       {"header contents", [](Case& c) { c.nvrtc().headers[0].contents = "int c;"; }},
       {"header added",
        [](Case& c) {
          c.nvrtc().headers.push_back({"c.h", ""});
        }},
       {"contents swapped",
        [](Case& c) {
          c.nvrtc().headers = {{"a.h", "int b;"}, {"b.h", "int a;"}};
        }},
       {"root added",
        [](Case& c) {
          c.roots.push_back({"", "/more"});
        }},
       {"root removed", [](Case& c) { c.roots.pop_back(); }},
       {"order of roots", [](Case& c) { std::swap(c.roots[1], c.roots[2]); }},
       {"toolchain's directory", [](Case& c) { c.roots[2].toolchain_directory = "include/cccl"; }},
       {"root from elsewhere", [](Case& c) { c.roots[2].toolchain_directory.clear(); }},
       {"path-dependent", [](Case& c) { c.path_dependent = true; }}});
}

TEST_CASE("each grouping of roots that are the same directory has its own fingerprint") {
  const Digest base = Sha256("fingerprint");
  const std::vector<Digest> digests = {base,
                                       FingerprintWithTwins(base, {0, 0, 2}),
                                       FingerprintWithTwins(base, {0, 1, 1}),
                                       FingerprintWithTwins(base, {0, 1, 0}),
                                       FingerprintWithTwins(base, {0, 0}),
                                       FingerprintWithTwins(Sha256("other"), {0, 0, 2})};
  for (size_t one = 0; one < digests.size(); ++one) {
    for (size_t other = 0; other < one; ++other) REQUIRE(digests[one] != digests[other]);
  }
}

TEST_CASE("the order of two headers with the same name changes the fingerprint") {
  Case base = NvrtcCase();
  base.nvrtc().headers = {{"a.h", "first"}, {"a.h", "second"}};
  RequireDifferent(
      base, {{"order", [](Case& c) { std::swap(c.nvrtc().headers[0], c.nvrtc().headers[1]); }}});
}

TEST_CASE("paths change the fingerprint if the output shows them") {
  Case base = NvrtcCase();
  base.path_dependent = true;
  RequireDifferent(
      base, {{"program's directory", [](Case& c) { c.nvrtc().name = "/home/two/kernel.cu"; }},
             {"root's path", [](Case& c) { c.roots[1].path = "/home/two/include"; }},
             {"toolchain's path", [](Case& c) { c.roots[2].path = "/opt/cuda/include"; }},
             {"working directory", [](Case& c) { c.request.working_directory = "/"; }}});
}

TEST_CASE("irrelevant parts of an NVRTC request do not change the fingerprint") {
  RequireEqual(
      NvrtcCase(),
      {{"program's directory", [](Case& c) { c.nvrtc().name = "/elsewhere/kernel.cu"; }},
       {"no directory", [](Case& c) { c.nvrtc().name = "kernel.cu"; }},
       {"path of an outside root",
        [](Case& c) {
          c.nvrtc().options[3] = "-I/home/two/include";
          c.roots[1].path = "/home/two/include";
        }},
       {"path of the toolchain", [](Case& c) { c.roots[2].path = "/opt/cuda/include"; }},
       {"working directory", [](Case& c) { c.request.working_directory = "/"; }},
       {"spelling", [](Case& c) { c.nvrtc().options[0] = "--gpu-architecture=sm_90"; }},
       {"value as an argument of its own",
        [](Case& c) {
          c.nvrtc().options = {
              "-arch", "sm_90", "-D", "A=1", "-U", "A", "-I", "/home/one/include", "--std=c++17"};
        }},
       {"order of name expressions",
        [](Case& c) {
          c.nvrtc().name_expressions = {"other<int>", "kernel"};
        }},
       {"a name expression twice", [](Case& c) { c.nvrtc().name_expressions.push_back("kernel"); }},
       {"order of headers", [](Case& c) { std::swap(c.nvrtc().headers[0], c.nvrtc().headers[1]); }},
       {"driver", [](Case& c) { c.request.driver_version = 13000; }},
       {"priority", [](Case& c) { c.request.priority = BuildPriority::kWarmUp; }},
       {"on_miss", [](Case& c) { c.request.on_miss = MissAction::kFinish; }},
       {"selector", [](Case& c) { c.request.toolchain.version = "13.0"; }}});
}

TEST_CASE("a program without a name is NVRTC's default_program") {
  Case base = NvrtcCase();
  base.nvrtc().name.clear();
  RequireEqual(base, {{"spelled out", [](Case& c) { c.nvrtc().name = "default_program"; }}});
}

TEST_CASE("each relevant part of a link changes the fingerprint") {
  RequireDifferent(
      LinkCase(), {{"toolchain", [](Case& c) { c.toolchain = Sha256("other"); }},
                   {"order", [](Case& c) { std::swap(c.link().inputs[0], c.link().inputs[1]); }},
                   {"type", [](Case& c) { c.link().inputs[0].type = LinkInputType::kUnspecified; }},
                   {"contents", [](Case& c) { c.link().inputs[0].contents = "x"; }},
                   {"name, which errors show", [](Case& c) { c.link().inputs[0].name = "x"; }},
                   {"removed", [](Case& c) { c.link().inputs.pop_back(); }},
                   {"twice", [](Case& c) { c.link().inputs.push_back(c.link().inputs[1]); }},
                   {"name runs into contents",
                    [](Case& c) {
                      c.link().inputs[0] = {LinkInputType::kLtoIr, "af", "irst"};
                    }},
                   {"option", [](Case& c) { c.link().options.push_back("-O0"); }}});
}

TEST_CASE("irrelevant parts of a link request do not change the fingerprint") {
  RequireEqual(LinkCase(),
               {{"driver", [](Case& c) { c.request.driver_version = 12040; }},
                {"working directory", [](Case& c) { c.request.working_directory = "/"; }},
                {"spelling", [](Case& c) { c.link().options[1] = "-dlto"; }}});
}

TEST_CASE("each relevant part of an NVVM program changes the fingerprint") {
  RequireDifferent(NvvmCase(),
                   {{"toolchain", [](Case& c) { c.toolchain = Sha256("other"); }},
                    {"order", [](Case& c) { std::swap(c.nvvm().modules[0], c.nvvm().modules[1]); }},
                    {"lazy", [](Case& c) { c.nvvm().modules[0].lazy = true; }},
                    {"name, which LTO-IR holds", [](Case& c) { c.nvvm().modules[0].name = "x"; }},
                    {"contents", [](Case& c) { c.nvvm().modules[0].contents = "x"; }},
                    {"removed", [](Case& c) { c.nvvm().modules.pop_back(); }},
                    {"libdevice", [](Case& c) { c.nvvm().add_libdevice = false; }},
                    {"option", [](Case& c) { c.nvvm().options.push_back("-opt=0"); }}});
}

TEST_CASE("empty programs of different kinds have different fingerprints") {
  Case nvrtc;
  nvrtc.request.program = NvrtcProgram{};
  Case link;
  link.request.program = LinkProgram{};
  Case nvvm;
  nvvm.request.program = NvvmProgram{};
  REQUIRE(nvrtc.Fingerprint() != link.Fingerprint());
  REQUIRE(link.Fingerprint() != nvvm.Fingerprint());
  REQUIRE(nvrtc.Fingerprint() != nvvm.Fingerprint());
}

TEST_CASE("a key without a closure differs from its fingerprint") {
  const Digest fingerprint = NvrtcCase().Fingerprint();
  REQUIRE(KeyWithoutClosure(fingerprint) != fingerprint);
  REQUIRE(KeyWithoutClosure(fingerprint) != KeyWithoutClosure(Sha256("other")));
}

std::string Seed(const NvrtcProgram& program) {
  return RandomSeed(program, Parsed(BuildKind::kNvrtc, program.options));
}

TEST_CASE("a seed is 16 hexadecimal digits from the request's own bytes") {
  const NvrtcProgram program = NvrtcCase().nvrtc();
  const std::string seed = Seed(program);
  REQUIRE(seed.size() == 16);
  REQUIRE(seed.find_first_not_of("0123456789abcdef") == std::string::npos);

  NvrtcProgram moved = program;
  moved.name = "/elsewhere/kernel.cu";
  moved.options[3] = "-I/elsewhere";
  REQUIRE(Seed(moved) == seed);
  NvrtcProgram seeded = program;
  seeded.options.push_back("-frandom-seed=1");
  REQUIRE(Seed(seeded) == seed);
}

TEST_CASE("a seed changes with each part of the program") {
  const NvrtcProgram program = NvrtcCase().nvrtc();
  const std::vector<std::function<void(NvrtcProgram&)>> changes{
      [](NvrtcProgram& p) { p.source += ' '; }, [](NvrtcProgram& p) { p.name = "other.cu"; },
      [](NvrtcProgram& p) { p.options[0] = "-arch=sm_80"; },
      [](NvrtcProgram& p) { p.headers[0].contents = "x"; },
      [](NvrtcProgram& p) { p.name_expressions.clear(); }};
  for (const auto& change : changes) {
    NvrtcProgram changed = program;
    change(changed);
    REQUIRE(Seed(changed) != Seed(program));
  }
}

}  // namespace
}  // namespace cccl_cache::fingerprint_test
