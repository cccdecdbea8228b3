import type { RequestRecord, RouteName } from "../request-record.ts";
import type { MetricName } from "./catalogue.ts";
import { type MetricFamily, type Sample, toFamily } from "./catalogue.ts";
import { Histogram, type HistogramData, SECONDS_BOUNDS } from "./histogram.ts";

/** Requests of one route that one version answered; `model` and `version` are empty for those that reached none. */
export interface RouteSeries {
  readonly route: RouteName;
  readonly model: string;
  readonly version: string;
  /** Numbers of requests by HTTP's status or gRPC's code. */
  readonly counts: Map<number | string, number>;
  /** Each time in seconds; without values if no request got so far. */
  readonly times: Readonly<Record<keyof typeof TIMES, Histogram>>;
  /** Examples of each request that has any. */
  readonly examples: Histogram;
  /** Bytes of the requests and of their answers. */
  readonly bytes: ByteCounts;
}

/** A {@link RouteSeries} as plain data, which crosses threads. */
export interface PlainSeries extends Pick<RouteSeries, "route" | "model" | "version" | "counts" | "bytes"> {
  readonly times: Readonly<Record<keyof typeof TIMES, HistogramData>>;
  readonly examples: HistogramData;
}

interface ByteCounts {
  received: number;
  sent: number;
}

const TIMES = {
  totalMs: "kserving_request_duration_seconds",
  deserializationMs: "kserving_request_decode_seconds",
  inferenceMs: "kserving_request_inference_seconds",
  serializationMs: "kserving_request_encode_seconds",
} as const satisfies Record<string, MetricName>;
const TIME_NAMES = Object.keys(TIMES) as readonly (keyof typeof TIMES)[];

/** Upper ends of the ranges of numbers of examples: 1, 2, 4 … 16384, as TensorFlow Serving counts them. */
export const EXAMPLES_BOUNDS: readonly number[] = Array.from({ length: 15 }, (_, power) => 2 ** power);

/** Stands for requests that belong to no protocol. */
const NO_ROUTE: RouteName = { protocol: "", method: "" };
/** Stands for requests that reached no version of this server. */
const NO_MODEL = { model: "", version: undefined };

/** The requests of one route by model, and by version. */
type RouteModels = Map<string, Map<bigint | undefined, RouteSeries>>;

/** Counts and times of all requests, by their route and by the version that answered. */
export class RequestMetrics {
  /** By the first name of each route that was seen. */
  readonly #routes = new Map<RouteName, RouteModels>();
  /** The same by each name, of which equal ones may come and go. */
  #byName = new WeakMap<RouteName, RouteModels>();
  /** Bytes by protocol that versions have got which are gone: the counters go on. */
  readonly #goneBytes = new Map<string, ByteCounts>();
  /** The one that was counted last, which the next request is of as a rule. */
  #last: { readonly series: RouteSeries; readonly version: bigint | undefined } | undefined;
  /** Threads that count too. */
  readonly #sources = new Set<() => Promise<readonly PlainSeries[]>>();

  /**
   * Adds a thread that counts too; its counts since the last call are fetched by
   * {@link gather}. Returns a function that removes it.
   */
  addSource(take: () => Promise<readonly PlainSeries[]>): () => void {
    this.#sources.add(take);
    return () => this.#sources.delete(take);
  }

  /** Fetches the counts of other threads; to be awaited before these are read. */
  async gather(): Promise<void> {
    if (this.#sources.size === 0) return;
    const taken = await Promise.all(Array.from(this.#sources, (take) => take()));
    for (const series of taken.flat()) this.#merge(series);
  }

  /** Everything that was counted since the last call, which is not counted here any more. */
  take(): readonly PlainSeries[] {
    const taken = this.series().map(({ route, model, version, counts, bytes, times, examples }) => {
      const { totalMs, deserializationMs, inferenceMs, serializationMs } = times;
      const plain = {
        totalMs: toPlain(totalMs),
        deserializationMs: toPlain(deserializationMs),
        inferenceMs: toPlain(inferenceMs),
        serializationMs: toPlain(serializationMs),
      };
      return { route: { ...route }, model, version, counts, bytes, times: plain, examples: toPlain(examples) };
    });
    this.#routes.clear();
    this.#byName = new WeakMap();
    this.#last = undefined;
    return taken;
  }

  /** Counts a request that is over; `status` = HTTP's number, or gRPC's code. */
  add(record: RequestRecord, status: number | string): void {
    const { route = NO_ROUTE } = record;
    const { counts, times, examples, bytes } = this.#seriesOf(route, record);
    const { totalMs, deserializationMs, inferenceMs, serializationMs } = record;
    counts.set(status, (counts.get(status) ?? 0) + 1);
    times.totalMs.observe(totalMs / 1000);
    if (deserializationMs !== undefined) times.deserializationMs.observe(deserializationMs / 1000);
    if (inferenceMs !== undefined) times.inferenceMs.observe(inferenceMs / 1000);
    if (serializationMs !== undefined) times.serializationMs.observe(serializationMs / 1000);
    if (record.examples !== undefined) examples.observe(record.examples);
    bytes.received += record.requestBytes;
    bytes.sent += record.responseBytes;
  }

  /** Every route's requests, by version. */
  series(): readonly RouteSeries[] {
    const models = [...this.#routes.values()].flatMap((byModel) => [...byModel.values()]);
    return models.flatMap((byVersion) => [...byVersion.values()]);
  }

  /** Leaves out what other versions than these have answered. */
  forget(served: readonly { readonly model: string; readonly version: bigint }[]): void {
    const keys = new Set(served.map(({ model, version }) => `${version}/${model}`));
    this.#last = undefined;
    this.#byName = new WeakMap();
    for (const [name, byModel] of this.#routes) {
      for (const [model, byVersion] of byModel) {
        for (const [version, { route, bytes }] of byVersion) {
          if (version === undefined || keys.has(`${version}/${model}`)) continue;
          byVersion.delete(version);
          addBytes(this.#goneBytes, route.protocol, bytes);
        }
        if (byVersion.size === 0) byModel.delete(model);
      }
      if (byModel.size === 0) this.#routes.delete(name);
    }
  }

  /** All metrics of requests. */
  families(): readonly MetricFamily[] {
    const series = this.series();
    const bytes = [...this.#bytesByProtocol(series)];
    return [
      toFamily("kserving_requests_total", series.flatMap(countSamples)),
      ...TIME_NAMES.map((time) =>
        toFamily(
          TIMES[time],
          series.flatMap((one) => timeSample(one, time)),
        ),
      ),
      toFamily(
        "kserving_request_received_bytes_total",
        bytes.map(([protocol, { received }]) => ({ labels: [protocol], value: received })),
      ),
      toFamily(
        "kserving_request_sent_bytes_total",
        bytes.map(([protocol, { sent }]) => ({ labels: [protocol], value: sent })),
      ),
    ];
  }

  #bytesByProtocol(all: readonly RouteSeries[]): ReadonlyMap<string, ByteCounts> {
    const sums = new Map([...this.#goneBytes].map(([protocol, bytes]) => [protocol, { ...bytes }]));
    for (const { route, bytes } of all) addBytes(sums, route.protocol, bytes);
    return sums;
  }

  #seriesOf(route: RouteName, record: RequestRecord): RouteSeries {
    const { model, version } = record.isServedHere ? record : NO_MODEL;
    const last = this.#last;
    if (last !== undefined && last.version === version && last.series.route === route && last.series.model === model)
      return last.series;
    const series = this.#seriesAt(route, model, version);
    this.#last = { series, version };
    return series;
  }

  #seriesAt(route: RouteName, model: string, version: bigint | undefined): RouteSeries {
    const byVersion = valueAt(this.#modelsOf(route), model, () => new Map<bigint | undefined, RouteSeries>());
    const newOne = () => newSeries(route, model, version === undefined ? "" : String(version));
    return valueAt(byVersion, version, newOne);
  }

  #modelsOf(route: RouteName): RouteModels {
    const known = this.#byName.get(route);
    if (known !== undefined) return known;
    const models = valueAt(this.#routes, this.#firstNameOf(route), () => new Map());
    this.#byName.set(route, models);
    return models;
  }

  #firstNameOf(route: RouteName): RouteName {
    const { protocol, method } = route;
    for (const known of this.#routes.keys()) if (known.protocol === protocol && known.method === method) return known;
    return route;
  }

  #merge({ route, model, version, counts, bytes, times, examples }: PlainSeries): void {
    const series = this.#seriesAt(route, model, version === "" ? undefined : BigInt(version));
    for (const [status, count] of counts) series.counts.set(status, (series.counts.get(status) ?? 0) + count);
    for (const name of TIME_NAMES) series.times[name].add(times[name]);
    series.examples.add(examples);
    series.bytes.received += bytes.received;
    series.bytes.sent += bytes.sent;
  }
}

function newSeries(route: RouteName, model: string, version: string): RouteSeries {
  const [totalMs, deserializationMs] = [new Histogram(SECONDS_BOUNDS), new Histogram(SECONDS_BOUNDS)];
  const [inferenceMs, serializationMs] = [new Histogram(SECONDS_BOUNDS), new Histogram(SECONDS_BOUNDS)];
  const times = { totalMs, deserializationMs, inferenceMs, serializationMs };
  const examples = new Histogram(EXAMPLES_BOUNDS);
  return { route, model, version, counts: new Map(), times, examples, bytes: { received: 0, sent: 0 } };
}

function toPlain({ counts, sum }: Histogram): HistogramData {
  return { counts, sum };
}

function labelsOf({ route, model, version }: RouteSeries): string[] {
  return [model, version, route.protocol, route.method];
}

function countSamples(series: RouteSeries): Sample[] {
  return [...series.counts].map(([status, value]) => ({ labels: [...labelsOf(series), String(status)], value }));
}

function timeSample(series: RouteSeries, time: keyof typeof TIMES): Sample[] {
  const value = series.times[time];
  return value.isEmpty ? [] : [{ labels: labelsOf(series), value }];
}

function addBytes(sums: Map<string, ByteCounts>, protocol: string, { received, sent }: ByteCounts): void {
  const sum = valueAt(sums, protocol, () => ({ received: 0, sent: 0 }));
  sum.received += received;
  sum.sent += sent;
}

/** A map's value of a key, made if it has none. */
function valueAt<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
