import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { startWithFirst } from "../../../drivers/python/first-python.ts";
import { PythonProcess, SLOTS } from "../../../drivers/python/python-process.ts";
import { failedPrecondition, ServingError } from "../../../errors.ts";
import { LOST_PROCESS } from "../../../lost-process.ts";
import type { Logger } from "../../../observability/logger.ts";
import { processors } from "../../../platform/machine/container.ts";
import { createTensor } from "../../../tensor/tensor.ts";
import { isHeaderText } from "../../check-response.ts";
import type { HookSet } from "../../hook-set.ts";
import type { HookContext } from "../../hooks.ts";
import type { RawCall, RawEntry, RawResult, RawStream } from "../../raw-entry.ts";
import { partsOf } from "../../raw-parts.ts";
import { textEntries } from "../../text-entries.ts";
import type { HookThreadData } from "../hook-protocol.ts";
import { HookAnswers } from "./hook-answers.ts";
import { HookCalls, type PythonGenerator } from "./hook-calls.ts";
import { HookRuns } from "./hook-runs.ts";
import { HookScopes } from "./hook-scopes.ts";
import { type FoundFunction, type FoundHook, PythonHooks, pythonFunctions } from "./python-hooks.ts";

/** A Python hook file in its own process. */
export interface StartedPythonHooks {
  readonly hooks: HookSet;
  /** The file, and the files that it imports from its folder. */
  readonly sources: readonly string[];
  readonly pid: number | undefined;
  /** Resolves when the process has ended without {@link close}, with the reason. */
  readonly lost: Promise<ServingError>;
  /** Lets close_hook run, and ends the process. */
  close(): Promise<void>;
}

type Data = Pick<HookThreadData, "url" | "file" | "stageCount" | "hookTimeoutMs" | "options">;

/**
 * Starts the first interpreter with numpy, or the one that the option python names, and imports the hook file there.
 * Throws `failed_precondition`.
 */
export async function startPythonHooks(data: Data, log: Logger): Promise<StartedPythonHooks> {
  const { file, stageCount, hookTimeoutMs, options = {} } = data;
  const [scopes, runs] = [new HookScopes(), new HookRuns()];
  const answers = new HookAnswers(scopes, runs);
  const process = await startWithFirst({
    ...INTERPRETER,
    python: options.python,
    start: (python) => startProcess(python, answers, log.child({ from: "hooks" })),
  });
  const { hooks: found, handlers, functions, sources, python } = await importFile(process, data);
  log.debug("the hooks run in Python", { python, pid: process.pid });
  let stuck: ServingError | undefined;
  const onStuck = (reason: ServingError) => {
    stuck = reason;
    process.kill();
  };
  const calls = new HookCalls({ process, scopes, runs, hookTimeoutMs, onStuck });
  const ofTexts = textEntries(pythonFunctions(functions, calls), file, true) ?? [];
  const entries = new Map([...handlers.map((name) => [name, handlerEntry(name, calls)] as const), ...ofTexts]);
  const hooks = new PythonHooks({ found, entries, stageCount, answers, calls });
  const lost = process.ended.then((why) => {
    const { forClient, forLog } = processEndReason({ why, file, stuck });
    calls.lose(forClient);
    return forLog;
  });
  return { hooks: hooks.hooks, sources, pid: process.pid, lost, close: () => process.close() };
}

const INTERPRETER = {
  who: "The Python hooks find",
  title: "numpy",
  howToInstall: "Install it there: pip install numpy.",
};

async function startProcess(python: string, { answer }: HookAnswers, log: Logger): Promise<PythonProcess> {
  const process = await PythonProcess.start({
    python,
    threads: processors(),
    timeoutMs: 0,
    log,
    onCall: answer,
  });
  try {
    await process.ask({ op: "ready" });
    return process;
  } catch (reason) {
    await process.close();
    const words = process.lastWords === "" ? "" : ` (${process.lastWords})`;
    throw new ServingError("unavailable", `it ${await process.ended}${words}`, { cause: reason });
  }
}

/** Report of Python on a file that it has imported. */
interface ImportedFile {
  readonly hooks: readonly FoundHook[];
  readonly handlers: readonly string[];
  readonly functions: readonly FoundFunction[];
  readonly sources: readonly string[];
  readonly python: string;
}

async function importFile(
  process: PythonProcess,
  { url, file, stageCount, options = {} }: Data,
): Promise<ImportedFile> {
  const importPaths = (options.import_path ?? "").split(delimiter).filter((folder) => folder !== "");
  const ownSlots = [SLOTS, SLOTS + 1];
  const { requirements = "false" } = options;
  const order = {
    op: "hooks",
    file,
    source: fileURLToPath(url),
    stages: stageCount,
    importPaths,
    // A file, or `true` for the one next to the hooks.
    requirements: requirements === "false" ? "" : requirements,
    ownSlots,
  } as const;
  try {
    return (await process.ask(order)).result as ImportedFile;
  } catch (reason) {
    const isOver = !process.isRunning;
    await process.close();
    if (!isOver) throw reason;
    const words = process.lastWords === "" ? "" : ` (${process.lastWords})`;
    throw failedPrecondition(
      `${file}: its Python process ${await process.ended} while the file was imported${words}.`,
      reason,
    );
  }
}

/** A handler of an `inference.py` as an entry of the hooks. */
function handlerEntry(name: string, calls: HookCalls): RawEntry {
  const call = async ({ facts, body: bytes }: RawCall, ctx: HookContext) => {
    const body = createTensor("uint8", [bytes.length], new Uint8Array(bytes));
    const question = { op: "handler", hook: name, stage: 0, facts, tensors: { body } } as const;
    const { result, tensors } = await calls.run(question, name, ctx);
    const { contentType, parts: kind } = result as HandlerResult;
    if (kind === undefined) return { contentType, body: tensors.body?.data };
    const generator = { hook: name, stage: 0, kind, place: name };
    if (!ctx.signal.aborted) return { contentType, body: eachOfBody(generator, calls, ctx) };
    // Its caller does not wait for it any more.
    await calls.leave(generator, ctx);
    throw ctx.signal.reason;
  };
  return { place: name, call, seal: (returned) => seal(returned as Made, name) };
}

interface HandlerResult {
  /** Null = that of the first part. */
  readonly contentType: string | null;
  /** Present if the body comes in parts. */
  readonly parts?: PythonGenerator["kind"];
}

/** The parts of a body: texts, bytes, or events. */
async function* eachOfBody(generator: PythonGenerator, calls: HookCalls, ctx: HookContext): AsyncGenerator<unknown> {
  for await (const { result, tensors } of calls.each(generator, ctx)) yield result ?? tensors.body?.data;
}

interface Made {
  readonly contentType?: string | null;
  readonly body?: unknown;
}

/** The request for the model has no content type. */
function seal({ contentType, body }: Made, name: string): RawResult | RawStream {
  if (body instanceof Uint8Array && (name === "input_handler" || isHeaderText(contentType)))
    return { status: 200, contentType: contentType ?? "", body };
  const open = partsOf(body);
  if (open !== undefined && (contentType === null || isHeaderText(contentType)))
    return { status: 200, contentType: contentType ?? undefined, open };
  const text = JSON.stringify(String(contentType).slice(0, 100));
  throw new ServingError(
    "internal",
    `The hook ${name} returned the content type ${text}; expected one such as application/json.`,
  );
}

/** The end of a Python process that was not closed. */
interface ProcessEnd {
  /** As a text that can follow "the process". */
  readonly why: string;
  /** The hook file. */
  readonly file: string;
  /** Reason for killing it, if that was for its hooks. */
  readonly stuck: ServingError | undefined;
}

/** The errors for the requests that ran in the process, and for the log. */
function processEndReason({ why, file, stuck }: ProcessEnd): {
  readonly forClient: ServingError;
  readonly forLog: ServingError;
} {
  const details = [LOST_PROCESS];
  if (stuck !== undefined)
    return { forClient: new ServingError(stuck.code, stuck.message, { details }), forLog: stuck };
  const what = `Python process ${why}; ${adviceFor(why)}`;
  const message = `The request was lost: the hooks' ${what} Send it again if another request was the cause.`;
  return {
    forClient: new ServingError("unavailable", message, { details }),
    forLog: new ServingError("unavailable", `${file}: its ${what}`),
  };
}

function adviceFor(why: string): string {
  if (why.startsWith("ended")) return "does it call os._exit? Raise an error instead.";
  if (why.startsWith("crashed")) return "a library that the hooks use failed in native code.";
  return "does it need more memory than there is?";
}
