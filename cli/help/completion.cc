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

/// Returns a command line that asks the daemon for the values of an option and prints one per line
/// within 1 s, in any shell; "" for other options.
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

/// Returns the names to complete: the long ones, or the short one if there is no long one.
Strings CompletedNames(const CLI::Option& option) {
  Strings names = NamesOf(option);
  if (!option.get_lnames().empty()) {
    names.erase(names.begin(), names.begin() + static_cast<long>(option.get_snames().size()));
  }
  return names;
}

/// Returns the patterns `*:--socket` of all options with a value.
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

/// Returns the patterns `snapshot:create` of all subcommands of commands.
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

/// Returns the subcommands, or the choices of the argument.
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

/// Returns the arm of bash's `case` for one command: its words and options.
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

/// Returns what `_arguments` completes after an option, or as an argument.
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

/// Returns zsh code that ends this command at `--`, and completes the command after it.
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

/// Returns the `complete` lines of fish for one command.
std::string FishLines(const CLI::App& command) {
  const std::string every = "complete -c cccl-cache-cli";
  const std::string at = every + " -n " + FishQuoted("__cccl_cache_cli_at " + PathOf(command));
  std::string lines = TakesFile(command) ? "" : at + " -f\n";
  if (command.get_name() == "run") {
    // The function takes words up to a single dash as its own options.
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
  // The program's options may follow any command.
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
  // Works both as a file that compinit finds and as one read by `source`.
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
