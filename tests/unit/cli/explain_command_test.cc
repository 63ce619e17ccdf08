// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "cli/build_options.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace explain_command_test {

using namespace cccl_cache::cli;

namespace {

const std::string kKey(64, 'a');

}  // namespace

TEST_CASE("explain with a key asks the daemon about that key") {
  const FreshLibrary fresh;
  Library().verdict = "unknown-key";
  const Said said = RunCommand({"explain", kKey}, {.socket = "/s"});
  CHECK(said.exit_code == 0);
  CHECK(Library().arguments == std::vector{"key=" + kKey});
  CHECK(Library().socket == "/s");
  CHECK(Has(said.output, "no build of yours that the daemon remembers has this key"));
}

TEST_CASE("explain names the namespace and the owner of a deposit, which it does not explain") {
  const FreshLibrary fresh;
  Library().verdict = "unknown-key";
  Library().deposits = {{kKey, "cccl.nvcc", std::nullopt, 5}};
  const std::string own = RunCommand({"explain", kKey.substr(0, 8)}).output;
  CHECK(Has(own, "deposits are not explained"));
  CHECK(Has(own, "yours, of the namespace cccl.nvcc"));
  Library().deposits = {{kKey, "cccl.nvcc", 7, 5}};
  CHECK(Has(RunCommand({"explain", kKey}).output, "for group 7"));
  CHECK(Has(RunCommand({"explain", kKey}, {.json = true}).output, "\"verdict\": \"deposit\""));
  CHECK(Has(RunCommand({"explain", std::string(64, 'b')}).output, "no build of yours"));
}

TEST_CASE("explain says that several deposits have the first digits of a key") {
  const FreshLibrary fresh;
  Library().verdict = "unknown-key";
  const std::string other = std::string(63, 'a') + "b";
  Library().deposits = {{kKey, "one", std::nullopt, 5}, {other, "two", std::nullopt, 5}};
  const std::string both = RunCommand({"explain", kKey.substr(0, 8)}).output;
  CHECK(Has(both, "several of yours"));
  CHECK_FALSE(Has(both, "of the namespace"));
  CHECK(Has(RunCommand({"explain", other}).output, "of the namespace two"));
}

TEST_CASE("explain sends the first digits of a key to the daemon") {
  const FreshLibrary fresh;
  CHECK(RunCommand({"explain", "00ff00ff"}).exit_code == 0);
  CHECK(Library().arguments == std::vector<std::string>{"key=00ff00ff"});
}

TEST_CASE("explain refuses a wrong key before it asks the daemon") {
  const FreshLibrary fresh;
  CHECK(Has(RunCommand({"explain", "00ff"}).errors, "\"00ff\" has 4 of a key's 64 digits"));
  CHECK(Has(RunCommand({"explain", "k.cu"}).errors, "\"k.cu\" is no key"));
  const Said none = RunCommand({"explain"});
  CHECK(none.exit_code == 2);
  CHECK(Has(none.errors, "explain -- build kernel.cu --arch sm_90"));
  CHECK(Library().called.empty());
}

TEST_CASE("explain prints the daemon's error") {
  const FreshLibrary fresh;
  Library().failures = {{"explain", CCCL_CACHE_UNAVAILABLE}};
  CHECK(RunCommand({"explain", kKey}).exit_code == 5);
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"explain", kKey}).exit_code == 3);
}

namespace {

/// Returns the command's output for `answer`.
Said Told(const Explanation& answer, const CommonOptions& common = {}) {
  return Listen([&] { return Report(answer, common); });
}

}  // namespace

TEST_CASE("each verdict has its own sentence, even an unknown one of a newer daemon") {
  std::set<std::string> sentences;
  const std::vector<std::string> verdicts = {"hit",      "never-seen",   "differs",     "evicted",
                                             "corrupt",  "shadow-check", "uncacheable", "failed",
                                             "not-kept", "deposit",      "unknown-key"};
  for (const std::string& verdict : verdicts) sentences.insert(Told({.verdict = verdict}).output);
  CHECK(sentences.size() == verdicts.size());
  CHECK(Has(Told({.verdict = "unknown"}).output, "update cccl-cache-cli"));
}

TEST_CASE("differences are lines; digests are shortened, and a missing value is shown as none") {
  Explanation answer{.verdict = "differs"};
  answer.differences = {
      {"source", "k.cu", std::string(64, 'd'), std::string(64, 'e'), 1, 2},
      {"option", "", "-G", ""},
      {"header", "a.h", std::string(64, 'x'), "absent"},
  };
  answer.more_differences = 3;
  const std::string text = Told(answer).output;
  CHECK(Has(text,
            " k.cu: was sha256 dddddddddddddddd... (1 line), is sha256 eeeeeeeeeeeeeeee... "
            "(2 lines)\n"));
  CHECK(Has(text, ": was -G, is none\n"));
  CHECK(Has(text, ": was " + std::string(64, 'x') + ", is absent\n"));  // no digest
  CHECK(Has(text, "  and 3 more\n"));
  CHECK(Has(Told(answer, {.json = true}).output, "\"more_differences\": 3"));
}

TEST_CASE("an explanation can't change how the terminal shows other lines") {
  Explanation answer{.verdict = "failed", .reason = "\x1b[2J"};
  answer.differences = {{"option", "\n", "\x1b[1m", ""}};
  answer.tiers = {{"remote", "not-connected", "\x1b[3m"}};
  const std::string text = Told(answer).output;
  CHECK_FALSE(Has(text, "\x1b"));
  CHECK(std::ranges::count(text, '\n') == 3);
}

TEST_CASE("an added or removed directory is reported by its name") {
  Explanation answer{.verdict = "differs"};
  answer.differences = {{"directory", "empty/", "", "empty/"},
                        {"directory", "old/", "old/", ""},
                        {"directory", "number 1", "a/", "b/"}};
  const std::string text = Told(answer).output;
  CHECK(Has(text, " empty/: not there before\n"));
  CHECK(Has(text, " old/: not there any more\n"));
  CHECK(Has(text, " number 1: was a/, is b/\n"));
}

TEST_CASE("an earlier miss is explained in the past tense with the time") {
  Explanation answer{.verdict = "differs"};
  const auto [verdict, would_be, was] = GENERATE(table<const char*, const char*, const char*>(
      {{"never-seen", "remembers no earlier build of yours with this name, source or input",
        "remembered no earlier build of yours with this name, source or input"},
       {"differs", "a miss: it differs", ": it differed from every"}}));
  answer.verdict = verdict;
  CHECK(Has(Told(answer).output, would_be));
  answer.since_ms = 86400000;
  const std::string text = Told(answer).output;
  CHECK(Has(text, "a miss when it was compiled at 1970-01-0"));
  CHECK(Has(text, was));
}

TEST_CASE("the tier is named only once") {
  Explanation answer{.verdict = "differs"};
  answer.tier = "disk";
  CHECK(Has(Told(answer).output, "now in the tier disk\n"));
  answer.verdict = "hit";
  CHECK(Told(answer).output == "a hit: the artifact lies in the tier disk\n");
}

TEST_CASE("an entry that was dropped and restored is reported as a hit first") {
  Explanation answer{.verdict = "differs"};
  answer.verdict = "evicted";
  CHECK(Told(answer).output.starts_with("evicted: "));
  answer.tier = "memory";
  const std::string text = Told(answer).output;
  CHECK(text.starts_with("a hit now: the artifact lies in the tier memory"));
  CHECK(Has(text, "evicted: "));
  CHECK(!Has(text, "now in the tier"));
}

TEST_CASE("the asked tiers are listed in one line, with their findings") {
  Explanation answer{.verdict = "differs"};
  CHECK_FALSE(Has(Told(answer).output, "asked"));
  answer.tiers = {
      {"memory", "no-entry"}, {"disk", "has-it"}, {"remote", "not-connected", "it \033[2Jrefused"}};
  CHECK(Has(Told(answer).output,
            "\nasked: memory (no entry), disk (has it), remote (not connected: it ?[2Jrefused)\n"));
  CHECK(Has(Told(answer, {.json = true}).output, "\"finding\": \"not-connected\""));
}

TEST_CASE("the most similar build is named if there is one") {
  Explanation answer{.verdict = "differs"};
  CHECK_FALSE(Has(Told(answer).output, "nearest: "));
  answer.nearest = {"0123", "built", 1'000'000'000'123};
  CHECK(Has(Told(answer).output, "nearest: 0123, built at "));
}

TEST_CASE("times in JSON are UTC with milliseconds, and a missing time is empty") {
  Explanation answer{.verdict = "differs"};
  answer.nearest = {"0123", "built", 1'000'000'000'123};
  const std::string none = Told(answer, {.json = true}).output;
  CHECK(Has(none, "\"since\": \"\""));
  CHECK(Has(none, "\"time\": \"2001-09-09T01:46:40.123Z\""));
  answer.since_ms = 7;
  CHECK(Has(Told(answer, {.json = true}).output, "\"since\": \"1970-01-01T00:00:00.007Z\""));
}

TEST_CASE("a reason appears once: in the sentence, or on a separate line") {
  Explanation answer{.verdict = "differs"};
  answer.reason = "compared with nothing";
  answer.verdict = "hit";
  CHECK(Has(Told(answer).output, "\ncompared with nothing\n"));
  answer.verdict = "failed";
  const std::string text = Told(answer).output;
  CHECK(text.find("compared with nothing") == text.rfind("compared with nothing"));
}

}  // namespace explain_command_test
