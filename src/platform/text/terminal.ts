/**
 * Control characters but tab and line break: a terminal takes them as commands, and clients choose parts of many texts.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are looked for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** A text that is safe to print at a terminal: control and direction characters are written as `\u001b`. */
export function printable(text: string): string {
  return text.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const GAP = "  ";

/** Rows of cells as lines, each column as wide as its longest cell. */
export function toColumns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/**
 * A text as one word of a shell's command line, in quotes if it has other characters than those of names and paths.
 */
export function shellWord(text: string): string {
  return /^[\w./=:,@+-]+$/.test(text) ? text : shellQuoted(text);
}

/** A text in the single quotes of a POSIX shell, whatever is in it. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
