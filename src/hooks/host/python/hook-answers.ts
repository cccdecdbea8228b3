import type { AnswerCall, PythonCall, PythonCallAnswer } from "../../../drivers/python/answer-calls.ts";
import { failedPrecondition, ServingError } from "../../../errors.ts";
import { toPlainParameters } from "../../../pipeline/call-options.ts";
import { clientCallOf } from "../../../pipeline/context.ts";
import type { Values } from "../../../tensor/plain-value.ts";
import type { Tensors } from "../../../tensor/tensor.ts";
import type { HookContext, InitContext, LoadedModel, OtherModel, PredictOptions, StageHandle } from "../../hooks.ts";
import type { HookRuns } from "./hook-runs.ts";
import type { HookScopes } from "./hook-scopes.ts";
import { packJson, unpackHookValues } from "./hook-values.ts";
import { driverFacts } from "./stage-facts.ts";

/** Models that hooks load have numbers from here on; stages have those below. */
const FIRST_LOADED = 1000;

/** Answers what Python hooks ask of the server: models, other servers, facts about the request. */
export class HookAnswers {
  readonly #scopes: HookScopes;
  readonly #runs: HookRuns;
  readonly #loaded = new Map<number, LoadedModel>();
  /** Answers in parts that hooks read. */
  readonly #streams = new Map<number, AsyncIterator<Tensors, unknown>>();
  #lastStream = 0;
  #init: InitContext | undefined;

  constructor(scopes: HookScopes, runs: HookRuns) {
    this.#scopes = scopes;
    this.#runs = runs;
  }

  /** Sets the context of init_hook, for calls outside requests. */
  begin(init: InitContext): void {
    this.#init = init;
  }

  /** Answers one question. While a hook waits for the answer others may run: its own thread does not keep its turn. */
  readonly answer: AnswerCall = (call) => {
    const { waits, request } = call.fields;
    return waits === true ? this.#runs.wait(Number(request), () => this.#answer(call)) : this.#answer(call);
  };

  async #answer(call: PythonCall): Promise<PythonCallAnswer> {
    const { fields } = call;
    switch (fields.call) {
      case "predict":
        return { tensors: await this.#model(fields).predict(valuesOf(call), optionsOf(fields)) };
      case "stream":
        return this.#open(this.#model(fields).stream(valuesOf(call), optionsOf(fields)));
      case "part":
        return this.#part(Number(fields.stream));
      case "leave":
        return this.#leave(Number(fields.stream));
      case "method":
        return this.#callMethod(call);
      case "load":
        return this.#load(fields);
      case "info":
        return { result: infoOf(this.#request(fields)) };
      case "model":
        return this.#askOther(this.#request(fields).models.get(String(fields.name)), call);
      case "remote":
        return this.#askOther(this.#request(fields).remote(String(fields.address)), call);
      default:
        throw new ServingError(
          "unimplemented",
          `A hook asked for ${String(fields.call)}, which the server does not have.`,
        );
    }
  }

  async #askOther(model: OtherModel, call: PythonCall): Promise<PythonCallAnswer> {
    const { fields } = call;
    const [values, options] = [valuesOf(call), givenOptions(fields)];
    return fields.parts === true
      ? this.#open(model.stream(values, options))
      : { tensors: await model.predict(values, options) };
  }

  #open(parts: AsyncIterable<Tensors>): PythonCallAnswer {
    const number = ++this.#lastStream;
    this.#streams.set(number, parts[Symbol.asyncIterator]());
    return { result: number };
  }

  /** The next part; the result says if there is none. */
  async #part(number: number): Promise<PythonCallAnswer> {
    const next = await this.#streams.get(number)?.next();
    if (next?.done === false) return { result: false, tensors: next.value };
    this.#streams.delete(number);
    return { result: true };
  }

  async #leave(number: number): Promise<PythonCallAnswer> {
    const parts = this.#streams.get(number);
    this.#streams.delete(number);
    await parts?.return?.();
    return {};
  }

  #request({ request }: PythonCall["fields"]): HookContext {
    const ctx = this.#scopes.get(Number(request));
    if (ctx !== undefined) return ctx;
    const why = request === 0 ? "it is only there while a request runs" : "its request has ended";
    throw failedPrecondition(`A hook used ctx too ${request === 0 ? "early" : "late"}: ${why}.`);
  }

  #model({ model, request }: PythonCall["fields"]): StageHandle {
    const number = Number(model);
    if (number >= FIRST_LOADED) return this.#loaded.get(number) as LoadedModel;
    const drivers = request === 0 ? this.#init?.drivers : this.#request({ request }).drivers;
    return drivers?.[number] as StageHandle;
  }

  async #load({ driver, path, options }: PythonCall["fields"]): Promise<PythonCallAnswer> {
    const init = this.#init as InitContext;
    const model = await init.loadModel(String(driver), String(path), options as Record<string, string>);
    const number = FIRST_LOADED + this.#loaded.size;
    this.#loaded.set(number, model);
    return { result: { number, facts: driverFacts(model) } };
  }

  async #callMethod({ fields, tensors }: PythonCall): Promise<PythonCallAnswer> {
    const path = fields.path as readonly (string | number)[];
    const args = unpackHookValues(fields.args, tensors) as unknown[];
    const method = path.reduce<unknown>(
      (value, name) => (value as Record<string, unknown>)?.[name],
      this.#model(fields).args,
    );
    if (typeof method !== "function") throw new ServingError("internal", `There is no method ${path.join(".")}.`);
    const { values, tensors: made } = packJson(await method(...args));
    return { result: values, tensors: made };
  }
}

function valuesOf({ fields, tensors }: PythonCall): Values {
  return (fields.values === undefined ? tensors : unpackHookValues(fields.values, tensors)) as Values;
}

function optionsOf({ signature, outputs }: PythonCall["fields"]): PredictOptions {
  return {
    ...(typeof signature === "string" && { signature }),
    ...(Array.isArray(outputs) && { outputs: outputs as string[] }),
  };
}

function givenOptions({ options }: PythonCall["fields"]): PredictOptions {
  return options as PredictOptions;
}

function infoOf(ctx: HookContext): unknown {
  const { metadata, request, signal } = ctx;
  const { id, model, version, signature, parameters } = request;
  const { limits, peer = "" } = clientCallOf(ctx) ?? {};
  const { deadline = null } = limits ?? {};
  const facts = { id, model, version: Number(version), signature, parameters: toPlainParameters(parameters) };
  return { metadata, request: facts, active: !signal.aborted, deadline, peer };
}
