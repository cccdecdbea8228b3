/** Notes and their vectors, and those that are nearest to a question. */
import { readFile } from "node:fs/promises";
import { ServingError, type StageHandle, type Tensor, tensorOf } from "kserving";

/** A text, and the vector of its meaning, of length 1. */
export interface Note {
  readonly text: string;
  readonly vector: Float32Array;
}

/** The lines of a file, by the model of the first stage. */
export async function readNotes(file: string | undefined, driver: StageHandle | undefined): Promise<readonly Note[]> {
  if (file === undefined || driver === undefined)
    throw new ServingError("failed_precondition", "The hooks need -o notes=FILE, and a model of texts.");
  const texts = (await readFile(file, "utf8")).trim().split("\n");
  const { data, shape } = tensorOf(await driver.predict({ text: texts }), "embedding", "float32");
  const width = shape[1] ?? 0;
  return texts.map((text, row) => ({ text, vector: data.slice(row * width, (row + 1) * width) }));
}

interface Search {
  readonly question: Tensor;
  readonly driver: StageHandle;
  readonly count: number;
}

/** The notes that are nearest to a question, with the cosines of their vectors. */
export async function nearest(notes: readonly Note[], { question, driver, count }: Search) {
  const { data } = tensorOf(await driver.predict({ text: question }), "embedding", "float32");
  const scored = notes.map(({ text, vector }) => ({
    text,
    score: vector.reduce((sum, value, at) => sum + value * (data[at] ?? 0), 0),
  }));
  return scored.sort((one, other) => other.score - one.score).slice(0, count);
}
