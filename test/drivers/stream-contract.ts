import { afterAll, describe, expect, it } from "vitest";
import type { RawOptions } from "../../src/drivers/option-table.ts";
import { type FoundDriver, findDriver } from "../../src/drivers/registry.ts";
import { ServingError } from "../../src/errors.ts";
import type { ModelCall } from "../../src/models/model-handle.ts";
import type { ModelHost } from "../../src/models/model-host.ts";
import type { StartModelOptions } from "../../src/models/model-to-load.ts";
import { startModel } from "../../src/models/start-model.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { isNotOneAnswer } from "../../src/one-answer.ts";
import { CancelSource } from "../../src/platform/async/cancel-source.ts";
import type { Tensors } from "../../src/tensor/tensor.ts";
import { copyTensors, expectTensors, type TensorRecord } from "./expect-tensors.ts";

/** A driver whose model answers in parts, and what shows that it keeps what `predictStream` promises. */
export interface StreamSubject {
  /** The driver's name, or the path of a user's own, asked for in each test. */
  readonly driver: () => string;
  readonly modelPath?: string;
  readonly options?: RawOptions;
  /** Thread, process or copies of its model. Default: as the driver says. */
  readonly place?: Partial<StartModelOptions>;
  /** Inputs with one part, and with several. */
  readonly one: StreamSample;
  readonly several: StreamSample;
  /** Inputs without any. */
  readonly none: TensorRecord;
  /** Inputs with more parts than anyone waits for. */
  readonly endless: TensorRecord;
  /** Inputs on which the model fails after some parts; absent = it never does. */
  readonly failing?: StreamSample;
  /** True if its model answers requests for one answer in its own way. Default false. */
  readonly collects?: boolean;
}

interface StreamSample {
  readonly inputs: TensorRecord;
  readonly parts: readonly TensorRecord[];
}

/** Runs the contract of drivers that answer in parts, on one model. */
export function describeStreams(title: string, subject: StreamSubject): void {
  describe(`${title} keeps the contract of models that answer in parts: it`, () => {
    afterAll(() => close(subject));
    for (const [name, run] of Object.entries(CASES)) it(name, () => run(subject));
  });
}

const CASES = {
  "is marked as one": async (subject: StreamSubject) => {
    const { facts } = await start(subject);
    expect(facts.decoupled).toBe(true);
  },
  "gives its parts in their order, and then ends": async (subject: StreamSubject) => {
    const host = await start(subject);
    for (const sample of [subject.several, subject.one, { inputs: subject.none, parts: [] }])
      expectParts(await partsOf(host, sample.inputs), sample.parts);
  },
  "gives a request for one answer its only part": async (subject: StreamSubject) => {
    const { handle } = await start(subject);
    const { inputs, parts } = subject.one;
    expectTensors(await handle.predict(copyTensors(inputs), call()), parts[0] as TensorRecord);
  },
  "refuses a request for one answer if there are none or several": async (subject: StreamSubject) => {
    if (subject.collects) return;
    const { handle } = await start(subject);
    for (const inputs of [subject.several.inputs, subject.none, subject.endless]) {
      const refused = await handle.predict(copyTensors(inputs), call()).catch((reason) => reason);
      expect(isNotOneAnswer(refused)).toBe(true);
    }
  },
  "keeps the parts of overlapping runs apart": async (subject: StreamSubject) => {
    const host = await start(subject);
    const samples = Array.from({ length: 8 }, () => [subject.several, subject.one]).flat();
    const answers = await Promise.all(samples.map(({ inputs }) => partsOf(host, inputs)));
    for (const [index, { parts }] of samples.entries()) expectParts(answers[index] as Tensors[], parts);
  },
  "ends a run whose reader takes no more, with the reader's reason": async (subject: StreamSubject) => {
    const host = await start(subject);
    const enough = new ServingError("cancelled", "enough");
    let taken = 0;
    const write = async () => {
      if (++taken === 3) throw enough;
    };
    const run = host.handle.predict(copyTensors(subject.endless), { ...call(), parts: { write } });
    await expect(run).rejects.toBe(enough);
    expect(taken).toBe(3);
    await expectAnswers(subject, host);
  },
  "ends a run that is cancelled while its reader is busy": async (subject: StreamSubject) => {
    const host = await start(subject);
    const signal = new CancelSource();
    const write = () => {
      signal.abort(new ServingError("cancelled", "left"));
      return new Promise<void>(() => {});
    };
    const run = host.handle.predict(copyTensors(subject.endless), { ...call(), signal, parts: { write } });
    await expect(run).rejects.toMatchObject({ code: "cancelled", message: "left" });
    await expectAnswers(subject, host);
  },
  "gives the parts before a failure, and then its error": async (subject: StreamSubject) => {
    if (subject.failing === undefined) return;
    const host = await start(subject);
    const { inputs, parts } = subject.failing;
    const taken: Tensors[] = [];
    await expect(partsOf(host, inputs, taken)).rejects.toBeInstanceOf(ServingError);
    expectParts(taken, parts);
    await expectAnswers(subject, host);
  },
  "waits for a reader that takes its time": async (subject: StreamSubject) => {
    const host = await start(subject);
    let busy = 0;
    let mostBusy = 0;
    const write = async () => {
      mostBusy = Math.max(mostBusy, ++busy);
      await new Promise(setImmediate);
      busy--;
    };
    await host.handle.predict(copyTensors(subject.several.inputs), { ...call(), parts: { write } });
    expect(mostBusy).toBe(1);
  },
};

interface Started {
  readonly found: FoundDriver;
  readonly host: ModelHost;
}

const started = new Map<StreamSubject, Promise<Started>>();

/** The subject's model, which the first test starts. */
async function start(subject: StreamSubject): Promise<ModelHost> {
  const starting = started.get(subject) ?? startFirst(subject);
  started.set(subject, starting);
  return (await starting).host;
}

async function startFirst({ driver, modelPath: path = "", options = {}, place }: StreamSubject): Promise<Started> {
  const found = await findDriver(driver());
  const settings = { instances: 1, modelStallMs: 0, log: createSilentLogger(), ...place };
  return { found, host: await startModel({ found, path, options }, settings) };
}

async function close(subject: StreamSubject): Promise<void> {
  const { found, host } = (await started.get(subject)) ?? {};
  await host?.close();
  await found?.dispose();
}

function call(): ModelCall {
  return { signature: "serving_default", signal: new CancelSource() };
}

/** Runs the model, and resolves with all parts; those until a failure are in the list that is given. */
async function partsOf({ handle }: ModelHost, inputs: TensorRecord, taken: Tensors[] = []): Promise<Tensors[]> {
  const write = async (part: Tensors) => void taken.push(part);
  expect(await handle.predict(copyTensors(inputs), { ...call(), parts: { write } })).toEqual({});
  return taken;
}

function expectParts(actual: readonly Tensors[], expected: readonly TensorRecord[]): void {
  expect(actual).toHaveLength(expected.length);
  for (const [index, part] of expected.entries()) expectTensors(actual[index] as Tensors, part);
}

async function expectAnswers({ several }: StreamSubject, host: ModelHost): Promise<void> {
  expectParts(await partsOf(host, several.inputs), several.parts);
}
