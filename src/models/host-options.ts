import type { Driver } from "../drivers/driver.ts";
import {
  type OptionSpec,
  type OptionTable,
  parseOptions,
  type RawOptions,
  takesOption,
} from "../drivers/option-table.ts";
import { invalidArgument } from "../errors.ts";
import { IMAGE_OPTIONS, type ImageChoices, parseImageOptions, type RawImageOptions } from "./images/image-options.ts";
import type { Batching } from "./queue/batching.ts";
import {
  isIdleTextOption,
  parseTextOptions,
  type RawTextOptions,
  TEXT_OPTIONS,
  type TextChoices,
} from "./texts/text-options.ts";

/** The `-o` keys that the host takes for every driver. */
interface HostModelOptions extends RawImageOptions, RawTextOptions {
  max_batch_size: number;
  batch_timeout_us: number;
  max_request_rows: number;
  max_enqueued_batches: number;
  allowed_batch_sizes?: string;
  pad_variable_length_inputs: boolean;
  flexible_batch_size: boolean;
  convert_inputs?: boolean;
  fast_lane_us: number;
  labels?: string;
}

/** The `-o` keys that work with every driver, since the server and not the runtime does what they say. */
export const HOST_OPTIONS: OptionTable<HostModelOptions> = {
  max_batch_size: {
    type: "integer",
    min: 0,
    default: 0,
    help: "Rows of one run at most, put together from waiting requests; 0 = each request runs alone, as it does without the option unless the model takes texts.",
  },
  batch_timeout_us: {
    type: "integer",
    min: 0,
    default: 0,
    help: "How long a batch that is not full waits for more, from its first request on, in microseconds; 0 = whatever waits goes together.",
  },
  max_request_rows: {
    type: "integer",
    min: 0,
    default: 0,
    help: "Rows of one request at most; 0 = any number, which runs of max_batch_size rows answer together where that is set.",
  },
  max_enqueued_batches: {
    type: "integer",
    min: 0,
    default: 0,
    help: "Full batches that may wait for each copy at most; further requests fail with `unavailable`; 0 = as many as the server admits.",
  },
  allowed_batch_sizes: {
    type: "string",
    help: "Rows that a batch may have, ascending, separated by commas; smaller batches are padded; the last one equals max_batch_size.",
  },
  pad_variable_length_inputs: {
    type: "boolean",
    default: false,
    help: "Batches requests that differ beyond the first dimension, padded to the largest with each input's own first element.",
  },
  flexible_batch_size: {
    type: "boolean",
    default: false,
    help: "Lets a model with a fixed first dimension take multiples of it: it runs once per so many rows.",
  },
  convert_inputs: {
    type: "boolean",
    help: "Whether numbers of other types become those of an input (uint8 for float32); left out, the openvino driver converts and the others refuse.",
  },
  fast_lane_us: {
    type: "integer",
    min: 0,
    default: 100,
    help: "Longest run of a small model that is made in the main thread, past the wake-up of the model's own, in microseconds; 0 = none. Only drivers whose runs can return at once have such runs.",
  },
  labels: {
    type: "string",
    help: "Names of the classes of outputs of floats with as many columns: separated by commas, or a file with one on each line.",
  },
  ...IMAGE_OPTIONS,
  ...TEXT_OPTIONS,
};

/** Checks that the host takes a key beside those options. */
export function takesHostOption(key: string, raw: RawOptions): boolean {
  return takesOption(HOST_OPTIONS, key) && !isIdleTextOption(key, raw);
}

/** The host's own options for a model. */
export interface HostChoices {
  /** Absent = no batching. */
  readonly batching?: Batching;
  /** Rows of a request at most; 0 = any number. */
  readonly maxRequestRows: number;
  readonly flexibleBatch: boolean;
  /** Converts numbers of other dtypes to those of the inputs. */
  readonly convertInputs: boolean;
  /** Longest run in the main thread, in microseconds; 0 = none. */
  readonly fastLaneUs: number;
  /** Names of classes, or the path of a file with them; absent = those that the model itself has. */
  readonly labels?: string;
  /** Treatment of encoded images. */
  readonly images: ImageChoices;
  /** Treatment of models that lie beside a tokenizer. */
  readonly texts: TextChoices;
}

/** The facts of a driver that decide how the host reads its own keys. */
type HostedDriver = Pick<Driver, "options" | "convertsInputs">;

/** Reads the host's own keys, but not those that the driver reads in its place; throws `invalid_argument`. */
export function parseHostOptions(raw: RawOptions, driver: HostedDriver = { options: {} }): HostChoices {
  const options = parseOptions(HOST_OPTIONS, withoutReplaced(raw, driver.options));
  const { max_batch_size: maxRows, flexible_batch_size: flexibleBatch } = options;
  const convertInputs = options.convert_inputs ?? driver.convertsInputs ?? false;
  const { fast_lane_us: fastLaneUs, labels, max_request_rows: maxRequestRows } = options;
  const images = parseImageOptions(options);
  const texts = parseTextOptions(options);
  const named = labels === undefined ? {} : { labels };
  const choices = { flexibleBatch, convertInputs, fastLaneUs, images, texts, maxRequestRows, ...named };
  if (maxRows === 0) return choices;
  const allowedRows = parseAllowed(options.allowed_batch_sizes ?? "", maxRows);
  const lingerMs = options.batch_timeout_us / 1000;
  const { max_enqueued_batches: maxWaiting, pad_variable_length_inputs: padVariableLength } = options;
  const batching = { maxRows, lingerMs, allowedRows, maxWaiting, padVariableLength };
  return { batching, ...choices };
}

function withoutReplaced(raw: RawOptions, table: OptionTable): RawOptions {
  const specs = table as Readonly<Record<string, OptionSpec>>;
  const isHosts = (key: string) =>
    specs[key]?.replacesHost !== true &&
    !isIdleTextOption(key, raw) &&
    !(Object.hasOwn(TEXT_OPTIONS, key) && specs[key]);
  return Object.fromEntries(Object.entries(raw).filter(([key]) => isHosts(key)));
}

function parseAllowed(text: string, maxRows: number): number[] {
  if (text === "") return [];
  const allowed = text.split(",").map(Number);
  const ascending = allowed.every((rows, index) => Number.isInteger(rows) && rows > (allowed[index - 1] ?? 0));
  if (!ascending) {
    throw invalidArgument(`allowed_batch_sizes is "${text}"; expected ascending integers separated by commas.`);
  }
  if (allowed.at(-1) === maxRows) return allowed;
  throw invalidArgument(
    `Last entry in allowed_batch_sizes must match max_batch_size; last entry was ${allowed.at(-1)}; expected ${maxRows}`,
  );
}
