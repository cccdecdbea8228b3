import { changeDetails, errorInfo } from "../../error-info.ts";
import { type ErrorDetail, publicText, ServingError } from "../../errors.ts";
import { hidePaths } from "../../platform/text/hide-paths.ts";
import { isTextRecord } from "../../platform/threads/wire-error.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";
import { writeFrame } from "./frames.ts";
import type { SlotFile } from "./slot-file.ts";
import { checkEntries, endOf, fillSlot, partsOf, readTensors, type TensorEntry, toEntries } from "./tensor-entries.ts";

/** Numbers of frames from here on are the Python process's own questions, and our answers to them. */
export const FIRST_CALL = 0x80000000;

/** A question of the Python process: its fields, with tensors next to them. */
export interface PythonCall {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly tensors: Tensors;
}

/** The answer to a question of the Python process. */
export interface PythonCallAnswer {
  readonly result?: unknown;
  readonly tensors?: Tensors;
}

/** Answers a question of the Python process; what it throws is raised there. */
export type AnswerCall = (call: PythonCall) => Promise<PythonCallAnswer>;

/** A received frame with a question. */
interface CallFrame {
  readonly id: number;
  readonly header: Buffer;
  readonly body: Buffer;
}

/**
 * Answers the question in a frame, and gives the frame of the answer; large tensors
 * lie in the slot that the question names.
 */
export async function answerCall(
  { id, header, body }: CallFrame,
  slots: readonly SlotFile[],
  answer: AnswerCall,
): Promise<Buffer> {
  let slot = -1;
  try {
    const call = JSON.parse(header.toString()) as CallHeader;
    const { slot: own = -1, tensors: entries = [], ...fields } = call;
    slot = own;
    checkEntries(entries, body.length, slots[slot]);
    const tensors = await readTensors(entries, body, slots[slot]);
    const { result, tensors: made = createTensors() } = await answer({ fields, tensors });
    const parts = partsOf(made);
    const sent = toEntries(made, parts, await fillSlot(slots[slot], parts, endOf(entries)));
    const text = JSON.stringify({ result, tensors: sent.entries });
    return writeFrame({ id, slot, header: text, body: sent.body });
  } catch (reason) {
    return refusal(id, reason);
  }
}

/** The frame of an answer that refuses a question of the Python process. */
export function refusal(id: number, reason: unknown): Buffer {
  const { code } = ServingError.from(reason);
  const header = JSON.stringify({ error: { code, message: publicText(reason) } });
  return writeFrame({ id, slot: -1, header, body: [] });
}

interface CallHeader {
  readonly slot?: number;
  readonly tensors?: readonly TensorEntry[];
}

/** An error as Python answers it: with a code of {@link ServingError}, and the traceback as its detail. */
export interface PythonError {
  readonly code: string;
  readonly message: string;
  readonly detail: string | null;
  /** The reason and the members of an ErrorHint, by their names on the wires. */
  readonly hint?: unknown;
}

/** Longer texts are useless for a client, and searching for paths takes time. */
const MAX_MESSAGE = 4096;

/**
 * Python's error as one of ours; without paths for a client, while the user who loads
 * a model or a hook file may see them.
 */
export function fromPythonError({ code, message, detail, hint }: PythonError, isForClient: boolean): ServingError {
  const toShown = isForClient ? hidePaths : String;
  const text = toShown(message.slice(0, MAX_MESSAGE));
  const details = isTextRecord(hint) ? changeDetails([fromPythonHint(hint)], toShown) : undefined;
  const cause = detail === null ? {} : { cause: tracebackOf(detail) };
  return new ServingError(code as ServingError["code"], text, { details, ...cause });
}

function fromPythonHint({ reason = "", ...facts }: Readonly<Record<string, string>>): ErrorDetail {
  return errorInfo(reason, facts);
}

/** An error whose stack is Python's alone. */
function tracebackOf(detail: string): Error {
  return Object.assign(new Error(detail), { stack: detail });
}
