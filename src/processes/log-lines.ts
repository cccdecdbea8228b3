import type { Readable } from "node:stream";

/** Longer lines are cut into several, in characters. */
const MAX_LINE = 8192;

/** Calls back with each line of a text stream, including an incomplete last one. */
export function onLines(stream: Readable, listener: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop()!;
    while (rest.length > MAX_LINE) {
      lines.push(rest.slice(0, MAX_LINE));
      rest = rest.slice(MAX_LINE);
    }
    for (const line of lines) if (line !== "") listener(line);
  });
  stream.on("end", () => {
    if (rest !== "") listener(rest);
  });
}
