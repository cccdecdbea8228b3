import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import {
  DEFAULT_SIGNATURE,
  type Driver,
  type Model,
  type PredictCall,
  type TensorSpec,
} from "../../src/drivers/driver.ts";
import { type OptionSpec, parseOptions, type RawOptions, takesOption } from "../../src/drivers/option-table.ts";
import { ServingError } from "../../src/errors.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { DTYPES } from "../../src/tensor/dtype.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../src/tensor/tensor.ts";

/** A driver, and a model on which it can be seen to keep what `Driver` promises. */
export interface DriverSubject {
  readonly driver: Driver;
  /** The file whose default export it is, as a path. */
  readonly file: string;
  /** Imports what the driver needs from outside; when that fails the suite is skipped and says why. */
  readonly runtime?: () => Promise<unknown>;
  readonly modelPath: string;
  readonly options?: RawOptions;
  /** Two or more different ones. */
  readonly samples: readonly Sample[];
  /** How far a number may be from the expected one. Default 0. */
  readonly tolerance?: number;
  readonly skip?: readonly { readonly case: CaseName; readonly reason: string }[];
}

/** Inputs, and the outputs that they give. */
export interface Sample {
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly expected: Readonly<Record<string, Tensor>>;
}

type CaseName = keyof typeof CASES;

/** Runs the contract for one driver. Await it at the top of a test file. */
export async function describeDriver(subject: DriverSubject): Promise<void> {
  const missing = await subject.runtime?.().then(
    () => undefined,
    (reason) => String(reason),
  );
  if (missing !== undefined) process.stderr.write(`The ${subject.driver.name} driver is not tested: ${missing}\n`);
  describe.skipIf(missing !== undefined)(`the ${subject.driver.name} driver keeps the contract of drivers: it`, () => {
    for (const name of Object.keys(CASES) as CaseName[]) {
      const reason = subject.skip?.find((one) => one.case === name)?.reason;
      it.skipIf(reason !== undefined)(reason === undefined ? name : `${name} (not here: it ${reason})`, () =>
        CASES[name](subject),
      );
    }
  });
}

const CASES = {
  "is named after its file": async ({ driver, file }: DriverSubject) => {
    expect(driver.name).toBe(basename(file, ".ts"));
    expect((await import(pathToFileURL(file).href)).default).toBe(driver);
  },
  "says what each option means": async ({ driver }: DriverSubject) => {
    for (const [name, spec] of optionsOf(driver)) {
      expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
      expect(spec.help, name).toMatch(/^[A-Z].*\.$/);
    }
  },
  "has defaults that its own table accepts": async ({ driver }: DriverSubject) => {
    const defaults = optionsOf(driver).flatMap(([name, spec]) =>
      "default" in spec && spec.default !== undefined ? [[name, String(spec.default)]] : [],
    );
    expect(parseOptions(driver.options, Object.fromEntries(defaults))).toEqual(parseOptions(driver.options, {}));
  },
  "refuses a wrong value for each option that has wrong values": async ({ driver }: DriverSubject) => {
    for (const [name, spec] of optionsOf(driver)) {
      if (spec.type === "string" || spec.type === "prefix") continue;
      expect(() => parseOptions(driver.options, { [name]: "no such value" })).toThrow(
        expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(`"${name}"`) }),
      );
    }
  },
  "does not know an option outside its table": async ({ driver }: DriverSubject) => {
    expect(takesOption(driver.options, "no_such_option")).toBe(false);
  },
  "recognises its own model and not every file": async ({ driver, modelPath }: DriverSubject) => {
    expect(driver.detect?.(modelPath)).toBe(true);
    expect(driver.detect?.("notes.txt")).toBe(false);
  },
  "names the path when there is no model": async (subject: DriverSubject) => {
    const path = "no/such/model";
    const error = await load({ ...subject, modelPath: path }).catch((reason) => reason);
    expect(error).toBeInstanceOf(ServingError);
    expect(error).toMatchObject({ code: "failed_precondition", message: expect.stringContaining(path) });
  },
  "describes its inputs and outputs": async (subject: DriverSubject) => {
    await withModel(subject, async (model) => {
      const { inputs, outputs } = model.signatures[DEFAULT_SIGNATURE] ?? {};
      for (const { inputs: given, expected } of subject.samples) {
        expectDescribed(inputs, given);
        expectDescribed(outputs, expected);
      }
    });
  },
  "predicts the samples": async (subject: DriverSubject) => {
    await withModel(subject, async (model) => {
      for (const sample of subject.samples)
        expectTensors(await predict(model, sample), sample.expected, subject.tolerance);
    });
  },
  "gives only the outputs that were asked for": async (subject: DriverSubject) => {
    await withModel(subject, async (model) => {
      const [sample] = subject.samples as [Sample];
      for (const [name, tensor] of Object.entries(sample.expected)) {
        expectTensors(await predict(model, sample, { outputs: [name] }), { [name]: tensor }, subject.tolerance);
      }
      expect(Object.keys(await predict(model, sample, { outputs: [] }))).toEqual([]);
    });
  },
  "does not change its inputs": async (subject: DriverSubject) => {
    await withModel(subject, async (model) => {
      for (const sample of subject.samples) {
        const inputs = copyOf(sample.inputs);
        await predict(model, { ...sample, inputs });
        expect(inputs).toEqual(copyOf(sample.inputs));
      }
    });
  },
  "keeps nothing of its inputs": async (subject: DriverSubject) => {
    await withModel(subject, async (model) => {
      const [sample] = subject.samples as [Sample];
      const inputs = copyOf(sample.inputs);
      const outputs = await predict(model, { ...sample, inputs });
      for (const tensor of Object.values(inputs)) overwrite(tensor);
      expectTensors(outputs, sample.expected, subject.tolerance);
    });
  },
  "gives outputs of their own to each predict": async (subject: DriverSubject) => {
    await withModel(subject, async (model) => {
      const [sample] = subject.samples as [Sample];
      const inputs = copyOf(sample.inputs);
      for (const tensor of Object.values(await predict(model, { ...sample, inputs }))) overwrite(tensor);
      expectTensors(await predict(model, sample), sample.expected, subject.tolerance);
    });
  },
  "answers overlapping predicts as it answers them one by one": async (subject: DriverSubject) => {
    await withModel(subject, async (model) => {
      const many = Array.from({ length: 8 }, () => subject.samples).flat();
      const answers = await Promise.all(many.map((sample) => predict(model, sample)));
      for (const [index, sample] of many.entries()) expectTensors(answers[index], sample.expected, subject.tolerance);
    });
  },
  "refuses a request that was cancelled before it began": async (subject: DriverSubject) => {
    await withModel(subject, async (model) => {
      const [sample] = subject.samples as [Sample];
      const codes = ["AbortError", "TimeoutError"].map((name) => {
        const signal = AbortSignal.abort(new DOMException("gone", name));
        return predict(model, sample, { signal }).catch((reason) => reason.code);
      });
      expect(await Promise.all(codes)).toEqual(["cancelled", "deadline_exceeded"]);
    });
  },
  "gives hooks only data and functions, which can cross threads": async (subject: DriverSubject) => {
    await withModel(subject, async ({ hookArgs = {} }) => {
      for (const [name, value] of Object.entries(hookArgs)) {
        const [data, functions] = splitHandle(value);
        expect(structuredClone(data), name).toEqual(data);
        for (const one of functions) expect(one).toBeTypeOf("function");
      }
    });
  },
  "leaves nothing open when it is closed": async (subject: DriverSubject) => {
    const [sample] = subject.samples as [Sample];
    await withModel(subject, (model) => predict(model, sample));
    const before = process.getActiveResourcesInfo().sort();
    await withModel(subject, (model) => predict(model, sample));
    expect(process.getActiveResourcesInfo().sort()).toEqual(before);
  },
  "loads again after it was closed": async (subject: DriverSubject) => {
    const [sample] = subject.samples as [Sample];
    for (let round = 0; round < 3; round++) {
      await withModel(subject, async (model) =>
        expectTensors(await predict(model, sample), sample.expected, subject.tolerance),
      );
    }
  },
  "keeps two copies of a model apart": async (subject: DriverSubject) => {
    await withModel(subject, async (second) => {
      await withModel(subject, async (first) => expect(first).not.toBe(second));
      const [sample] = subject.samples as [Sample];
      expectTensors(await predict(second, sample), sample.expected, subject.tolerance);
    });
  },
};

/** Loads the subject's model as the model host does. */
async function load({ driver, modelPath, options = {} }: DriverSubject): Promise<Model> {
  return driver.load(modelPath, parseOptions(driver.options, options), { log: createSilentLogger() });
}

async function withModel(subject: DriverSubject, use: (model: Model) => Promise<unknown>): Promise<void> {
  const model = await load(subject);
  try {
    await use(model);
  } finally {
    await model.close();
  }
}

function predict(model: Model, { inputs }: Sample, call: Partial<PredictCall> = {}): Promise<Tensors> {
  const signal = new AbortController().signal;
  return model.predict(createTensors(Object.entries(inputs)), { signature: DEFAULT_SIGNATURE, signal, ...call });
}

function optionsOf(driver: Driver): [string, OptionSpec][] {
  return Object.entries<OptionSpec>(driver.options);
}

function expectDescribed(specs: readonly TensorSpec[] | undefined, tensors: Sample["inputs"]): void {
  if (specs === undefined) return;
  expect(specs.map(({ name }) => name).sort()).toEqual(Object.keys(tensors).sort());
  for (const { name, dtype, shape } of specs) {
    expect(DTYPES).toContain(dtype);
    expect(tensors[name]?.dtype).toBe(dtype);
    if (shape !== undefined) expect(tensors[name]?.shape).toHaveLength(shape.length);
  }
}

function expectTensors(actual: Tensors | undefined, expected: Sample["expected"], tolerance = 0): void {
  expect(Object.keys(actual ?? {}).sort()).toEqual(Object.keys(expected).sort());
  for (const [name, { dtype, shape, data }] of Object.entries(expected)) {
    const tensor = actual?.[name] as Tensor;
    expect({ name, dtype: tensor.dtype, shape: tensor.shape }).toEqual({ name, dtype, shape });
    if (tolerance === 0) expect(copyOf({ name: tensor })).toEqual(copyOf({ name: expected[name] as Tensor }));
    else for (const [index, value] of data.entries()) expectNear(tensor.data[index], value, tolerance);
  }
}

function expectNear(actual: unknown, expected: unknown, tolerance: number): void {
  if (typeof expected !== "number") expect(actual).toEqual(expected);
  else expect(Math.abs((actual as number) - expected)).toBeLessThanOrEqual(tolerance);
}

/** The same tensors in memory of their own; a Buffer among the elements becomes a Uint8Array. */
function copyOf(tensors: Sample["inputs"]): Tensors {
  return createTensors(
    Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
      const copy = dtype === "bytes" ? data.map((element) => new Uint8Array(element)) : data.slice();
      return [name, createTensor(dtype, [...shape], copy as never)];
    }),
  );
}

/** Puts other values where the tensor's are. */
function overwrite({ dtype, data }: Tensor): void {
  if (dtype === "bytes") for (const element of data) element.fill(0x21);
  else new Uint8Array(data.buffer, data.byteOffset, data.byteLength).fill(0x21);
}

/** What of a value is data, and the functions among its members. */
function splitHandle(value: unknown): [data: unknown, functions: unknown[]] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [value, []];
  const members = Object.entries(value);
  const data = Object.fromEntries(members.filter(([, member]) => typeof member !== "function"));
  return [data, members.map(([, member]) => member).filter((member) => typeof member === "function")];
}
