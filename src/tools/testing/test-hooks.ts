import { AsyncLocalStorage } from "node:async_hooks";
import { fileURLToPath } from "node:url";
import type { RawOptions } from "../../drivers/option-table.ts";
import { failedPrecondition } from "../../errors.ts";
import type { Specs, TensorsOf } from "../../hooks/declared-hooks.ts";
import { toHooks } from "../../hooks/hook-set.ts";
import type { AnyHooks, Hook, HookContext, HookSlots } from "../../hooks/hooks.ts";
import type { Logger } from "../../observability/logger.ts";
import { importUserModule } from "../../platform/user-module/user-module.ts";
import type { PredictChoices } from "../../server/predict.ts";
import type { Server } from "../../server/running-server.ts";
import type { PlainValue, Values } from "../../tensor/plain-value.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type TestModel, toStage } from "./test-context.ts";

/** The models around which hooks are tested. */
export interface HookTestOptions {
  /** The pipeline's models, in order. Default: one that returns its inputs. */
  readonly models?: readonly TestModel[];
  /** The server's other models by name, for `ctx.models.get`. */
  readonly others?: Readonly<Record<string, TestModel>>;
  /** `-o` options of the drivers and the hooks. */
  readonly options?: RawOptions;
  /** Time that a hook may take, in milliseconds; 0 = no limit. Default 60 s. */
  readonly hookTimeoutMs?: number;
  /** Default: silent. */
  readonly log?: Logger;
}

/** The answer to one request of a test. */
export interface HookRun<Outputs> {
  readonly outputs: Outputs;
  /** The request's context as its hooks have left it; `ctx.response` has what they send besides. */
  readonly ctx: HookContext;
}

/** A pipeline under test. It is started by its first run. */
export interface HookTest<Inputs, Outputs> {
  /** Runs one request through hooks and models. Rejects with the `ServingError` that a client would get. */
  run(inputs: Inputs, request?: PredictChoices): Promise<HookRun<Outputs>>;
  /** Runs `close_hook` and frees the models. A process ends without it if all models run in its own thread. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Values by the names of the declared inputs. */
type InputsOf<Given> = Given extends { readonly inputs: infer Inputs extends Specs }
  ? string extends Inputs[number]["name"]
    ? Values
    : { readonly [Spec in Inputs[number] as Spec["name"]]: Tensor<Spec["dtype"]> | PlainValue }
  : Values;

type OutputsOf<Given> = Given extends { readonly outputs: infer Outputs extends Specs }
  ? TensorsOf<Outputs>
  : TensorsOf<Specs>;

/**
 * A pipeline of hooks and models as the server runs it, with its checks and messages, but without ports and threads.
 * `hooks` are what a hook file exports, or the file: a path or a URL.
 */
export function testHooks<Given extends AnyHooks | string | URL>(
  hooks: Given,
  options: HookTestOptions = {},
): HookTest<InputsOf<Given>, OutputsOf<Given>> {
  let opened: Promise<Pipeline> | undefined;
  const close = async () => (await opened?.catch(() => undefined))?.server.close();
  return {
    run: async (inputs, request) => {
      opened ??= openPipeline(hooks, options);
      const { server, captured } = await opened;
      const { result, ctx } = await captured.run(() => server.predict(NAME, inputs as Values, request));
      return {
        outputs: result as OutputsOf<Given>,
        get ctx() {
          return requireContext(ctx);
        },
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Pipeline {
  readonly server: Server;
  readonly captured: CapturedHooks;
}

/** The pipeline's name among the models. */
const NAME = "default";

async function openPipeline(
  given: AnyHooks | string | URL,
  { models = [{ driver: "null" }], others = {}, options, ...limits }: HookTestOptions,
): Promise<Pipeline> {
  const { createServer } = await import("../../server/server.ts");
  const captured = new CapturedHooks(await openHooks(given));
  const stages = await Promise.all(models.map(toStage));
  const named = Object.entries(others).map(
    async ([name, model]) => [name, { stages: [await toStage(model)] }] as const,
  );
  const pipeline = { stages, hooks: captured.hooks, ...(options && { options }) };
  const server = await createServer({
    ...limits,
    models: { [NAME]: pipeline, ...Object.fromEntries(await Promise.all(named)) },
    ...{ listen: false, failFast: true, loadRetries: 0 },
  });
  return { server, captured };
}

async function openHooks(given: AnyHooks | string | URL): Promise<AnyHooks> {
  if (typeof given === "object" && !(given instanceof URL)) return given;
  const file = typeof given === "string" ? given : fileURLToPath(given);
  return toHooks(await importUserModule(file), file);
}

function requireContext(ctx: HookContext | undefined): HookContext {
  if (ctx !== undefined) return ctx;
  throw failedPrecondition("No hook has run; expected preprocess, postprocess or process among the hooks.");
}

/** The place for the context of a running request. */
interface Slot {
  ctx?: HookContext;
}

/** Hooks that keep each request's context for the test that has sent it. */
class CapturedHooks {
  /** The hooks to run. */
  readonly hooks: AnyHooks;
  readonly #slots = new AsyncLocalStorage<Slot>();

  constructor(hooks: AnyHooks) {
    const { preprocess, postprocess, process } = hooks;
    this.hooks = {
      ...hooks,
      ...(preprocess && { preprocess: this.#captureAll(preprocess) }),
      ...(postprocess && { postprocess: this.#captureAll(postprocess) }),
      ...(process && { process: this.#capture(process) }),
    };
  }

  /** Runs a request; the context is undefined if it has reached no hook. */
  async run<Result>(request: () => Promise<Result>): Promise<{ result: Result; ctx: HookContext | undefined }> {
    const slot: Slot = {};
    const result = await this.#slots.run(slot, request);
    return { result, ctx: slot.ctx };
  }

  /** Values other than hooks stay, so that the server's check refuses them. */
  #captureAll(slots: HookSlots): HookSlots {
    const captured = (slot: Hook | null) => (typeof slot === "function" ? this.#capture(slot) : slot);
    return Array.isArray(slots) ? slots.map(captured) : (captured(slots as Hook) as Hook);
  }

  #capture(hook: Hook): Hook {
    return (values, ctx, args) => {
      const slot = this.#slots.getStore();
      if (slot !== undefined) slot.ctx = ctx;
      return hook(values, ctx, args);
    };
  }
}
