import { failedPrecondition } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import type { Model, PredictCall } from "../driver.ts";
import type { OnnxPort } from "./engine.ts";
import type { OnnxSession } from "./onnx-session.ts";
import { carriedTensor, describeType } from "./onnx-type.ts";

const FOR_HOOKS = "requests carry tensors alone; hooks give and get the model's other values by args.session.run";

/**
 * Creates the function that answers requests: with the outputs that are tensors, where
 * all inputs are. The log has what requests do not carry.
 */
export function createPredict(session: OnnxSession, log: Logger): Model["predict"] {
  const inputs = session.inputs.filter(({ type }) => carriedTensor("Input", type) === undefined);
  const outputs = session.outputs.filter(({ type }) => carriedTensor("Output", type) === undefined);
  const others = [...inputs, ...outputs];
  if (others.length > 0) log.warn(FOR_HOOKS, { values: others.map(describePort) });
  const [culprit] = outputs.length < session.outputs.length ? inputs : others;
  if (culprit !== undefined) {
    const message = `${describePort(culprit)}, which no request carries; a hook can run the model by args.session.run.`;
    return () => Promise.reject(failedPrecondition(message));
  }
  const run = (inputs: Tensors, call: PredictCall) => session.run(inputs, call) as Promise<Tensors>;
  if (outputs.length === 0) return run;
  const carried = session.outputs.filter((port) => !outputs.includes(port)).map(({ name }) => name);
  return (inputs, call) => run(inputs, { ...call, outputs: call.outputs ?? carried, signal: call.signal });
}

function describePort({ name, type }: OnnxPort): string {
  return `"${name}" is ${describeType(type)}`;
}
