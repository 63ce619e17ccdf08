// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/top/screen.h"

#include <curses.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace cccl_cache::cli::top {
namespace {

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  sigaddset(&signals, SIGQUIT);
  return signals;
}

Error NoTerminal(const std::string& why) {
  return {CCCL_CACHE_INVALID_REQUEST, why + "; top --once prints one screen as text"};
}

/// Returns the attributes of curses for a style. The numbers of colours are those of the pairs.
chtype Attributes(const Style& style, bool colour) {
  chtype attributes = A_NORMAL;
  if (style.bold) attributes |= A_BOLD;
  if (style.dim) attributes |= A_DIM;
  if (style.reverse) attributes |= A_REVERSE;
  if (colour && style.colour != Style::kDefault) attributes |= COLOR_PAIR(style.colour);
  return attributes;
}

}  // namespace

Expected<std::unique_ptr<Screen>> Screen::Open(bool colour) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    return NoTerminal("top needs a terminal");
  }
  const char* const name = std::getenv("TERM");
  if (name == nullptr || newterm(name, stdout, stdin) == nullptr) {
    return NoTerminal("terminfo has no description of the terminal \"" +
                      std::string(name == nullptr ? "" : name) +
                      "\" (TERM): install it (Debian: ncurses-term) or set TERM=xterm");
  }
  // Signals are read from a descriptor. With a handler, a signal between a check and the following
  // wait would be lost.
  const sigset_t signals = EndSignals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::unique_ptr<Screen> screen(
      new Screen(FileDescriptor(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK))));
  if (!screen->signals_.valid() || tigetstr("cup") == nullptr) {
    return NoTerminal("the terminal \"" + std::string(name) + "\" (TERM) can't place its cursor");
  }
  cbreak();
  noecho();
  nodelay(stdscr, TRUE);
  keypad(stdscr, TRUE);
  set_escdelay(25);  // wait in milliseconds that tells the Escape key from an escape sequence
  curs_set(0);
  if (colour && has_colors()) {
    screen->colour_ = true;
    start_color();
    use_default_colors();
    for (short pair = 1; pair < COLORS && pair < 8; ++pair) init_pair(pair, pair, -1);
  }
  refresh();
  return screen;
}

Screen::~Screen() {
  endwin();
  // Discards pending signals before they are unblocked, because the program ends anyway.
  signalfd_siginfo come;
  while (read(signals_.get(), &come, sizeof(come)) > 0) continue;
  const sigset_t signals = EndSignals();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

Size Screen::size() const {
  return {static_cast<size_t>(std::max(getmaxy(stdscr), 0)),
          static_cast<size_t>(std::max(getmaxx(stdscr), 0))};
}

void Screen::Show(const std::vector<Line>& lines) {
  const auto [rows, columns] = size();
  for (size_t i = 0; i < rows && columns > 0; ++i) {
    // Each line is a window of its own, because curses then cuts off wide characters correctly.
    WINDOW* const row = newwin(1, static_cast<int>(columns), static_cast<int>(i), 0);
    if (row == nullptr) return;
    if (i < lines.size()) {
      const Line& line = lines[i];
      if (line.selected) wbkgdset(row, Attributes(StyleOf(Role::kSelected), colour_) | ' ');
      werase(row);
      for (const Span& span : line.spans) {
        wattrset(row, static_cast<int>(Attributes(StyleOf(span.role), colour_)));
        waddstr(row, span.text.c_str());
      }
    }
    wnoutrefresh(row);
    delwin(row);
  }
  doupdate();
}

int Screen::ReadKey(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    switch (const int key = getch()) {
      case ERR:
        break;
      case KEY_UP:
        return kUp;
      case KEY_DOWN:
        return kDown;
      case KEY_BACKSPACE:
      case '\b':
      case '\x7f':
        return kErase;
      case '\x1b':
        return kEscape;
      case KEY_RESIZE:
        return kResized;
      default:
        if (key < KEY_MIN) return key;
        continue;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return kTimeout;
    std::array<pollfd, 2> wait = {{{STDIN_FILENO, POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
    // A failed poll() was interrupted: the terminal was resized.
    if (poll(wait.data(), wait.size(), static_cast<int>(left.count())) < 0) continue;
    if (wait[1].revents != 0) return kEnd;
    if (wait[0].revents != 0) {
      const int key = getch();
      if (key == ERR) return kEnd;  // the terminal was closed
      ungetch(key);
    }
  }
}

}  // namespace cccl_cache::cli::top
