const GAP = "  ";
const MIN_WIDTH = 24;

/** A space at which no line is broken. */
export const FIRM_SPACE = "\u00a0";

/**
 * Rows as a table for a terminal of so many columns, the first row the headings; cells of the column `wrapped` that are
 * too long go on in further lines.
 */
export function toWrappedTable(rows: readonly (readonly string[])[], wrapped: number, columns: number): string {
  const headings = rows[0] ?? [];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const others = widths.reduce((sum, width, column) => sum + (column === wrapped ? 0 : width + GAP.length), GAP.length);
  widths[wrapped] = Math.min(widths[wrapped] ?? 0, Math.max(MIN_WIDTH, columns - others - 1));
  return rows.flatMap((row) => toLines(row, wrapped, widths)).join("\n");
}

function toLines(row: readonly string[], wrapped: number, widths: readonly number[]): string[] {
  const [first = "", ...more] = wrap(row[wrapped] ?? "", widths[wrapped] ?? 0);
  const line = row.map((cell, column) => (column === wrapped ? first : cell).padEnd(widths[column] ?? 0));
  const indent = " ".repeat(widths.slice(0, wrapped).reduce((sum, width) => sum + width + GAP.length, 0));
  return [line.join(GAP), ...more.map((text) => indent + text)].map((text) =>
    `${GAP}${text.replaceAll(FIRM_SPACE, " ")}`.trimEnd(),
  );
}

/** Breaks between words; a word longer than the width stands alone. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
