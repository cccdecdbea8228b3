import { progressBar } from "../../platform/text/size-text.ts";

/** Reports the progress of a long command. */
export interface Reporter {
  /** A step has begun; one line. */
  step(text: string): void;
  /** Reports the progress of the step; called often. The total is undefined if it is not known. */
  progress(doneBytes: number, totalBytes: number | undefined): void;
  /** No more progress comes of this step. */
  done(): void;
}

/** Redrawing at every chunk would cost more than the download. */
const REDRAW_MS = 100;

/** The parts of a stream that a reporter needs. */
export type ReportStream = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;

/** A progress bar on a terminal, a line for each step otherwise. */
export function createReporter(stream: ReportStream): Reporter {
  return stream.isTTY ? createBar(stream) : createLines(stream);
}

function createLines(stream: ReportStream): Reporter {
  return { step: (text) => stream.write(`${text}\n`), progress: () => {}, done: () => {} };
}

function createBar(stream: ReportStream): Reporter {
  let drawnAt = 0;
  let hasBar = false;
  const clear = () => {
    if (hasBar) stream.write("\r\x1b[2K");
    hasBar = false;
  };
  return {
    step: (text) => {
      clear();
      stream.write(`${text}\n`);
    },
    progress: (doneBytes, totalBytes) => {
      const now = performance.now();
      if (hasBar && now - drawnAt < REDRAW_MS) return;
      drawnAt = now;
      hasBar = true;
      stream.write(`\r${progressBar(doneBytes, totalBytes).slice(0, (stream.columns || 80) - 1)}\x1b[K`);
    },
    done: clear,
  };
}
