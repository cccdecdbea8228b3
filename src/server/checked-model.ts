import { isDriver } from "../drivers/registry.ts";
import { invalidArgument } from "../errors.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { type GivenTraffic, STICKY_CHECK, trafficProblem } from "../serving/repository/config/versions.ts";
import { isObject } from "../tensor/record.ts";
import type { NamedModelOptions } from "./named-model.ts";
import {
  BOOLEAN_CHECK,
  checkMembers,
  checkTexts,
  HOOKS_CHECK,
  integerCheck,
  OBJECT_CHECK,
  type OptionCheck,
  REQUEST_LOG_CHECKS,
  TEXT_CHECK,
  TIME_CHECK,
  WARM_UP_CHECK,
} from "./option-check.ts";

const isVersion = (value: unknown) =>
  (typeof value === "bigint" && value >= 0n && value < 2n ** 63n) ||
  (Number.isSafeInteger(value) && Number(value) >= 0);

const STAGES: OptionCheck = {
  expected: 'an array of stages, such as [{ path: "model.onnx" }]',
  accepts: (value) => Array.isArray(value) && value.length > 0,
};

const MODEL: { readonly [Name in keyof Required<NamedModelOptions>]: OptionCheck } = {
  path: TEXT_CHECK,
  driver: TEXT_CHECK,
  stages: STAGES,
  hooks: HOOKS_CHECK,
  options: OBJECT_CHECK,
  versions: {
    expected: '"latest", "all", { latest: COUNT } or an array of versions',
    accepts: (value) =>
      value === "latest" ||
      value === "all" ||
      (Array.isArray(value) && value.every(isVersion)) ||
      (isObject(value) && Object.keys(value).join() === "latest" && integerCheck(1).accepts(value.latest)),
  },
  labels: {
    expected: "an object of versions by label, such as { stable: 1 }",
    accepts: (value) => isObject(value) && Object.values(value).every(isVersion),
  },
  split: {
    expected: "an object of weights by version, such as { 1: 90, 2: 10 }",
    accepts: (value) => isObject(value) && Object.values(value).every(Number.isFinite),
  },
  sticky: STICKY_CHECK,
  shadow: OBJECT_CHECK,
  workers: integerCheck(0),
  instances: integerCheck(1),
  isolate: BOOLEAN_CHECK,
  threads: integerCheck(1),
  warmup: WARM_UP_CHECK,
  requestLog: OBJECT_CHECK,
  maxQueue: integerCheck(1),
  maxQueueBytes: integerCheck(1, 2 ** 31 - 1, ", in bytes"),
  idleUnloadMs: TIME_CHECK,
};

const SHADOW = {
  version: { expected: "a version's number", accepts: isVersion },
  model: TEXT_CHECK,
  share: { expected: "a number over 0, up to 1", accepts: (value: unknown) => typeof value === "number" },
};

const STAGE = {
  model: TEXT_CHECK,
  driver: {
    expected: "a name, a path, or what defineDriver returns",
    accepts: (value: unknown) => TEXT_CHECK.accepts(value) || isDriver(value),
  },
  path: { expected: "a text", accepts: (value: unknown) => typeof value === "string" },
  options: OBJECT_CHECK,
};

/**
 * Options of a named model that were checked as the command line checks its flags; throws `invalid_argument` with the
 * option, what came and what was expected.
 */
export function checkedModel<Given extends NamedModelOptions | undefined>(name: string, model: Given): Given {
  if (name === "") throw invalidArgument("A model's name is empty; expected the name that clients call.");
  if (model !== undefined) checkModel(`models.${name}`, model);
  return model;
}

function checkModel(place: string, model: unknown): void {
  if (!isObject(model))
    throw invalidArgument(`${place} is ${kindOf(model)}; expected an object such as { path: "model.onnx" }.`);
  checkMembers(`${place}.`, model, MODEL);
  checkTexts(`${place}.options`, model.options);
  if (model.path === undefined && model.driver === undefined && model.stages === undefined)
    throw invalidArgument(`${place} has neither path, driver nor stages; expected one of them.`);
  if (model.driver !== undefined && model.stages !== undefined)
    throw invalidArgument(`${place} has a driver and stages; expected one of them.`);
  if (model.shadow !== undefined) checkMembers(`${place}.shadow.`, model.shadow as object, SHADOW);
  if (model.requestLog !== undefined)
    checkMembers(`${place}.requestLog.`, model.requestLog as object, REQUEST_LOG_CHECKS);
  const problem = trafficProblem(model as GivenTraffic);
  if (problem !== undefined) throw invalidArgument(`${place}: ${problem}.`);
  if (model.stages !== undefined) checkStages(`${place}.stages`, model.stages as readonly unknown[]);
}

/** Checks the stages of a pipeline, as {@link checkedModel} does. */
export function checkStages(place: string, stages: readonly unknown[]): void {
  for (const [index, stage] of stages.entries()) {
    const here = `${place}[${index}]`;
    if (!isObject(stage))
      throw invalidArgument(`${here} is ${kindOf(stage)}; expected an object such as { path: "model.onnx" }.`);
    checkMembers(`${here}.`, stage, STAGE);
    checkTexts(`${here}.options`, stage.options);
    checkOtherModel(here, stage);
  }
}

function checkOtherModel(place: string, { model, ...others }: Readonly<Record<string, unknown>>): void {
  const other = Object.keys(others).find((name) => others[name] !== undefined);
  if (model === undefined || other === undefined) return;
  throw invalidArgument(`${place} has a model and ${other}; expected another model's name alone, or driver and path.`);
}
