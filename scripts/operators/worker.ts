import { isDeepStrictEqual } from "node:util";
import type { Model } from "../../src/drivers/driver.ts";
import { parseOptions } from "../../src/drivers/option-table.ts";
import { findDriver } from "../../src/drivers/registry.ts";
import { ServingError } from "../../src/errors.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import type { Tensors } from "../../src/tensor/tensor.ts";
import type { Subject } from "./subject.ts";

/** Values of an answer that are told. */
const SHOWN = 4;

/** A message of the process that tries about one trial. */
export interface TrialReport {
  readonly index: number;
  /** Absent before the trial. */
  readonly outcome?: string;
}

/** The rest of a subject: trials from `from` on. */
export interface Task {
  readonly subject: Subject;
  readonly from: number;
}

process.on("disconnect", () => process.exit());
process.on("message", (task: Task) => {
  tryAll(task).then(
    () => send({ done: true }),
    (reason) => send({ failed: String(reason?.message ?? reason) }),
  );
});

async function tryAll({ subject, from }: Task): Promise<void> {
  const { driver } = await findDriver(subject.driver);
  const loaded = await import("../../src/drivers/registry.ts").then(({ importDriver }) =>
    importDriver({ name: driver.name }),
  );
  const options = parseOptions(loaded.options, subject.options);
  const model = await loaded.load(subject.path, options as never, { log: createSilentLogger(), threads: 1 });
  if (model.predict === undefined) throw new Error(`the ${driver.name} driver answers in parts`);
  try {
    await tryEach(model as Model, subject, from);
  } finally {
    await model.close();
  }
}

/** Inputs that are known to be good, with what they gave at first. */
interface Proven {
  inputs: Tensors | undefined;
  answer: Tensors | string | undefined;
}

async function tryEach(model: Model, { good, trials }: Subject, from: number): Promise<void> {
  const proven: Proven = { inputs: good, answer: good && (await answerOf(model, good)) };
  if (typeof proven.answer === "string") proven.inputs = undefined;
  for (let index = from; index < trials.length; index++) {
    const { inputs } = trials[index]!;
    await send({ index });
    const answer = await answerOf(model, inputs);
    if (!(await isAsBefore(model, proven))) {
      await send({ index, outcome: "answers good inputs otherwise afterwards" });
      return;
    }
    const again = await answerOf(model, inputs);
    // Messages may name what came first.
    const isSame = (typeof answer === "string" && typeof again === "string") || isDeepStrictEqual(answer, again);
    if (proven.inputs === undefined && typeof answer !== "string") Object.assign(proven, { inputs, answer });
    await send({ index, outcome: isSame ? nameOf(answer) : "answers otherwise the second time" });
  }
}

/** Tried some times: sums of floats depend on where their memory begins. */
async function isAsBefore(model: Model, { inputs, answer }: Proven): Promise<boolean> {
  if (inputs === undefined) return true;
  for (let tries = 0; tries < 4; tries++) if (isDeepStrictEqual(await answerOf(model, inputs), answer)) return true;
  return false;
}

/** The outputs, or the error's code and message. */
async function answerOf(model: Model, inputs: Tensors): Promise<Tensors | string> {
  const { signal } = new AbortController();
  const [signature = ""] = Object.keys(model.signatures);
  try {
    return await model.predict(inputs, { signature, signal });
  } catch (reason) {
    return reason instanceof ServingError ? `${reason.code}: ${reason.message}` : `crude error: ${reason}`;
  }
}

function nameOf(answer: Tensors | string): string {
  if (typeof answer === "string") return answer;
  const shown = Object.entries(answer).map(([name, { dtype, shape, data }]) => {
    const first = dtype === "bytes" ? [] : Array.from(data.slice(0, SHOWN) as ArrayLike<number>, String);
    return `${name} ${dtype}[${shape}] ${first}`;
  });
  return `answered: ${shown.join("; ")}`;
}

function send(message: object): Promise<void> {
  return new Promise((resolve) => process.send!(message, () => resolve()));
}
