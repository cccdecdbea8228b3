import type { PythonProcess } from "../../../drivers/python/python-process.ts";
import { ServingError } from "../../../errors.ts";
import { createTensor } from "../../../tensor/tensor.ts";
import { isHeaderText } from "../../check-response.ts";
import type { HookContext } from "../../hooks.ts";
import type { RawCall, RawEntry, RawResult } from "../../raw-entry.ts";
import type { HookRuns } from "./hook-runs.ts";
import type { HookScopes } from "./hook-scopes.ts";

/** Parts that calls into a Python process need. */
export interface HookCalls {
  readonly process: PythonProcess;
  readonly scopes: HookScopes;
  readonly runs: HookRuns;
  /** 0 = no limit. */
  readonly hookTimeoutMs: number;
  /** Called when a hook has computed for too long; the process cannot go on. */
  readonly onStuck: (reason: ServingError) => void;
}

/** A handler of an `inference.py` as an entry of the hooks; `lost` says why its process has ended. */
export function handlerEntry(
  name: string,
  { process, scopes, runs, hookTimeoutMs: timeoutMs, onStuck }: HookCalls,
  lost: () => ServingError | undefined,
): RawEntry {
  const call = async ({ facts, body: bytes }: RawCall, ctx: HookContext) => {
    const body = createTensor("uint8", [bytes.length], new Uint8Array(bytes));
    const ask = () => ({
      number: scopes.numberOf(ctx),
      answer: process.ask({ op: "handler", handler: name, facts, tensors: { body } }),
    });
    try {
      const { result, tensors } = await runs.run(ask, { timeoutMs, place: name, onStuck }, ctx.signal);
      return { contentType: result, body: tensors.body?.data };
    } catch (reason) {
      throw lost() ?? reason;
    } finally {
      scopes.end(ctx);
    }
  };
  return { place: name, call, seal: (returned) => seal(returned as Partial<RawResult>, name) };
}

/** The request for the model has no content type. */
function seal({ contentType, body }: Partial<RawResult>, name: string): RawResult {
  if (body instanceof Uint8Array && (name === "input_handler" || isHeaderText(contentType)))
    return { status: 200, contentType: contentType ?? "", body };
  const text = JSON.stringify(String(contentType).slice(0, 100));
  throw new ServingError(
    "internal",
    `The hook ${name} returned the content type ${text}; expected one such as application/json.`,
  );
}
