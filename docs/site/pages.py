# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Prepares the site: pages.py PROJECT writes the pages of this repository and the settings of the generator to that folder.

The pages keep their places, so that links are the same in the repository and on the site. Their order is that of
docs/README.md, where each heading is a section. It is an error if a page is not named there, or if a link leads to no file;
the generator checks the anchors."""

import json
import pathlib
import posixpath
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = pathlib.Path(__file__).resolve().parent
SHOWN = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "docs", "examples")
CONTENTS = "docs/README.md"
# An entry of a table of contents, in a list or in a table with numbers: title and page.
ENTRY = re.compile(r"^(?:\* |\| \d+ \| )\[([^\]]+)\]\(([^)#]+\.md)\)", re.MULTILINE)
# Code, which has no links, and links without a scheme.
CODE_OR_LINK = re.compile(r"(?ms)^ *```.*?^ *```|`[^`]+`(?!\])|\[([^\]]+)\]\(([^)#:\s]+)((?:#[^)\s]*)?)\)")
# Lines that forges show as a part of a list, as a list or as a table, and the generator as text: a part after less than four
# blanks, and a list or table without an empty line before it.
MISPLACED = re.compile(
    r"(?m)^ {1,3}```|^\n {1,3}\S.*|^ {1,3}(?:[*-]|\d+\.) .*|^(?! |[*-] |\d+\. ).+\n(?:[*-]|1\.) .*|^(?![ |]).+\n\|.*")
BLOCK_OF_CODE = re.compile(r"(?ms)^( {4,}|)```.*?^\1```")


def linked(page, target):
    """Returns the path in the repository to which a link on a page leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def entries(contents, text):
    """Returns the entries of a table of contents. An entry that leads to another such table is a section."""
    found = []
    for title, target in ENTRY.findall(text):
        page = linked(contents, target)
        nested = [page, *entries(page, (ROOT / page).read_text())] if page.endswith("/README.md") else page
        found.append({title: nested})
    return found


def navigation():
    _, *sections = re.split("^## ", (ROOT / CONTENTS).read_text(), flags=re.MULTILINE)
    headed = [(section.split("\n", 1)[0], entries(CONTENTS, section)) for section in sections]
    return [{"cccl-cached": "README.md"}, {"All pages": CONTENTS}, *({title: pages} for title, pages in headed if pages)]


def on_site(page, text, files):
    """Returns the text of a page with links to what the site has: a link to a folder leads to its README, and a link to another
    source becomes its text."""
    def link(match):
        words, target, anchor = match.groups()
        if words is None:
            return match[0]
        path = linked(page, target)
        if not (ROOT / path).exists():
            sys.exit(f"{page}: a dead link: {target}")
        if path in files:
            return match[0]
        return f"[{words}]({target.rstrip('/')}/README.md{anchor})" if f"{path}/README.md" in files else words

    misplaced = MISPLACED.search(BLOCK_OF_CODE.sub("", text))
    if misplaced:
        sys.exit(f"{page}: a part of a list takes four blanks, and a list or table an empty line before it: {misplaced[0]}")
    return CODE_OR_LINK.sub(link, text)


def main():
    project = pathlib.Path(sys.argv[1])
    shown = [path for name in SHOWN for path in (sorted((ROOT / name).rglob("*")) if (ROOT / name).is_dir() else [ROOT / name])]
    files = {path.relative_to(ROOT).as_posix(): path for path in shown
             if path.is_file() and SITE not in path.parents and "__pycache__" not in path.parts}
    order = json.dumps(navigation())
    for name, path in files.items():
        copy = project / "pages" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copyfile(path, copy)
            continue
        if f'"{name}"' not in order:
            sys.exit(f"{name}: no table of contents names this page: add it to {CONTENTS}")
        # The first page has no headings for a list at its side.
        head = "---\nhide: [toc]\n---\n" if name == "README.md" else ""
        copy.write_text(head + on_site(name, path.read_text(), files))
    shutil.copyfile(SITE / "site.css", project / "pages/site.css")
    (project / "mkdocs.yml").write_text(f"{(SITE / 'mkdocs.yml').read_text()}nav: {order}\n")


main()
