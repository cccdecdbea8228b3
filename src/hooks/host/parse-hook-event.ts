import { HOOK_PLACE } from "../../pipeline/hook-places.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import { isLogEvent } from "../../platform/threads/thread-logger.ts";
import { isTextRecord, parseWireError } from "../../platform/threads/wire-error.ts";
import { isPlainObject } from "../../tensor/record.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { checkDeclarations } from "../check-declarations.ts";
import type { HookEvent } from "./hook-protocol.ts";

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

function checkFacts({ entries = [], hookPlaces }: Members): void {
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
