import { progressBar } from "../platform/text/size-text.ts";
import { printable } from "../platform/text/terminal.ts";
import type { DownloadState } from "../storage/download-file.ts";

/** A stream on which a line may change. */
type LineStream = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;

const CLEAR = "\r\u001b[K";

/** A line below everything else at a terminal, which changes in its place; nothing is shown elsewhere. */
export class LiveLine {
  readonly #stream: LineStream;
  #shown = "";

  constructor(stream: LineStream = process.stderr) {
    this.#stream = stream;
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true;
  }

  get columns(): number {
    // 0 if the terminal does not know.
    return this.#stream.columns || 80;
  }

  show(text: () => string): void {
    if (!this.isTTY) return;
    this.#shown = printable(text()).slice(0, this.columns - 1);
    this.#stream.write(CLEAR + this.#shown);
  }

  clear(): void {
    if (this.#shown !== "") this.#stream.write(CLEAR);
    this.#shown = "";
  }

  /** Writes whole lines to the stream, above this one. */
  write(text: string): boolean {
    return this.#stream.write(this.#shown === "" ? text : CLEAR + text + this.#shown);
  }
}

/** Tells people at a terminal what takes long, on one line of standard error that is gone afterwards. */
export async function withProgress<Result>(text: string, run: () => Promise<Result>): Promise<Result> {
  const line = new LiveLine();
  line.show(() => `${text} …`);
  try {
    return await run();
  } finally {
    line.clear();
  }
}

/** Shows the downloads under way on a line that changes; returns a function that takes their states. */
export function drawDownloads(line: LiveLine): (state: DownloadState) => void {
  const running = new Map<string, DownloadState>();
  return (state) => {
    if (state.isOver) running.delete(state.address);
    else running.set(state.address, state);
    if (running.size === 0) line.clear();
    else line.show(() => downloadsText([...running.values()]));
  };
}

/** One bar for all: `████░░░░  50 %  1.0 MB of 2.0 MB  s3://models/emotion.onnx`. */
function downloadsText(states: readonly DownloadState[]): string {
  const done = states.reduce((sum, { doneBytes }) => sum + doneBytes, 0);
  const total = states.reduce((sum, { totalBytes = Number.NaN }) => sum + totalBytes, 0);
  const what = states.length === 1 ? states[0]?.address : `${states.length} downloads`;
  return printable(`${progressBar(done, Number.isNaN(total) ? undefined : total)}  ${what}`);
}
