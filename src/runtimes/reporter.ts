/** Reports the progress of a long command. */
export interface Reporter {
  /** A step has begun; one line. */
  step(text: string): void;
  /** Reports the progress of the step; called often. The total is undefined where it is not known. */
  progress(doneBytes: number, totalBytes: number | undefined): void;
  /** No more progress comes of this step. */
  done(): void;
}

const BAR_COLUMNS = 30;
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
      stream.write(`\r${toBar(doneBytes, totalBytes).slice(0, (stream.columns || 80) - 1)}\x1b[K`);
    },
    done: clear,
  };
}

function toBar(doneBytes: number, totalBytes: number | undefined): string {
  if (totalBytes === undefined || totalBytes === 0) return `  ${megabytes(doneBytes)}`;
  const share = Math.min(1, doneBytes / totalBytes);
  const filled = Math.round(share * BAR_COLUMNS);
  const bar = "█".repeat(filled) + "░".repeat(BAR_COLUMNS - filled);
  return `  ${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${megabytes(doneBytes)} of ${megabytes(totalBytes)}`;
}

/** `12.3 MB`, in powers of ten, as usual for downloads. */
export function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} MB`;
}
