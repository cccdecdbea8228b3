/** Lines of a table: the first column flush left, the others flush right. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? "")].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0, column === 0))
      .join("  ")
      .trimEnd(),
  );
}

function pad(text: string, width: number, isFirst: boolean): string {
  const space = " ".repeat(Math.max(0, width - [...text].length));
  return isFirst ? text + space : space + text;
}
