import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { failedPrecondition, invalidArgument, type ServingError } from "../../errors.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import { isObject } from "../../tensor/record.ts";
import type { OpenvinoCore } from "./engine.ts";
import { failureText } from "./openvino-failure.ts";
import type { OpenvinoOptions } from "./openvino-options.ts";

/** A property of OpenVINO, and the option that asks for it. */
interface Property {
  readonly option: keyof OpenvinoOptions;
  readonly key: string;
  readonly value: string;
  /** The one device to set it for; absent = all that are used. */
  readonly device?: string;
  /** True if it is silently skipped if the device does not support it. */
  readonly isDefault?: boolean;
}

/**
 * Sets the options' properties; throws `invalid_argument`, with the option's name and
 * the plugin's text, for a refused one.
 */
export function setProperties(
  core: OpenvinoCore,
  device: DeviceChoice,
  { options, threads }: { readonly options: OpenvinoOptions; readonly threads: number },
): void {
  const targets = [...(device.spread === undefined ? [] : [device.spread]), ...device.bases];
  const supported = new Map(targets.map((target) => [familyOf(target), supportedBy(core, target)]));
  for (const property of [...fromOptions(options, threads), ...fromJson(options.plugin_config)]) {
    const wanted = property.device === undefined ? [...supported.keys()] : [property.device];
    const takers = wanted.filter((name) => supported.get(name)?.includes(property.key) ?? false);
    if (takers.length === 0 && property.isDefault) continue;
    // A plugin that does not support it has its own message.
    for (const taker of takers.length > 0 ? takers : wanted.slice(-1)) set(core, taker, { property, supported });
  }
}

function familyOf(device: string): string {
  return device.split(".")[0]!;
}

/** Some properties belong to OpenVINO itself, not to the plugin. */
function supportedBy(core: OpenvinoCore, device: string): readonly string[] {
  return [...core.supportedProperties(familyOf(device)), "CACHE_DIR"];
}

function set(
  core: OpenvinoCore,
  device: string,
  { property, supported }: { readonly property: Property; readonly supported: ReadonlyMap<string, readonly string[]> },
): void {
  const { option, key, value } = property;
  try {
    core.setProperty(device, key, value);
  } catch (cause) {
    const known = supported.get(device) ?? [];
    const hint = known.includes(key) ? "" : didYouMean(key, known);
    const message = `Option "${option}" sets ${key} to "${value}", which the ${device} plugin refuses: ${failureText(cause)}.${hint}`;
    throw invalidArgument(message, cause);
  }
}

function fromOptions(options: OpenvinoOptions, threads: number): Property[] {
  const { performance_hint, num_streams, inference_threads, inference_precision, cpu_pinning, cache_dir } = options;
  const found: Property[] = [
    { option: "cpu_pinning", key: "ENABLE_CPU_PINNING", value: cpu_pinning ? "YES" : "NO", isDefault: !cpu_pinning },
    {
      option: "inference_threads",
      key: "INFERENCE_NUM_THREADS",
      value: String(inference_threads || Math.max(threads, Number(num_streams) || 1)),
      isDefault: inference_threads === 0,
    },
  ];
  if (inference_precision !== "device") {
    const isDefault = inference_precision === "f32";
    found.push({
      option: "inference_precision",
      key: "INFERENCE_PRECISION_HINT",
      value: inference_precision,
      isDefault,
    });
  }
  if (performance_hint !== undefined)
    found.push({ option: "performance_hint", key: "PERFORMANCE_HINT", value: performance_hint });
  if (num_streams !== undefined) found.push({ option: "num_streams", key: "NUM_STREAMS", value: num_streams });
  if (cache_dir !== undefined) found.push({ option: "cache_dir", key: "CACHE_DIR", value: cache_dir });
  return found;
}

function fromJson(text: string | undefined): Property[] {
  if (text === undefined) return [];
  return Object.entries(parseJson(text)).flatMap(([key, value]) => {
    if (typeof value !== "object" || value === null) return [toProperty(key, value)];
    return Object.entries(value).map(([inner, each]) => ({
      ...toProperty(inner, each),
      device: familyOf(key.toUpperCase()),
    }));
  });
}

/** Names that OpenVINO's releases before 2022 had for properties, as configurations still have them. */
const FORMER: Readonly<Record<string, string>> = {
  CPU_THROUGHPUT_STREAMS: "NUM_STREAMS",
  GPU_THROUGHPUT_STREAMS: "NUM_STREAMS",
  CPU_THREADS_NUM: "INFERENCE_NUM_THREADS",
  CPU_BIND_THREAD: "ENABLE_CPU_PINNING",
  ENFORCE_BF16: "INFERENCE_PRECISION_HINT",
};

/** Values that they had by these names. */
const FORMER_VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  NUM_STREAMS: {
    CPU_THROUGHPUT_AUTO: "AUTO",
    CPU_THROUGHPUT_NUMA: "NUMA",
    GPU_THROUGHPUT_AUTO: "AUTO",
  },
  ENABLE_CPU_PINNING: { NUMA: "YES", HYBRID_AWARE: "YES" },
  INFERENCE_PRECISION_HINT: { YES: "bf16", NO: "f32" },
};

function toProperty(given: string, value: unknown): Property {
  if (typeof value === "object") throw wrongConfig(`${given} is ${JSON.stringify(value)}`);
  const text = typeof value === "boolean" ? (value ? "YES" : "NO") : String(value);
  const former = given.replace(/^KEY_/, "");
  const key = Object.hasOwn(FORMER, former) ? FORMER[former]! : given;
  return { option: "plugin_config", key, value: key === given ? text : (FORMER_VALUES[key]?.[text] ?? text) };
}

function parseJson(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw wrongConfig("it is not JSON", cause);
  }
  if (!isObject(value)) throw wrongConfig("it is not an object");
  return value;
}

function wrongConfig(what: string, cause?: unknown): ServingError {
  const message = `Option "plugin_config" cannot be read: ${what}. Expected properties with their values, such as {"NUM_STREAMS": 2}.`;
  return invalidArgument(message, cause);
}

/** Loads the libraries of `-o extension=`; throws `failed_precondition` for one that is missing or does not load. */
export function addExtensions(core: OpenvinoCore, paths: string): void {
  for (const path of paths
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")) {
    if (!existsSync(path)) throw failedPrecondition(`Option "extension" names "${path}", which does not exist.`);
    try {
      core.addExtension(resolve(path));
    } catch (cause) {
      throw failedPrecondition(
        `The extension "${basename(path)}" does not load into OpenVINO ${core.version}: ${failureText(cause)}. It has to be built for this version.`,
        cause,
      );
    }
  }
}

/** Devices that `-o device=` names. */
export interface DeviceChoice {
  /** As OpenVINO takes it: CPU, HETERO:GPU,CPU. */
  readonly name: string;
  /** The plugin that spreads work over the devices, if one does. */
  readonly spread?: Spread;
  /** The devices that do the work. */
  readonly bases: readonly string[];
}

type Spread = (typeof SPREADS)[number];

const SPREADS = ["AUTO", "MULTI", "HETERO", "BATCH"] as const;
/** Devices that the original kserving knew. */
const GONE: Readonly<Record<string, string>> = {
  MYRIAD: "2022.3",
  HDDL: "2022.1",
  FPGA: "2020.4",
  GNA: "2023.2",
};

/**
 * Reads `-o device=`; throws `invalid_argument` for an invalid name, `failed_precondition` for a device that this
 * machine does not have.
 */
export function parseDevice(text: string, available: readonly string[]): DeviceChoice {
  if (available.length === 0)
    throw failedPrecondition(
      "OpenVINO has no device: its plugins are gone or broken. Install it again: kserving runtimes install openvino.",
    );
  const upper = text.toUpperCase().replaceAll(" ", "");
  const [, first = "", list] = /^(\w+(?:\.\w+)?)(?::(.*))?$/.exec(upper) ?? [];
  const spread = SPREADS.find((name) => name === first);
  if (spread === undefined && upper.includes(":")) throw wrongDevice(text, available, didYouMean(first, SPREADS));
  const bases = parseList(text, spread === undefined ? upper : list, available);
  for (const base of bases) assertThere(base, available);
  if (spread !== undefined) return { name: upper, spread, bases: bases.length > 0 ? bases : available };
  if (bases.length === 1) return { name: bases[0]!, bases };
  return { name: `HETERO:${bases.join(",")}`, spread: "HETERO", bases };
}

/** `GPU(8),-CPU` → GPU: a number of requests may follow a name, and a minus forbids the device. */
function parseList(text: string, list: string | undefined, available: readonly string[]): string[] {
  if (list === undefined) return [];
  const entries = list.split(",").map((entry) => /^(-?)(\w+(?:\.\w+)?)(?:\(\d+\))?$/.exec(entry) ?? []);
  if (entries.some(([, , name]) => name === undefined)) throw wrongDevice(text, available);
  return entries.filter(([, minus]) => minus === "").map(([, , name]) => name as string);
}

function assertThere(base: string, available: readonly string[]): void {
  const [family] = base.split(".") as [string];
  if (available.some((device) => device === base || device.split(".")[0] === base || device === family)) return;
  const gone = GONE[family];
  const why = gone === undefined ? "is not there" : `is gone from OpenVINO since ${gone}`;
  throw failedPrecondition(
    `The device ${base} ${why}; this machine has ${available.join(", ")}; choose with -o device=NAME.`,
  );
}

function wrongDevice(text: string, available: readonly string[], hint = ""): ServingError {
  return invalidArgument(
    `Option "device" is "${text}"; expected a device (${available.join(", ")}), or several as HETERO:GPU,CPU, AUTO:GPU,CPU, MULTI:GPU,CPU or BATCH:GPU(8).${hint}`,
  );
}
