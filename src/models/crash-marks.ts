import { createHash } from "node:crypto";
import { cellOf, type MarkedModel, type RunMarks } from "../platform/processes/run-marks.ts";
import type { ModelToLoad } from "./model-to-load.ts";
import type { MarkPlace } from "./run-mark.ts";

/** The rows of the models that this process has loaded. */
class CrashMarks {
  readonly #marks: RunMarks;
  /** Models that were running when an earlier process of this server died. */
  readonly #died: ReadonlyMap<string, MarkedModel>;
  readonly #free: number[] = [];
  #next = 1;
  /** Rows of models that died stay theirs. */
  readonly #kept: ReadonlySet<number>;

  constructor(marks: RunMarks) {
    const died = marks.died();
    this.#marks = marks;
    this.#died = new Map([...died.values()].map((model) => [model.key, model]));
    this.#kept = new Set(died.keys());
  }

  deathsOf(key: string): number {
    return this.#died.get(key)?.deaths ?? 0;
  }

  take(model: MarkedModel): number | undefined {
    const row = this.#free.pop() ?? this.#nextRow();
    return this.#marks.take(row, model) ? row : undefined;
  }

  give(row: number): void {
    this.#free.push(row);
  }

  placeOf(row: number): MarkPlace {
    return { fd: this.#marks.fd, cell: cellOf(row) };
  }

  #nextRow(): number {
    while (this.#kept.has(this.#next)) this.#next++;
    return this.#next++;
  }
}

let used: CrashMarks | undefined;

/**
 * Marks the runs of all models that are loaded from now on, and isolates those that were running when the server died.
 */
export function useCrashMarks(marks: RunMarks): void {
  used = new CrashMarks(marks);
}

/** Number of times that the server's process died while a model ran; such a model gets its own process. */
export function deathsOf(model: ModelToLoad): number {
  return used?.deathsOf(keyOf(model)) ?? 0;
}

/** The key of a model, of which another version is another model. */
function keyOf({ found: { driver }, path, name = "" }: ModelToLoad): string {
  return createHash("sha1").update(`${driver.name}\0${path}\0${name}`).digest("hex");
}

/** A model's row, and the way to give it back; undefined if this process has no marks, or no more. */
export interface TakenMark {
  readonly place: MarkPlace;
  free(): void;
}

/** Takes a row for a model, which the threads of all its copies mark. */
export function takeMark(model: ModelToLoad): TakenMark | undefined {
  const marks = used;
  const row = marks?.take({ key: keyOf(model), name: model.name ?? model.path, deaths: 0 });
  if (marks === undefined || row === undefined) return undefined;
  return { place: marks.placeOf(row), free: () => marks.give(row) };
}
