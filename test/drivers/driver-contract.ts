import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { serialize } from "node:v8";
import { afterAll, describe, expect, it } from "vitest";
import type { Driver, Model, PredictCall } from "../../src/drivers/driver.ts";
import { type OptionSpec, parseOptions, type RawOptions, takesOption } from "../../src/drivers/option-table.ts";
import { findDriver } from "../../src/drivers/registry.ts";
import { ServingError } from "../../src/errors.ts";
import { loadHostedModel } from "../../src/models/load-hosted-model.ts";
import type { ModelCall } from "../../src/models/model-handle.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { DTYPES } from "../../src/tensor/dtype.ts";
import { DEFAULT_SIGNATURE, type TensorSpec } from "../../src/tensor/signature/signature.ts";
import type { Tensors } from "../../src/tensor/tensor.ts";
import { copyTensors, expectTensors, overwriteTensors, type TensorRecord } from "./expect-tensors.ts";
import { missingRuntime } from "./missing-runtime.ts";
import { spoilingInputs } from "./spoiling-inputs.ts";

/** A driver, and a model on which it can be seen to keep what `Driver` promises. */
export interface DriverSubject {
  /** As `--driver` takes it: a name, or the path of a user's own driver. */
  readonly name: string;
  /** Imports what the driver needs from outside; when that fails the suite is skipped and says why. */
  readonly runtime?: () => Promise<unknown>;
  readonly modelPath: string;
  readonly options?: RawOptions;
  /** The first is used throughout; all of them together show that answers are not mixed up. */
  readonly samples: readonly [Sample, Sample, ...Sample[]];
  /** Inputs on which its runtime fails, in addition to variants of the first sample that it may refuse. */
  readonly failing?: readonly TensorRecord[];
  /** Largest distance of a number from the expected one. Default 0. */
  readonly tolerance?: number;
  /** Promises that this driver has no occasion to keep, and why. */
  readonly exempt?: readonly { readonly case: CaseName; readonly reason: string }[];
}

/** Inputs, and the outputs that they give. */
interface Sample {
  readonly inputs: TensorRecord;
  readonly expected: TensorRecord;
}

type Subject = DriverSubject & { readonly driver: Driver };
type CaseName = keyof typeof CASES;

/** Runs the contract for one driver and tells whether its runtime is there. Await it at the top of a test file. */
export async function describeDriver(options: DriverSubject): Promise<boolean> {
  const subject = { ...options, driver: (await findDriver(options.name)).driver };
  const { runtime = async () => {}, exempt = [] } = options;
  const missing = await missingRuntime(`The ${subject.driver.name} driver`, runtime);
  describe.skipIf(missing !== undefined)(`the ${subject.driver.name} driver keeps the contract of drivers: it`, () => {
    afterAll(async () => (await models.get(subject))?.close());
    for (const name of Object.keys(CASES) as CaseName[]) {
      if (!exempt.some((one) => one.case === name)) it(name, () => CASES[name](subject));
    }
  });
  return missing === undefined;
}

const CASES = {
  "is named after its file": async ({ name, driver }: Subject) => {
    const own = name.includes("/") ? [name] : [];
    const files = [...own, `src/drivers/${name}.ts`, `src/drivers/${name}/${name}.ts`].filter((file) =>
      existsSync(file),
    );
    expect(files.map((file) => basename(file, ".ts"))).toEqual([driver.name]);
  },
  "says what each option means": async ({ driver }: Subject) => {
    for (const [name, spec] of optionsOf(driver)) {
      expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
      expect(spec.help, name).toMatch(/^[A-Z].*\.$/);
    }
  },
  "has defaults that its own table accepts": async ({ driver }: Subject) => {
    const defaults = optionsOf(driver).flatMap(([name, spec]) =>
      "default" in spec && spec.default !== undefined ? [[name, String(spec.default)]] : [],
    );
    expect(parseOptions(driver.options, Object.fromEntries(defaults))).toEqual(parseOptions(driver.options, {}));
  },
  "refuses a wrong value for each option that has wrong values": async ({ driver }: Subject) => {
    for (const [name, spec] of optionsOf(driver)) {
      if (spec.type === "string" || spec.type === "prefix") continue;
      expect(() => parseOptions(driver.options, { [name]: "no such value" })).toThrow(
        expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(`"${name}"`) }),
      );
    }
  },
  "does not know an option outside its table": async ({ driver }: Subject) => {
    expect(takesOption(driver.options, "no_such_option")).toBe(false);
  },
  "recognises its own models and not every file": async ({ driver, modelPath }: Subject) => {
    expect(driver.detect?.(modelPath)).toBe(true);
    expect(driver.detect?.("notes.txt")).toBe(false);
  },
  "names the path when there is no model": async (subject: Subject) => {
    await expect(load({ ...subject, modelPath: "no/such/model" })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("no/such/model"),
    });
  },
  "describes its inputs and outputs": async (subject: Subject) => {
    await withModel(subject, async (model) => {
      const { inputs, outputs } = model.signatures[DEFAULT_SIGNATURE] ?? {};
      for (const sample of subject.samples) {
        expectDescribed(inputs, sample.inputs);
        expectDescribed(outputs, sample.expected);
      }
    });
  },
  "predicts the samples": async (subject: Subject) => {
    await withModel(subject, async (model) => {
      for (const sample of subject.samples) {
        expectTensors(await predict(model, sample.inputs), sample.expected, subject.tolerance);
      }
    });
  },
  "gives only the outputs that were asked for": async (subject: Subject) => {
    const [{ inputs, expected }] = subject.samples;
    await withModel(subject, async (model) => {
      for (const [name, tensor] of Object.entries(expected)) {
        expectTensors(await predict(model, inputs, { outputs: [name] }), { [name]: tensor }, subject.tolerance);
      }
    });
  },
  "does not change its inputs": async (subject: Subject) => {
    await withModel(subject, async (model) => {
      for (const { inputs } of subject.samples) {
        const given = copyTensors(inputs);
        await predictOn(model, given);
        expectTensors(given, inputs);
      }
    });
  },
  "keeps nothing of its inputs": async (subject: Subject) => {
    const [{ inputs, expected }] = subject.samples;
    await withModel(subject, async (model) => {
      const given = copyTensors(inputs);
      const outputs = await predictOn(model, given);
      overwriteTensors(given);
      expectTensors(outputs, expected, subject.tolerance);
    });
  },
  "gives outputs of their own to each predict": async (subject: Subject) => {
    const [{ inputs, expected }] = subject.samples;
    await withModel(subject, async (model) => {
      overwriteTensors(await predict(model, inputs));
      expectTensors(await predict(model, inputs), expected, subject.tolerance);
    });
  },
  "answers overlapping predicts as it answers them one by one": async (subject: Subject) => {
    await withModel(subject, async (model) => {
      const many = Array.from({ length: 8 }, () => subject.samples).flat();
      const answers = await Promise.all(many.map(({ inputs }) => predict(model, inputs)));
      for (const [index, { expected }] of many.entries()) {
        expectTensors(answers[index] as Tensors, expected, subject.tolerance);
      }
    });
  },
  "refuses a request that was cancelled before it began": async (subject: Subject) => {
    const [{ inputs }] = subject.samples;
    await withModel(subject, async (model) => {
      const codes = ["AbortError", "TimeoutError"].map((name) => {
        const signal = AbortSignal.abort(new DOMException("gone", name));
        return predict(model, inputs, { signal }).catch((reason) => reason.code);
      });
      expect(await Promise.all(codes)).toEqual(["cancelled", "deadline_exceeded"]);
    });
  },
  "answers as before after runs that failed, and beside them": async (subject: Subject) => {
    await withHostedModel(subject, async (ask) => {
      const before = await answersTo(subject, ask);
      for (const [what, inputs] of spoiling(subject)) {
        const failing = ask(inputs).catch(expectServingError(what));
        expect(await answersTo(subject, ask), `beside ${what}`).toEqual(before);
        await failing;
        expect(await answersTo(subject, ask), `after ${what}`).toEqual(before);
      }
    });
  },
  "answers as before after requests that were cancelled or too late": async (subject: Subject) => {
    await withHostedModel(subject, async (ask) => {
      const before = await answersTo(subject, ask);
      for (const [what, inputs] of [["a sample", subject.samples[0].inputs] as const, ...spoiling(subject)])
        for (const end of ENDINGS) {
          const controller = new AbortController();
          const ended = ask(inputs, { signal: controller.signal, limits: { deadline: Date.now() + 1 } }).catch(
            expectServingError(what),
          );
          await end(controller);
          expect(await answersTo(subject, ask), `beside ${what}`).toEqual(before);
          await ended;
        }
      expect(await answersTo(subject, ask)).toEqual(before);
    });
  },
  "gives hooks only data and functions, which can cross threads": async (subject: Subject) => {
    await withModel(subject, async ({ hookArgs = {} }) => {
      for (const [name, value] of Object.entries(hookArgs)) {
        const data = withoutFunctions(value);
        expect(structuredClone(data), name).toEqual(data);
      }
    });
  },
  "loads again after it was closed": async (subject: Subject) => {
    const [{ inputs, expected }] = subject.samples;
    for (let round = 0; round < 3; round++) {
      await withOwnModel(subject, async (model) => {
        expectTensors(await predict(model, inputs), expected, subject.tolerance);
      });
    }
  },
  "keeps two copies of a model apart": async (subject: Subject) => {
    const [mine, other] = subject.samples;
    await withOwnModel(subject, async (second) => {
      await withOwnModel(subject, async (first) => {
        const answers = await Promise.all([predict(second, mine.inputs), predict(first, other.inputs)]);
        expectTensors(answers[0], mine.expected, subject.tolerance);
        expectTensors(answers[1], other.expected, subject.tolerance);
      });
      expectTensors(await predict(second, mine.inputs), mine.expected, subject.tolerance);
    });
  },
  "leaves nothing open that would keep the process alive": async ({
    name,
    modelPath,
    options = {},
    samples,
  }: Subject) => {
    const program = fileURLToPath(new URL("run-once.ts", import.meta.url));
    const input = serialize({ name, modelPath, options, inputs: { ...samples[0].inputs } });
    const printed = execFileSync(process.execPath, ["--import", "tsx", program], { input, timeout: 50_000 });
    expect(printed.toString()).toBe("closed");
  },
};

/** Moments at which a request is cancelled. */
const ENDINGS: readonly ((controller: AbortController) => unknown)[] = [
  (controller) => controller.abort(),
  (controller) => setImmediate().then(() => controller.abort()),
  (controller) => setTimeout(1).then(() => controller.abort(new DOMException("too late", "TimeoutError"))),
];

function spoiling({ samples, failing = [] }: Subject): readonly (readonly [what: string, inputs: TensorRecord])[] {
  return [...failing.map((inputs) => ["what fails", inputs] as const), ...spoilingInputs(samples[0].inputs)];
}

type Ask = (inputs: TensorRecord, call?: Partial<ModelCall>) => Promise<Tensors>;

/** As requests reach it: with the checks, the queue and the errors of the model host. */
async function withHostedModel(subject: Subject, use: (ask: Ask) => Promise<unknown>): Promise<void> {
  const { driver, modelPath: path, options = {} } = subject;
  const handle = await loadHostedModel({ driver, path, options, threads: 1 }, createSilentLogger());
  const { signal } = new AbortController();
  const call = { signature: handle.defaultSignature, signal };
  try {
    await use((inputs, own) => handle.predict(copyTensors(inputs), { ...call, ...own }));
  } finally {
    await handle.close();
  }
}

function answersTo({ samples }: Subject, ask: Ask): Promise<Tensors[]> {
  return Promise.all(samples.map(({ inputs }) => ask(inputs)));
}

function expectServingError(what: string): (reason: unknown) => void {
  return (reason) => expect(reason, what).toBeInstanceOf(ServingError);
}

/** Loads the subject's model as the model host does. */
async function load({ driver, modelPath, options = {} }: Subject): Promise<Model> {
  const host = { log: createSilentLogger(), threads: 1 };
  const model = await driver.load(modelPath, parseOptions(driver.options, options), host);
  if (model.predict === undefined) throw new Error("It only answers in parts; see stream-contract.ts.");
  return model as Model;
}

const models = new Map<Subject, Promise<Model>>();

/** With the model that cases share which leave nothing in it, and see what others have left. */
async function withModel(subject: Subject, use: (model: Model) => Promise<unknown>): Promise<void> {
  const loading = models.get(subject) ?? load(subject);
  models.set(subject, loading);
  await use(await loading);
}

/** With a model that is closed then. */
async function withOwnModel(subject: Subject, use: (model: Model) => Promise<unknown>): Promise<void> {
  const model = await load(subject);
  try {
    await use(model);
  } finally {
    await model.close();
  }
}

/** Predicts on a copy of the sample's inputs, so that one case cannot spoil another. */
function predict(model: Model, inputs: TensorRecord, call: Partial<PredictCall> = {}): Promise<Tensors> {
  return predictOn(model, copyTensors(inputs), call);
}

function predictOn(model: Model, inputs: Tensors, call: Partial<PredictCall> = {}): Promise<Tensors> {
  const { signal } = new AbortController();
  return model.predict(inputs, { signature: DEFAULT_SIGNATURE, signal, ...call });
}

function optionsOf(driver: Driver): [string, OptionSpec][] {
  return Object.entries<OptionSpec>(driver.options);
}

function expectDescribed(specs: readonly TensorSpec[] | undefined, tensors: TensorRecord): void {
  if (specs === undefined) return;
  expect(specs.map(({ name }) => name).sort()).toEqual(Object.keys(tensors).sort());
  for (const { name, dtype, shape } of specs) {
    expect(DTYPES).toContain(dtype);
    expect(tensors[name]?.dtype).toBe(dtype);
    if (shape !== undefined) expect(tensors[name]?.shape).toHaveLength(shape.length);
  }
}

/** The data of a value; functions are allowed among its members only. */
function withoutFunctions(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => typeof member !== "function"));
}
