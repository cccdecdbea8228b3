import type { Timeline } from "../../observability/timeline.ts";
import { HOOK_PLACE } from "../../pipeline/hook-places.ts";
import type { Made } from "../../pipeline/infer-request.ts";
import { type Payload, payloadFromTensors } from "../../pipeline/payload.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import type { RpcResponse } from "../../platform/threads/rpc-client.ts";
import { isLogEvent } from "../../platform/threads/thread-logger.ts";
import { openTimedAnswer } from "../../platform/threads/timed-answer.ts";
import { isTextRecord, parseWireError } from "../../platform/threads/wire-error.ts";
import { isPlainObject } from "../../tensor/record.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { checkDeclarations } from "../check-declarations.ts";
import { MAX_METADATA, metadataSize } from "../check-response.ts";
import { isStatus } from "../route-entries.ts";
import type { HookEvent, RanMeta } from "./hook-protocol.ts";

type Members = Readonly<Record<string, unknown>>;
type Check = (content: unknown) => void;

/** The check for each kind of event. */
const CHECKS: Readonly<Record<string, Check>> = {
  declared: checkDeclared,
  ready: checkMark,
  failed: (content) => void parseWireError(content),
  exhausted: checkMark,
  log: (content) => expect(isLogEvent(content), "it is not an event of a log"),
  loadModel: checkLease,
  closeModel: (content) => expect(Number.isSafeInteger(content), "closeModel is not an id"),
  closed: checkMark,
};

/**
 * Checks an event from a hook thread's control port: user code in that thread may have posted it, or replaced the
 * built-ins that the thread's own code uses. Throws {@link MalformedMessage} for anything but an event.
 */
export function parseHookEvent(message: unknown): HookEvent {
  const names = isPlainObject(message) ? Object.keys(message) : [];
  const [name] = names;
  const check = name !== undefined && Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
  if (check === undefined || names.length !== 1) throw new MalformedMessage("it is not an event of a hook thread");
  check((message as Members)[name as string]);
  return message as HookEvent;
}

function checkMark(content: unknown): void {
  expect(content === true, "its mark is not true");
}

/** The hook thread has already checked the file's declarations, so invalid ones are malformed. */
function checkDeclared(content: unknown): void {
  const { options, edges, facts, sources = [], pid = 1 } = membersOf(content, "declared");
  checkFacts(membersOf(facts, "declared.facts"));
  expect(Number.isSafeInteger(pid) && (pid as number) > 0, "declared.pid is not the number of a process");
  expect(
    Array.isArray(sources) && sources.every((source) => typeof source === "string"),
    "declared.sources are not paths",
  );
  const { inputs, outputs, replacesChain, changesInputs, changesOutputs } = membersOf(edges, "declared.edges");
  const flags = [replacesChain, changesInputs, changesOutputs];
  expect(
    flags.every((flag) => typeof flag === "boolean"),
    "declared.edges lacks its flags",
  );
  try {
    checkDeclarations({ inputs, outputs, options }, "declared");
  } catch (cause) {
    throw new MalformedMessage("its declarations are not valid", { cause });
  }
  const specs = [...((inputs ?? []) as TensorSpec[]), ...((outputs ?? []) as TensorSpec[])];
  expect(!specs.some(sharesMemory), "a default lies in shared memory");
}

function checkFacts({ entries = [], hookPlaces, decoupled = false, description = "" }: Members): void {
  const isSentence = typeof description === "string" && description.length < 10_000;
  expect(isSentence, "declared.facts.description is no short text");
  expect(typeof decoupled === "boolean", "declared.facts.decoupled is not a flag");
  const isNamed = Array.isArray(entries) && entries.every((name) => typeof name === "string");
  expect(isNamed, "declared.facts.entries are not names");
  const isPlaced =
    Array.isArray(hookPlaces) && hookPlaces.every((place) => typeof place === "string" && HOOK_PLACE.test(place));
  expect(isPlaced, "declared.facts.hookPlaces are not those of hooks");
}

/** True for a value in shared memory, which could change after it was checked. */
function sharesMemory({ default: value }: TensorSpec): boolean {
  if (value === undefined) return false;
  const views = value.dtype === "bytes" ? value.data : [value.data];
  return views.some(({ buffer }) => !(buffer instanceof ArrayBuffer));
}

function checkLease(content: unknown): void {
  const { id, driver, path, options } = membersOf(content, "loadModel");
  expect(Number.isSafeInteger(id), "loadModel.id is not an id");
  expect(typeof driver === "string" && typeof path === "string", "loadModel names no driver and path");
  expect(isTextRecord(options), "loadModel.options are not texts");
}

function membersOf(value: unknown, place: string): Members {
  if (!isPlainObject(value)) throw new MalformedMessage(`${place} is not an object`);
  return value;
}

function expect(holds: boolean, problem: string): void {
  if (!holds) throw new MalformedMessage(problem);
}

/**
 * The result that a hook thread sent for a request of this kind; throws {@link MalformedMessage} for any other message.
 * With a timeline, to which it adds the times that the thread reports, also the error of a request that failed.
 */
export function readHookAnswer(
  kind: Payload["kind"],
  { meta, tensors }: RpcResponse,
  timeline: Timeline | undefined,
): Made {
  if (timeline !== undefined) openTimedAnswer((meta as Partial<RanMeta> | undefined)?.timed, timeline);
  const outputs = payloadFromTensors(kind, tensors);
  if (outputs.kind === "json" && !(outputs.json instanceof Uint8Array)) throw new MalformedMessage("it has no JSON");
  if (meta === undefined) return { outputs };
  const { metadata, contentType, status } = (meta ?? {}) as { [Key in keyof RanMeta]?: unknown };
  if (!isTextRecord(metadata)) throw new MalformedMessage("its metadata are not texts");
  if (metadataSize(metadata) > MAX_METADATA) throw new MalformedMessage("its metadata are longer than headers are");
  if (contentType === undefined) return { metadata, outputs };
  if (typeof contentType !== "string") throw new MalformedMessage("its content type is not a text");
  if (status === undefined) return { metadata, contentType, outputs };
  if (!isStatus(status)) throw new MalformedMessage("its status is not one of HTTP");
  return { metadata, contentType, status, outputs };
}
