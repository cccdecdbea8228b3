/** Longer lines are passed in several pieces, in characters: that of a progress bar may never end. */
const MAX_LINE = 8192;

/** Calls back with each line of a stream, in order, and at its end with the incomplete last line. */
export function passLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (; rest.length > MAX_LINE; rest = rest.slice(MAX_LINE)) lines.push(rest.slice(0, MAX_LINE));
    for (const line of lines) onLine(line);
  });
  stream.on("end", () => {
    if (rest !== "") onLine(rest);
  });
}
