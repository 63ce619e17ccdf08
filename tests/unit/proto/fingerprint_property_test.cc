// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// For random requests: equivalent requests have equal fingerprints, and any other change in one
// place changes the fingerprint.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/fingerprint.h"
#include "tests/support/random_requests.h"
#include "tests/unit/proto/parsed.h"

namespace cccl_cache::fingerprint_property_test {
namespace {

using cccl_cache::daemon::testing::RandomRequests;

constexpr uint32_t kRequests = 2000;

Digest FingerprintOf(const BuildRequest& request, const Digest& toolchain = Sha256("toolchain")) {
  const auto options =
      std::visit([&](const auto& program) { return Parsed(request.kind(), program.options); },
                 request.program);
  return Fingerprint({request, toolchain, options, {}, false});
}

/// Returns every text of the program that is in the fingerprint unchanged.
std::vector<std::string*> TextsOf(BuildRequest* request) {
  std::vector<std::string*> texts;
  if (auto* nvrtc = std::get_if<NvrtcProgram>(&request->program)) {
    texts = {&nvrtc->source};
    for (InlineHeader& header : nvrtc->headers) {
      texts.insert(texts.end(), {&header.name, &header.contents});
    }
  } else if (auto* link = std::get_if<LinkProgram>(&request->program)) {
    for (LinkInput& input : link->inputs) {
      texts.insert(texts.end(), {&input.name, &input.contents});
    }
  } else {
    for (NvvmModule& module : std::get<NvvmProgram>(request->program).modules) {
      texts.insert(texts.end(), {&module.name, &module.contents});
    }
  }
  return texts;
}

/// Appends to `changes`: each change removes or repeats one element of a list whose order matters.
template <typename Value>
void AddListChanges(const std::vector<Value>& list, std::function<std::vector<Value>&()> of,
                    std::vector<std::function<void()>>* changes) {
  for (size_t place = 0; place < list.size(); ++place) {
    changes->push_back([of, place] { of().erase(of().begin() + static_cast<ptrdiff_t>(place)); });
    changes->push_back([of, place] { of().push_back(of()[place]); });
  }
}

TEST_CASE("property: order and duplicates of unordered values do not change a fingerprint") {
  for (uint32_t seed = 0; seed < kRequests; ++seed) {
    INFO("seed " << seed);
    RandomRequests random(seed);
    const BuildRequest request = random.Next();
    const auto* program = std::get_if<NvrtcProgram>(&request.program);
    if (program == nullptr) continue;
    BuildRequest same = request;
    auto& other = std::get<NvrtcProgram>(same.program);
    if (!other.name_expressions.empty()) {
      other.name_expressions.push_back(
          other.name_expressions[random.Below(other.name_expressions.size())]);
    }
    random.Shuffle(&other.name_expressions);
    std::set<std::string> names;
    for (const InlineHeader& header : other.headers) names.insert(header.name);
    if (names.size() == other.headers.size()) random.Shuffle(&other.headers);
    REQUIRE(FingerprintOf(same) == FingerprintOf(request));
    REQUIRE(RandomSeed(other, Parsed(BuildKind::kNvrtc, other.options)) ==
            RandomSeed(*program, Parsed(BuildKind::kNvrtc, program->options)));
  }
}

TEST_CASE("property: a byte more in any text, or another toolchain, changes a fingerprint") {
  for (uint32_t seed = 0; seed < kRequests; ++seed) {
    INFO("seed " << seed);
    const BuildRequest request = RandomRequests(seed).Next();
    const Digest fingerprint = FingerprintOf(request);
    REQUIRE(FingerprintOf(request, Sha256("other")) != fingerprint);
    BuildRequest changed = request;
    const std::vector<std::string*> texts = TextsOf(&changed);
    for (std::string* text : texts) {
      text->push_back('x');
      REQUIRE(FingerprintOf(changed) != fingerprint);
      text->pop_back();
    }
    REQUIRE(FingerprintOf(changed) == fingerprint);
    // A byte that moves from one text to the next changes the fingerprint.
    for (size_t place = 1; place < texts.size(); ++place) {
      if (texts[place]->empty()) continue;
      const std::string before = *texts[place - 1];
      const std::string after = *texts[place];
      *texts[place - 1] += after.front();
      texts[place]->erase(0, 1);
      REQUIRE(FingerprintOf(changed) != fingerprint);
      *texts[place - 1] = before;
      *texts[place] = after;
    }
  }
}

TEST_CASE("property: a value that is left out, doubled, or flipped changes a fingerprint") {
  for (uint32_t seed = 0; seed < kRequests; ++seed) {
    INFO("seed " << seed);
    const BuildRequest request = RandomRequests(seed).Next();
    const Digest fingerprint = FingerprintOf(request);
    BuildRequest changed = request;
    std::vector<std::function<void()>> changes;
    std::visit(
        [&](auto& program) {
          AddListChanges<std::string>(
              program.options, [&]() -> std::vector<std::string>& { return program.options; },
              &changes);
        },
        changed.program);
    if (auto* link = std::get_if<LinkProgram>(&changed.program)) {
      AddListChanges<LinkInput>(
          link->inputs, [link]() -> std::vector<LinkInput>& { return link->inputs; }, &changes);
      for (size_t place = 0; place < link->inputs.size(); ++place) {
        changes.push_back([link, place] {
          LinkInputType& type = link->inputs[place].type;
          type = static_cast<LinkInputType>((static_cast<int>(type) + 1) % 7);
        });
      }
    } else if (auto* nvvm = std::get_if<NvvmProgram>(&changed.program)) {
      AddListChanges<NvvmModule>(
          nvvm->modules, [nvvm]() -> std::vector<NvvmModule>& { return nvvm->modules; }, &changes);
      changes.push_back([nvvm] { nvvm->add_libdevice = !nvvm->add_libdevice; });
      for (size_t place = 0; place < nvvm->modules.size(); ++place) {
        changes.push_back(
            [nvvm, place] { nvvm->modules[place].lazy = !nvvm->modules[place].lazy; });
      }
    } else {
      auto& nvrtc = std::get<NvrtcProgram>(changed.program);
      AddListChanges<InlineHeader>(
          nvrtc.headers, [&nvrtc]() -> std::vector<InlineHeader>& { return nvrtc.headers; },
          &changes);
      changes.push_back(
          [&nvrtc] { nvrtc.name_expressions.emplace_back("x, which no text holds"); });
      changes.push_back([&nvrtc] { nvrtc.name += 'x'; });
    }
    for (const auto& change : changes) {
      change();
      REQUIRE(FingerprintOf(changed) != fingerprint);
      changed = request;
    }
  }
}

}  // namespace
}  // namespace cccl_cache::fingerprint_property_test
