// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/help/man_page.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "cli/terminal/command_tree.h"

namespace cccl_cache::cli {
namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kExample = "Example: ";
constexpr std::string_view kExitCodes = "Exit codes: ";
constexpr std::string_view kEnvironment = "Environment: ";
constexpr std::string_view kFiles = "Files: ";

std::string Bold(std::string_view text) { return "\\fB" + TroffText(text) + "\\fR"; }
std::string Italic(std::string_view text) { return "\\fI" + TroffText(text) + "\\fR"; }

/// Splits a footer into lines. If a line ends with a comma, the next line is joined to it.
Lines LinesOf(const std::string& footer) {
  Lines lines;
  for (const std::string& line : CLI::detail::split(footer, '\n')) {
    if (!lines.empty() && lines.back().ends_with(',')) {
      lines.back() += " " + line;
    } else {
      lines.push_back(line);
    }
  }
  return lines;
}

/// Returns the lines of the command's footer that begin with `kind`, without this prefix.
Lines FooterLines(const CLI::App& command, std::string_view kind) {
  Lines lines;
  for (const std::string& line : LinesOf(command.get_footer())) {
    if (line.starts_with(kind)) lines.push_back(line.substr(kind.size()));
  }
  return lines;
}

/// Returns the exit code lines of the command, or of its nearest parent that has such lines.
Lines ExitCodeLines(const CLI::App& command) {
  const Lines lines = FooterLines(command, kExitCodes);
  const CLI::App* parent = command.get_parent();
  return lines.empty() && parent != nullptr ? ExitCodeLines(*parent) : lines;
}

/// Returns the variables of the command and of its parents.
Lines EnvironmentLines(const CLI::App& command) {
  Lines lines;
  if (command.get_parent() != nullptr) lines = EnvironmentLines(*command.get_parent());
  const Lines own = FooterLines(command, kEnvironment);
  lines.insert(lines.end(), own.begin(), own.end());
  return lines;
}

std::string Paragraphs(const std::string& text) {
  std::string paragraphs;
  for (const std::string& line : LinesOf(text)) {
    const bool elsewhere = line.starts_with(kExample) || line.starts_with(kExitCodes) ||
                           line.starts_with(kEnvironment) || line.starts_with(kFiles);
    if (!elsewhere && !line.empty()) paragraphs += ".PP\n" + TroffText(line) + "\n";
  }
  return paragraphs;
}

/// Returns the first line of the description, without the name and the full stop.
std::string Headline(const CLI::App& command) {
  const std::string description = command.get_description();
  std::string line = description.substr(0, description.find('\n'));
  const std::string name = command.get_name() + ": ";
  if (line.starts_with(name)) line.erase(0, name.size());
  if (line.ends_with('.')) line.pop_back();
  return line;
}

/// Returns the description as one paragraph that ends with a full stop.
std::string Description(const CLI::App& command) {
  const std::string text = TroffText(command.get_description());
  return text + (text.ends_with('.') ? "\n" : ".\n");
}

std::string PageName(const CLI::App& command) {
  std::string name = FullName(command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string Reference(const std::string& page, int section) {
  return Bold(page) + "(" + std::to_string(section) + ")";
}

std::string Tagged(const std::string& tag, const std::string& text) {
  return ".TP\n" + tag + "\n" + TroffText(text) + "\n";
}

std::string ArgumentTag(const CLI::Option& argument) {
  const std::string choices = Joined(ChoicesOf(argument), "|");
  return choices.empty() ? Italic(argument.get_name(true)) : Bold(choices);
}

std::string OptionTag(const CLI::Option& option) {
  std::string tag;
  for (const std::string& name : NamesOf(option)) tag += (tag.empty() ? "" : ", ") + Bold(name);
  if (!TakesValue(option)) return tag;
  const bool choices = !ChoicesOf(option).empty();
  return tag + " " + (choices ? Bold(option.get_type_name()) : Italic(option.get_type_name()));
}

std::string Synopsis(const CLI::App& command) {
  std::string line = Bold(FullName(command)) + " [" + Italic("OPTION") + "]...";
  for (const CLI::Option* argument : ArgumentsOf(command)) {
    const std::string name =
        ArgumentTag(*argument) + (argument->get_items_expected_max() > 1 ? "..." : "");
    line += argument->get_required() ? " " + name : " [" + name + "]";
  }
  const bool has_commands = !CommandsOf(command).empty();
  const bool needs_one = command.get_require_subcommand_min() > 0;
  if (has_commands) {
    const std::string name = Italic("COMMAND") + "...";
    line += needs_one ? " " + name : " [" + name + "]";
  }
  return line;
}

/// Returns the command's arguments and options. If there are several groups of options, each has a
/// heading.
std::string OptionList(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* argument : ArgumentsOf(command)) {
    text += Tagged(ArgumentTag(*argument), argument->get_description());
  }
  const std::vector<std::string> groups = command.get_groups();
  for (const std::string& group : groups) {
    if (groups.size() > 1) text += ".SS " + TroffText(group) + "\n";
    for (const CLI::Option* option : command.get_options()) {
      if (!option->nonpositional() || option->get_group() != group) continue;
      text += Tagged(OptionTag(*option), option->get_description());
    }
  }
  return text;
}

/// Returns the list of the program's commands, with references to the commands' own pages.
std::string ProgramCommands(const CLI::App& program, int section) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (const CLI::App* command : CommandsOf(program)) {
    const auto same = [&](const auto& group) { return group.first == command->get_group(); };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) group = groups.insert(group, {command->get_group(), ""});
    group->second += Tagged(Reference(PageName(*command), section), command->get_description());
  }
  std::string text;
  for (const auto& [heading, commands] : groups) {
    text += ".SS " + TroffText(heading) + "\n" + commands;
  }
  return text;
}

/// Returns the description of each subcommand. Subcommands are described on the command's page.
std::string CommandsBelow(const CLI::App& command) {
  std::string text;
  for (const CLI::App* each : CommandsOf(command)) {
    text += ".SS " + TroffText(each->get_name()) + "\n" + Synopsis(*each) + "\n";
    text += ".PP\n" + Description(*each) + OptionList(*each) + Paragraphs(each->get_footer());
  }
  return text;
}

std::string ExitStatus(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) {
    if (std::isdigit(static_cast<unsigned char>(line.front())) == 0) {
      text += Paragraphs(line);
      continue;
    }
    size_t begin = 0;
    while (begin < line.size()) {
      // An entry ends before a number that follows a comma.
      size_t end = line.find_first_of("0123456789", line.find(", ", begin));
      end = end == std::string::npos ? line.size() : end;
      std::string piece = line.substr(begin, end - begin);
      begin = end;
      while (piece.ends_with(' ') || piece.ends_with(',') || piece.ends_with('.')) piece.pop_back();
      const size_t space = piece.find(' ');
      text += Tagged(Bold(piece.substr(0, space)), piece.substr(space + 1));
    }
  }
  return text;
}

/// Returns a list of environment variables or files. The first word of each line is the name.
std::string TaggedList(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) {
    const size_t space = line.find(' ');
    text += Tagged(Bold(line.substr(0, space)), line.substr(space + 1));
  }
  return text;
}

std::string ExampleList(const CLI::App& command, bool and_below) {
  Lines lines;
  for (const CLI::App* each : WholeTree(command)) {
    if (each != &command && !and_below) continue;
    const Lines own = FooterLines(*each, kExample);
    lines.insert(lines.end(), own.begin(), own.end());
  }
  std::string text;
  for (const std::string& line : lines) text += ".PP\n.EX\n" + TroffText(line) + "\n.EE\n";
  return text;
}

std::string Part(const std::string& heading, const std::string& text) {
  if (text.empty()) return "";
  // The heading already begins a paragraph, so the text must not begin another one.
  constexpr std::string_view kParagraph = ".PP\n";
  return ".SH " + heading + "\n" +
         (text.starts_with(kParagraph) ? text.substr(kParagraph.size()) : text);
}

std::string PageOf(const CLI::App& command, int section, const std::string& version,
                   const std::string& see_also) {
  const bool program = command.get_parent() == nullptr;
  std::string title = PageName(command);
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char each) { return static_cast<char>(std::toupper(each)); });
  return ".TH \"" + TroffText(title) + "\" " + std::to_string(section) + " \"\" \"" +
         TroffText(version) + "\"\n.nh\n.ad l\n" +
         Part("NAME",
              TroffText(PageName(command)) + " \\- " + TroffText(Headline(command)) + "\n") +
         Part("SYNOPSIS", Synopsis(command) + "\n") +
         Part("DESCRIPTION", Description(command) + Paragraphs(command.get_footer())) +
         Part("COMMANDS", program ? ProgramCommands(command, section) : CommandsBelow(command)) +
         Part("OPTIONS", OptionList(command)) +
         Part("EXIT STATUS", ExitStatus(ExitCodeLines(command))) +
         Part("ENVIRONMENT", TaggedList(EnvironmentLines(command))) +
         Part("FILES", TaggedList(FooterLines(command, kFiles))) +
         Part("EXAMPLES", ExampleList(command, !program)) + Part("SEE ALSO", see_also + "\n");
}

}  // namespace

std::string TroffText(std::string_view text) {
  constexpr std::array<std::pair<char, const char*>, 8> kEscapes = {{{'\\', "\\e"},
                                                                     {'-', "\\-"},
                                                                     {'\'', "\\(aq"},
                                                                     {'"', "\\(dq"},
                                                                     {'`', "\\(ga"},
                                                                     {'^', "\\(ha"},
                                                                     {'~', "\\(ti"},
                                                                     {'\n', " "}}};
  std::string escaped;
  // If a line begins with one of these characters, troff would read it as a request.
  if (text.starts_with('.') || text.starts_with('\'')) escaped = "\\&";
  for (const char each : text) {
    const auto found =
        std::ranges::find(kEscapes, each, [](const auto& escape) { return escape.first; });
    escaped += found == kEscapes.end() ? std::string(1, each) : found->second;
  }
  return escaped;
}

std::vector<ManPage> ManPages(const CLI::App& program, int section, const std::string& version,
                              const std::string& see_also) {
  const std::string ending = "." + std::to_string(section);
  const size_t bracket = see_also.find('(');
  const std::string other = Bold(see_also.substr(0, bracket)) + see_also.substr(bracket);
  std::vector<ManPage> pages = {
      {PageName(program) + ending, PageOf(program, section, version, other)}};
  for (const CLI::App* command : CommandsOf(program)) {
    pages.push_back(
        {PageName(*command) + ending,
         PageOf(*command, section, version, Reference(PageName(program), section) + ", " + other)});
  }
  return pages;
}

}  // namespace cccl_cache::cli
