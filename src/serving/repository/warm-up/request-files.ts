import { stat } from "node:fs/promises";
import { join } from "node:path";
import { failedPrecondition, invalidArgument, ServingError } from "../../../errors.ts";
import type { Logger } from "../../../observability/logger.ts";
import { withRegularFile } from "../../../storage/open-regular-file.ts";
import { type Damage, isTfRecordFile, tfRecords } from "../../../storage/tf-records.ts";
import { type NumericDType, numericLayout } from "../../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor, viewBytes } from "../../../tensor/tensor.ts";
import type { RecordedFor, RecordedRequest, RecordedRequests, UnusedLog } from "../../recorded-request.ts";
import type { SampleInput } from "./warm-up-entry.ts";

/** Reads a request, once for each run, which may transfer its inputs. */
export type ReadRequest = () => Promise<RecordedRequest>;
/** Names the request in an error. */
export type Named = <Result>(title: string, run: () => Promise<Result>) => Promise<Result>;

/** The parts that reading a request file needs. */
interface Reading {
  readonly recorded: RecordedRequests;
  readonly target: RecordedFor;
  readonly log: Logger;
  readonly named: Named;
}

/** Runs the request of a JSON file, or the requests of a request log. Throws their errors, with the request named. */
export async function runRequestFile(
  path: string,
  { recorded, target, log, named }: Reading,
  run: (read: ReadRequest) => Promise<void>,
): Promise<void> {
  const title = `The warm-up request ${path}`;
  if (!(await isTfRecordFile(path, title))) {
    const body = await withRegularFile(path, title, ({ file }) => file.readFile());
    return named(title, () => run(() => recorded.readJson(body, target)));
  }
  await runRecordedFile({ path, what: path, isStrict: false }, log, (record, place) =>
    named(place, async () => {
      const requests = await recorded.readLog(record, target);
      if (requests === undefined || "kind" in requests) return requests;
      for (const index of requests.keys())
        await run(async () => ((await recorded.readLog(record, target)) as typeof requests)[index]!);
      return undefined;
    }),
  );
}

/** Path of the warm-up requests in a SavedModel's folder. */
const WARM_UP_FILE = "assets.extra/tf_serving_warmup_requests";

/**
 * Runs the warm-up requests in a SavedModel; does nothing for a model without any. Throws as {@link runRecordedFile}.
 */
export async function runSavedModelRequests(folder: string, log: Logger, run: RunRecord): Promise<void> {
  const path = join(folder, WARM_UP_FILE);
  if (await isThere(path)) await runRecordedFile({ path, what: WARM_UP_FILE, isStrict: true }, log, run);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== "ENOENT" && code !== "ENOTDIR",
  );
}

/** TensorFlow Serving's maximum number of records. */
const MAX_RECORDS = 1000;

/** Runs one record, named by the title in messages; resolves with the kind of one that cannot be run. */
type RunRecord = (record: Uint8Array, title: string) => Promise<UnusedLog | undefined>;

/** A file of recorded requests. */
interface RecordedFile {
  readonly path: string;
  /** Its name in messages. */
  readonly what: string;
  /**
   * True if further records, and those that cannot be run, are errors, as in
   * TensorFlow Serving; else they are skipped.
   */
  readonly isStrict: boolean;
}

/**
 * Runs the requests of a TFRecord file, at most the first thousand, and warns about skipped ones. Throws `data_loss`
 * for a damaged file; of a strict one also `invalid_argument` for too many records, `unimplemented` for other kinds.
 */
async function runRecordedFile({ path, what, isStrict }: RecordedFile, log: Logger, run: RunRecord): Promise<void> {
  const leftOut = new Map<string, number>();
  for await (const { bytes, number } of tfRecords(path, what, damagedIn(what))) {
    if (number > MAX_RECORDS) {
      if (isStrict) throw invalidArgument(`Number of warmup records exceeds the maximum (${MAX_RECORDS}) at ${what}.`);
      log.info(`The first ${MAX_RECORDS} requests of ${path} are run, and the others left out.`);
      break;
    }
    const title = `Record ${number} of ${what}`;
    const unused = await run(bytes, title);
    if (unused === undefined) continue;
    if (isStrict) throw unsupported(unused, title);
    leftOut.set(unused.kind, (leftOut.get(unused.kind) ?? 0) + 1);
  }
  if (leftOut.size === 0) return;
  const kinds = Array.from(leftOut, ([kind, count]) => `${kind} (${count})`).join(", ");
  log.warn(
    `Requests of ${path} are left out: ${kinds}; those of Predict, Classify, Regress and MultiInference are run here.`,
  );
}

/** With TensorFlow Serving's text. */
function unsupported({ kind, field }: UnusedLog, title: string): ServingError {
  return new ServingError("unimplemented", `Unsupported log_type for warmup: ${field}. ${title} is a ${kind}.`);
}

/** With TensorFlow Serving's hint. */
function damagedIn(what: string) {
  return ({ number, problem }: Damage) => {
    const text = `Record ${number} of ${what} ${problem}. Please verify your warmup data is in TFRecord format.`;
    throw new ServingError("data_loss", text);
  };
}

/** Maximum memory of one input, in bytes. */
const MAX_INPUT_BYTES = 2 ** 30;
/** Memory of a string in addition to its content, likewise. */
const STRING_BYTES = 64;
/** Random numbers of one input, which are then repeated: making all of them would take seconds of the main thread. */
const MAX_RANDOM = 2 ** 16;
/** Bytes before each string of a file: its length, little-endian. */
const LENGTH_BYTES = 4;

/**
 * Creates the tensor of a sample's input; throws `failed_precondition` if its file
 * is too short, or is not a regular file.
 */
export async function sampleTensor(input: SampleInput): Promise<Tensor> {
  const { dtype, shape, values, rows } = input;
  const count = elementCount(shape);
  const bytes = count * (dtype === "bytes" ? STRING_BYTES : numericLayout(dtype).bytes);
  if (!(bytes <= MAX_INPUT_BYTES && rows <= MAX_INPUT_BYTES / STRING_BYTES))
    throw fault(input, `takes ${bytes} bytes, more than ${MAX_INPUT_BYTES}`);
  if (typeof values === "object") return fromFile(input, count, await readValues(values.path, input));
  if (dtype === "bytes") return createTensor(dtype, shape, new Array(count).fill(new Uint8Array(0)));
  const data = viewBytes<NumericDType>(dtype, new Uint8Array(bytes));
  if (values === "random") fillRandom(data, dtype);
  return createTensor(dtype, shape, data);
}

/** Numbers from 0 to 1: integers are often indices into a table, which always has these two. */
function fillRandom(data: ReturnType<typeof viewBytes<NumericDType>>, dtype: NumericDType): void {
  const isBig = data instanceof BigInt64Array || data instanceof BigUint64Array;
  const isFloat = data instanceof Float32Array || data instanceof Float64Array;
  // The number one in the types that are stored as bits.
  const one = dtype === "float16" ? 0x3c00 : dtype === "bfloat16" ? 0x3f80 : 1;
  const fresh = Math.min(data.length, MAX_RANDOM);
  for (let at = 0; at < fresh; at++) {
    const value = isFloat ? Math.random() : Math.round(Math.random()) * one;
    data[at] = isBig ? BigInt(value) : value;
  }
  for (let at = fresh; at < data.length; at *= 2) data.copyWithin(at, 0, at);
}

function readValues(path: string, input: SampleInput): Promise<Uint8Array> {
  return withRegularFile(path, `The file of ${titleOf(input)}`, async ({ file, size }) => {
    if (size > MAX_INPUT_BYTES) throw fault(input, `has a file of ${size} bytes, more than ${MAX_INPUT_BYTES}`);
    return new Uint8Array(await file.readFile());
  });
}

/** The file has the values of one row, which are repeated for each row of the batch. */
function fromFile(input: SampleInput, count: number, content: Uint8Array): Tensor {
  const { dtype, shape, rows } = input;
  if (dtype === "bytes") {
    const texts = textsOf(input, count / rows, content);
    return createTensor(dtype, shape, Array.from({ length: rows }, () => texts).flat());
  }
  const rowBytes = (count / rows) * numericLayout(dtype).bytes;
  if (content.length < rowBytes) throw fault(input, `needs ${rowBytes} bytes, but its file has ${content.length}`);
  const bytes = new Uint8Array(rowBytes * rows);
  for (let row = 0; row < rows; row++) bytes.set(content.subarray(0, rowBytes), row * rowBytes);
  return createTensor(dtype, shape, viewBytes<NumericDType>(dtype, bytes));
}

function textsOf(input: SampleInput, count: number, content: Uint8Array): Uint8Array[] {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const texts: Uint8Array[] = [];
  let position = 0;
  while (texts.length < count) {
    const start = position + LENGTH_BYTES;
    position = start > content.length ? Number.POSITIVE_INFINITY : start + view.getUint32(position, true);
    if (position > content.length)
      throw fault(input, `needs ${count} texts, each after 4 bytes of its length, but its file has ${texts.length}`);
    texts.push(content.subarray(start, position));
  }
  return texts;
}

function fault(input: SampleInput, problem: string): Error {
  return failedPrecondition(`${titleOf(input)} ${problem}.`);
}

function titleOf({ name }: SampleInput): string {
  return `the warm-up input "${name}"`;
}
