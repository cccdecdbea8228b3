import { DEFAULT_SIGNATURE, type Driver, type Model, type PredictCall, type Signature } from "../../drivers/driver.ts";
import { invalidArgument } from "../../errors.ts";
import type { Specs, TensorsOf } from "../../hooks/declared-hooks.ts";
import { toTensors, type Values } from "../../tensor/plain-value.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";

/** Inputs and answers of a fake model. */
export interface FakeModelOptions<Inputs extends Specs = Specs> {
  /** Its inputs, which requests are checked against. Default: any names and dtypes. */
  readonly inputs?: Inputs;
  /** Its outputs; plain numbers of an answer take their dtypes. Default: not known before a run. */
  readonly outputs?: Specs;
  /** Its answer, or a function of the inputs. Default: the inputs. */
  readonly predict?: Values | ((inputs: TensorsOf<Inputs>, call: PredictCall) => Values | Promise<Values>);
  /** The third argument of hooks, as the real model's driver gives it. */
  readonly hookArgs?: Readonly<Record<string, unknown>>;
}

/** A model for tests, in the place of a real one. It is also a driver: a stage of `createServer` may have it. */
export interface FakeModel extends Driver {
  /** The inputs of each run until now, in their order. */
  readonly calls: readonly Tensors[];
}

/** A model that answers what a test wants. Requests to it are checked, queued and measured as those to any model. */
export function fakeModel<const Inputs extends Specs = Specs>(options: FakeModelOptions<Inputs> = {}): FakeModel {
  const { inputs, outputs, hookArgs } = options;
  const calls: Tensors[] = [];
  const signature: Signature = { ...(inputs && { inputs }), ...(outputs && { outputs }) };
  const model: Model = {
    signatures: { [DEFAULT_SIGNATURE]: signature },
    ...(hookArgs && { hookArgs }),
    predict: async (values, call) => {
      calls.push(values);
      return wantedOf(await answerOf(options, values, call), call);
    },
    close: async () => {},
  };
  return { name: "fake", options: {}, pathless: true, placement: "inline", load: async () => model, calls };
}

async function answerOf<Inputs extends Specs>(
  { predict, outputs }: FakeModelOptions<Inputs>,
  values: Tensors,
  call: PredictCall,
): Promise<Tensors> {
  if (predict === undefined) return values;
  const answer = typeof predict === "function" ? await predict(values as TensorsOf<Inputs>, call) : predict;
  return toTensors(answer, (name) => outputs?.find((spec) => spec.name === name)?.dtype);
}

function wantedOf(answer: Tensors, { outputs }: PredictCall): Tensors {
  if (outputs === undefined) return answer;
  const missing = outputs.find((name) => !Object.hasOwn(answer, name));
  if (missing !== undefined) throw invalidArgument(`The fake model's predict has not returned "${missing}".`);
  return createTensors(Object.entries(answer).filter(([name]) => outputs.includes(name)));
}
