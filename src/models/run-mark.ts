import type { Logger } from "../observability/logger.ts";
import { MARKS_BYTES } from "../platform/processes/run-marks.ts";

/** The place where a thread marks the runs of a model: a descriptor of this process, and the number of a cell. */
export interface MarkPlace {
  readonly fd: number;
  readonly cell: number;
}

/** Marks of a model's runs. */
export interface RunMark {
  /** To be called before native code works for the model. */
  begin(): void;
  /** To be called after it. */
  end(): void;
}

/** Runs something that native code does for a model, with its mark if it has one. */
export async function whileMarked<Result>(
  mark: RunMark | undefined,
  run: () => Promise<Result> | Result,
): Promise<Result> {
  if (mark === undefined) return run();
  mark.begin();
  try {
    return await run();
  } finally {
    mark.end();
  }
}

let cells: Int32Array | undefined;

/** Opens a model's mark in the thread that runs it; undefined, with a line in the log, if that is not possible. */
export async function openMark({ fd, cell }: MarkPlace, log: Pick<Logger, "debug">): Promise<RunMark | undefined> {
  try {
    const { mapCells } = await import("../platform/native/mapped-file.ts");
    cells ??= mapCells(fd, MARKS_BYTES);
    const mapped = cells;
    return { begin: () => void Atomics.add(mapped, cell, 1), end: () => void Atomics.sub(mapped, cell, 1) };
  } catch (err) {
    log.debug("the runs of the model are not marked: if one ends the server, the model is not known by it", { err });
    return undefined;
  }
}
