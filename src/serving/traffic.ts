/** A version of the same model, or another model, whose default version answers. */
export interface TrafficTarget {
  readonly version?: bigint;
  readonly model?: string;
}

/** One part of a split. */
export interface WeightedTarget extends TrafficTarget {
  /** Its weight, relative to the sum of all weights. */
  readonly weight: number;
}

/** Routing of requests that name no version to several versions or models. */
export interface Split {
  readonly targets: readonly WeightedTarget[];
  /** Name of the header or gRPC metadata, in lower case: requests with the same value go to the same target. */
  readonly sticky?: string;
  /**
   * Names of the inputs that decide instead, or all of them: requests in which these are equal go to the same target.
   */
  readonly stickyInputs?: readonly string[] | "all";
}

/** Copies of requests that name no version are sent to another version or model; their answers are discarded. */
export interface Shadow extends TrafficTarget {
  /** The share of the requests that is copied, from 0 to 1. */
  readonly share: number;
}

/** Routing of a model's requests that name no version; absent = all go to the highest available version. */
export interface Traffic {
  readonly split?: Split;
  readonly shadow?: Shadow;
}

/** The parts of a request that decide its target. */
export interface RoutedRequest {
  /** gRPC metadata or HTTP headers, names lower-cased. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Equal for equal inputs, if these decide and are known. */
  readonly inputKey?: string | undefined;
  /** True if traffic rules do not apply to it: it goes to the highest available version. */
  readonly ignoresTraffic?: boolean;
}

/**
 * Chooses one of the available targets by weight; undefined if none is available. Without a request, for a
 * description, it chooses the one with the greatest weight. A sticky user whose target is not available goes elsewhere;
 * all other users keep theirs.
 */
export function chooseTarget(
  { targets, sticky }: Split,
  isAvailable: (target: TrafficTarget) => boolean,
  request: RoutedRequest | undefined,
): WeightedTarget | undefined {
  if (request === undefined) return greatest(targets.filter(isAvailable));
  const value = sticky === undefined ? request.inputKey : request.metadata[sticky];
  const point = value === undefined ? Math.random() : pointOf(value);
  const chosen = targetAt(targets, point);
  return chosen !== undefined && isAvailable(chosen) ? chosen : targetAt(targets.filter(isAvailable), point);
}

function targetAt(targets: readonly WeightedTarget[], point: number): WeightedTarget | undefined {
  let left = point * targets.reduce((sum, { weight }) => sum + weight, 0);
  for (const target of targets) {
    left -= target.weight;
    if (left < 0) return target;
  }
  return undefined;
}

function greatest(targets: readonly WeightedTarget[]): WeightedTarget | undefined {
  return targets.reduce<WeightedTarget | undefined>(
    (best, one) => (best && best.weight >= one.weight ? best : one),
    undefined,
  );
}

/** A number from 0 to 1 (excluded) that depends on the text alone: its FNV-1a hash with MurmurHash3's final mix. */
function pointOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** A target as users write it: a version's number, or a model's name. */
export function targetText({ version, model = "" }: TrafficTarget): string {
  return version === undefined ? model : String(version);
}

/** The split and the shadow as text: `split 1 = 90, 2 = 10 by x-user; shadow 3 (10 %)`. */
export function trafficText({ split, shadow }: Traffic): string {
  const weights = split?.targets.map((target) => `${targetText(target)} = ${target.weight}`).join(", ");
  const by = split === undefined ? "" : stickyText(split);
  const copied = shadow && `shadow ${targetText(shadow)} (${Math.round(shadow.share * 1e4) / 100} %)`;
  return [weights && `split ${weights}${by}`, copied].filter((text) => text !== undefined).join("; ");
}

function stickyText({ sticky, stickyInputs }: Split): string {
  if (stickyInputs !== undefined)
    return stickyInputs === "all" ? " by inputs" : ` by inputs ${stickyInputs.join(", ")}`;
  return sticky === undefined ? "" : ` by ${sticky}`;
}

/** Names of the models to which a model's requests are routed or copied. */
export function modelsOfTraffic({ split, shadow }: Traffic = {}): readonly string[] {
  return [...(split?.targets ?? []), ...(shadow ? [shadow] : [])].flatMap(({ model }) => model ?? []);
}
