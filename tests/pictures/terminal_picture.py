# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of a terminal as SVG. Its text can be selected, and is drawn in a font of the reader's machine."""

import itertools
from xml.sax.saxutils import escape

COLUMN, ROW, MARGIN, SIZE = 7.8, 17, 12, 13  # pixels
BACKGROUND, FOREGROUND = "#1b1d23", "#d8dbe2"
COLOURS = {"default": FOREGROUND, "red": "#f47067", "green": "#6bc46d", "cyan": "#56b6c2", "brown": "#daaa3f"}  # brown: pyte's word for yellow


def colours(character):
    """Returns the colours of the text and of its background, and whether it is bold."""
    text, behind = COLOURS[character.fg], BACKGROUND
    return (behind, text, character.bold) if character.reverse else (text, behind, character.bold)


def row_of(screen, number):
    """Returns (first column, last column + 1, text, colours) of each run of equal style, without blanks at the end."""
    row = [screen.buffer[number][column] for column in range(screen.columns)]
    while row and row[-1].data == " " and not row[-1].reverse:
        row.pop()
    column = 0
    for look, run in itertools.groupby(row, colours):
        text = [character.data for character in run]
        yield column, column + len(text), "".join(text), look
        column += len(text)


def picture(screen, title):
    """Returns a picture of a pyte screen, without the empty lines at its end."""
    rows = [list(row_of(screen, number)) for number in range(screen.lines)]
    while not rows[-1]:
        rows.pop()
    width, height = round(screen.columns * COLUMN) + 2 * MARGIN, len(rows) * ROW + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}">',
        f"<title>{escape(title)}</title>", f'<rect width="{width}" height="{height}" rx="6" fill="{BACKGROUND}"/>']
    for number, runs in enumerate(rows):
        top = MARGIN + number * ROW
        for first, end, text, (colour, behind, bold) in runs:
            left, length = MARGIN + first * COLUMN, (end - first) * COLUMN
            if behind != BACKGROUND:
                lines.append(f'<rect x="{left:.1f}" y="{top}" width="{length:.1f}" height="{ROW}" fill="{behind}"/>')
            # textLength keeps columns aligned in any font.
            lines.append(f'<text x="{left:.1f}" y="{top + SIZE}" textLength="{length:.1f}" xml:space="preserve" fill="{colour}"'
                         + (' font-weight="bold"' if bold else "") + f">{escape(text)}</text>")
    return "\n".join([*lines, "</svg>", ""])
