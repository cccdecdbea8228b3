import { failedPrecondition, invalidArgument, type ServingError } from "../../errors.ts";
import { didYouMean } from "../../text/nearest.ts";

/** Devices that `-o device=` names. */
export interface DeviceChoice {
  /** As OpenVINO takes it: CPU, HETERO:GPU,CPU. */
  readonly name: string;
  /** The plugin that spreads work over the devices, where one does. */
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
  if (spread === undefined && upper.includes(":")) throw wrong(text, available, didYouMean(first, SPREADS));
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
  if (entries.some(([, , name]) => name === undefined)) throw wrong(text, available);
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

function wrong(text: string, available: readonly string[], hint = ""): ServingError {
  return invalidArgument(
    `Option "device" is "${text}"; expected a device (${available.join(", ")}), or several as HETERO:GPU,CPU, AUTO:GPU,CPU, MULTI:GPU,CPU or BATCH:GPU(8).${hint}`,
  );
}
