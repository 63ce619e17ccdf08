// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/help/completion.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "cli/terminal/command_tree.h"

namespace cccl_cache::cli {
namespace {

using Strings = std::vector<std::string>;

/// Puts a backslash before each of the `special` characters.
std::string Escaped(const std::string& text, std::string_view special) {
  std::string escaped;
  for (const char each : text) {
    if (special.find(each) != std::string_view::npos) escaped += '\\';
    escaped += each;
  }
  return escaped;
}

std::string FishQuoted(const std::string& text) { return "'" + Escaped(text, "\\'") + "'"; }

/// Returns a shell command that asks the daemon for the possible values of the option, and prints
/// one per line. It takes at most 1 s and works in all three shells. Returns "" for options that
/// the daemon has no values for.
std::string AskingFor(const CLI::Option& option) {
  const std::string toolchains = "timeout 1 cccl-cache-cli toolchains 2>/dev/null | ";
  if (option.check_lname("arch")) {
    return toolchains + R"(sed -n "s/^ *--arch //p" | tr -s ", " "\n" | sort -u)";
  }
  if (option.check_lname("toolchain")) {
    return toolchains + R"(sed -n "s/^[* ] \([0-9.]*\) .*/\1/p" | sort -u)";
  }
  return "";
}

/// Returns the names of the option that are completed: the long names, or the short ones if there
/// are no long ones.
Strings CompletedNames(const CLI::Option& option) {
  Strings names = NamesOf(option);
  if (!option.get_lnames().empty()) {
    names.erase(names.begin(), names.begin() + static_cast<long>(option.get_snames().size()));
  }
  return names;
}

/// Returns a shell pattern such as `*:--socket` for each name of an option that takes a value.
Strings PatternsOfValues(const CLI::App& app) {
  std::set<std::string> patterns;
  for (const CLI::App* command : WholeTree(app)) {
    for (const CLI::Option* option : OptionsOf(*command)) {
      if (!TakesValue(*option)) continue;
      for (const std::string& name : NamesOf(*option)) patterns.insert("*:" + name);
    }
  }
  return {patterns.begin(), patterns.end()};
}

/// Returns a quoted pattern such as `snapshot:create` for each command and subcommand: the path of
/// the parent, and the name.
Strings PatternsOfCommands(const CLI::App& app) {
  Strings patterns;
  for (const CLI::App* parent : WholeTree(app)) {
    for (const CLI::App* command : CommandsOf(*parent)) {
      if (command->get_name() == "help") continue;
      patterns.push_back(ShellQuoted(PathOf(*parent) + ":" + command->get_name()));
    }
  }
  return patterns;
}

/// Returns the words that may follow the command: its subcommands, or the choices of its argument.
Strings WordsOf(const CLI::App& command) {
  Strings words;
  for (const CLI::App* each : CommandsOf(command)) words.push_back(each->get_name());
  for (const CLI::Option* argument : ArgumentsOf(command)) {
    const Strings choices = ChoicesOf(*argument);
    words.insert(words.end(), choices.begin(), choices.end());
  }
  return words;
}

bool TakesFile(const CLI::App& command) {
  const std::vector<const CLI::Option*> arguments = ArgumentsOf(command);
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const CLI::Option* argument) { return ChoicesOf(*argument).empty(); });
}

/// Returns the branch of bash's `case` statement that sets the words and options of one command.
std::string BashWords(const CLI::App& command) {
  Strings names;
  for (const CLI::Option* option : OptionsOf(command)) {
    const Strings of_this = CompletedNames(*option);
    names.insert(names.end(), of_this.begin(), of_this.end());
  }
  return "    " + ShellQuoted(PathOf(command)) +
         ")\n      words=" + ShellQuoted(Joined(WordsOf(command), " ")) +
         " options=" + ShellQuoted(Joined(names, " ")) + (TakesFile(command) ? " files=1" : "") +
         "\n      ;;\n";
}

std::string BashChoices(const CLI::App& command) {
  std::string arms;
  for (const CLI::Option* option : OptionsOf(command)) {
    const Strings choices = ChoicesOf(*option);
    const std::string asking = AskingFor(*option);
    if (choices.empty() && asking.empty()) continue;
    Strings patterns;
    for (const std::string& name : NamesOf(*option)) {
      patterns.push_back(ShellQuoted(PathOf(command) + ":" + name));
    }
    arms += "    " + Joined(patterns, " | ") + ") words=" +
            (asking.empty() ? ShellQuoted(Joined(choices, " ")) : "$(" + asking + ")") + " ;;\n";
  }
  return arms;
}

bool IsRepeated(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

std::string ZshFunction(const CLI::App& command) {
  std::string name = "_" + FullName(command);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

/// Returns the part of an `_arguments` specification that completes an option's value or an
/// argument.
std::string ZshValue(const CLI::Option& option) {
  if (const std::string asking = AskingFor(option); !asking.empty()) {
    return ":value:{compadd -- $(" + asking + ")}";
  }
  const Strings choices = ChoicesOf(option);
  return ":value:" + (choices.empty() ? "_files" : "(" + Joined(choices, " ") + ")");
}

Strings ZshOptions(const CLI::App& command) {
  Strings specs;
  for (const CLI::Option* option : OptionsOf(command)) {
    const std::string others = "(" + Joined(NamesOf(*option), " ") + ")";
    for (const std::string& name : NamesOf(*option)) {
      std::string spec = (IsRepeated(*option) ? "*" : others) + name;
      if (TakesValue(*option)) spec += name.starts_with("--") ? "=" : "+";
      spec += "[" + Escaped(option->get_description(), "[]:\\") + "]";
      specs.push_back(ShellQuoted(spec + (TakesValue(*option) ? ZshValue(*option) : "")));
    }
  }
  return specs;
}

/// Returns zsh code for a command line with `--`: it runs the code `words`, which removes the words
/// up to `--`, and completes the rest with `function`.
std::string ZshBehindMark(const std::string& words, const std::string& function) {
  return "  local mark=$words[(i)--]\n  if ((mark < CURRENT)); then\n    ((CURRENT -= mark))\n   "
         " " +
         words + "\n    " + function + "\n    return\n  fi\n";
}

/// Returns the body of a function that completes one command; $words[1] is the command's name.
std::string ZshBody(const CLI::App& app, const CLI::App& command) {
  const std::string& name = command.get_name();
  if (name == "help") return "  words[1]=cccl-cache-cli\n  " + ZshFunction(app) + "\n";
  Strings specs = ZshOptions(command);
  std::string commands;
  std::string calls;
  for (const CLI::App* each : CommandsOf(command)) {
    const std::string line = each->get_name() + ":" + Escaped(each->get_description(), ":\\");
    commands += "    " + ShellQuoted(line) + "\n";
    calls += "        " + each->get_name() + ") " + ZshFunction(*each) + " ;;\n";
  }
  std::string body = "  local curcontext=$curcontext state line\n";
  if (name == "run") {
    body += ZshBehindMark("shift $mark words", "_normal");
    specs.insert(specs.end(), {"'(-)1:program:_command_names -e'", "'*::argument:_normal'"});
  } else if (!calls.empty()) {
    specs.insert(specs.end(), {"'(-)1: :->command'", "'(-)*:: :->below'"});
  } else {
    for (const CLI::Option* argument : ArgumentsOf(command)) {
      specs.push_back(ShellQuoted((IsRepeated(*argument) ? "*" : "") + ZshValue(*argument)));
    }
  }
  if (name == "explain") {
    body += ZshBehindMark("((++CURRENT)); words[1,mark]=(cccl-cache-cli)", ZshFunction(app));
  }
  body += "  _arguments -C \\\n    " + Joined(specs, " \\\n    ") + " && return\n";
  if (calls.empty()) return body;
  return body + "  local -a commands=(\n" + commands +
         "  )\n  case $state in\n    command) _describe command commands ;;\n    below)\n"
         "      case $words[1] in\n" +
         calls + "      esac\n      ;;\n  esac\n";
}

/// Returns the calls of fish's `complete` for one command.
std::string FishLines(const CLI::App& command) {
  const std::string every = "complete -c cccl-cache-cli";
  const std::string at = every + " -n " + FishQuoted("__cccl_cache_cli_at " + PathOf(command));
  std::string lines = TakesFile(command) ? "" : at + " -f\n";
  if (command.get_name() == "run") {
    // The list begins with a word with a single dash (-o): __fish_complete_subcommand takes all
    // words before such a word as its own options.
    std::string values = "-o";
    for (const CLI::Option* option : OptionsOf(command)) {
      if (TakesValue(*option)) values += " " + Joined(NamesOf(*option), " ");
    }
    lines = at + " -x -a '(__fish_complete_subcommand --fcs-skip=2 " + values + ")'\n";
  }
  for (const CLI::App* each : CommandsOf(command)) {
    lines += at + " -a " + each->get_name() + " -d " + FishQuoted(each->get_description()) + "\n";
  }
  for (const CLI::Option* argument : ArgumentsOf(command)) {
    const Strings choices = ChoicesOf(*argument);
    if (!choices.empty()) lines += at + " -a " + FishQuoted(Joined(choices, " ")) + "\n";
  }
  // Options of the program itself may follow each command, so they are completed everywhere.
  const bool program = command.get_parent() == nullptr;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional()) continue;
    lines += program ? every : at;
    for (const std::string& name : option->get_snames()) lines += " -s " + name;
    for (const std::string& name : option->get_lnames()) lines += " -l " + name;
    const Strings choices = ChoicesOf(*option);
    if (const std::string asking = AskingFor(*option); !asking.empty()) {
      lines += " -x -a " + FishQuoted("(" + asking + ")");
    } else if (!choices.empty()) {
      lines += " -x -a " + FishQuoted(Joined(choices, " "));
    } else if (TakesValue(*option)) {
      lines += " -r -F";
    }
    lines += " -d " + FishQuoted(option->get_description()) + "\n";
  }
  return lines;
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  std::string words;
  std::string choices;
  for (const CLI::App* command : WholeTree(app)) {
    words += BashWords(*command);
    choices += BashChoices(*command);
  }
  const std::string values = Joined(PatternsOfValues(app), " | ");
  return R"(# Completes the command line of cccl-cache-cli in bash.
_cccl_cache_cli() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local command= help= program= words= options= files= i
  COMPREPLY=()
  # --emit=ptx is three words here.
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD && !program; ++i)); do
    case $command:${COMP_WORDS[i]} in
      )" +
         values + R"()
        [[ ${COMP_WORDS[i+1]} != = ]] || ((++i))
        ((++i))
        ;;
      run:--) program=$((i + 1)) ;;
      run:-* | run:=) ;;
      run:*) program=$i ;;
      explain:--) command= ;;
      :help) help=1 ;;
      )" +
         Joined(PatternsOfCommands(app), " | ") +
         R"()
        command+=${command:+ }${COMP_WORDS[i]}
        ;;
    esac
  done
  # Behind an option whose value the cursor is in, i is larger.
  if [[ $command == run && ! $program && $word != -* ]] && ((i == COMP_CWORD)); then program=$i; fi
  if [[ $program ]]; then
    if declare -F _command_offset >/dev/null; then
      _command_offset "$program"
    elif ((program == COMP_CWORD)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$word")
    fi
    return
  fi
  case $command in
)" + words +
         R"(  esac
  if [[ $help ]]; then options= files=; fi
  case $command:$before in
)" + choices +
         "    " + values + R"() return ;;
    *) if [[ $word == -* || (! $words && ! $files) ]]; then words=$options; fi ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
# Where nothing is found, readline completes file names.
complete -o bashdefault -o default -F _cccl_cache_cli cccl-cache-cli
)";
}

std::string ZshCompletion(const CLI::App& app) {
  std::string script =
      "#compdef cccl-cache-cli\n# Completes the command line of cccl-cache-cli in zsh.\n";
  for (const CLI::App* command : WholeTree(app)) {
    script += "\n" + ZshFunction(*command) + "() {\n" + ZshBody(app, *command) + "}\n";
  }
  // The script works as a file that compinit finds, and also if it is read by `source`.
  return script + "\nif [[ $funcstack[1] == " + ZshFunction(app) + " ]]; then\n  " +
         ZshFunction(app) + " \"$@\"\nelse\n  compdef " + ZshFunction(app) +
         " cccl-cache-cli\nfi\n";
}

std::string FishCompletion(const CLI::App& app) {
  Strings values = PatternsOfValues(app);
  for (std::string& each : values) each = FishQuoted(each);
  std::string script = R"(# Completes the command line of cccl-cache-cli in fish.
function __cccl_cache_cli_at --description 'Whether the words so far reach this command'
    set -l at
    set -l value
    for word in (commandline -opc)[2..]
        if test -n "$value"
            set value
            continue
        end
        switch "$at:$word"
            case )" + Joined(values, " ") +
                       R"(
                set value 1
            case 'run:--'
                break
            case 'run:-*'
            case 'run:*'
                break
            case 'explain:--'
                set at
            case )" + Joined(PatternsOfCommands(app), " ") +
                       R"(
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv"
end
)";
  for (const CLI::App* command : WholeTree(app)) script += FishLines(*command);
  return script;
}

}  // namespace cccl_cache::cli
