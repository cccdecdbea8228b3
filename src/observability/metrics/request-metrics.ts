import type { RequestRecord } from "../request-record.ts";
import type { RouteName } from "../route-name.ts";
import type { MetricName } from "./catalogue.ts";
import { Histogram, SECONDS_BOUNDS } from "./histogram.ts";
import { type MetricFamily, type Sample, toFamily } from "./metric-family.ts";

/** Requests of one route that one version answered; `model` and `version` are empty for those that reached none. */
export interface RouteSeries {
  readonly route: RouteName;
  readonly model: string;
  readonly version: string;
  /** Numbers of requests by HTTP's status or gRPC's code. */
  readonly counts: Map<number | string, number>;
  /** Each time in seconds; without values where no request got so far. */
  readonly times: Readonly<Record<keyof typeof TIMES, Histogram>>;
}

const TIMES = {
  totalMs: "kserving_request_duration_seconds",
  deserializationMs: "kserving_request_decode_seconds",
  inferenceMs: "kserving_request_inference_seconds",
  serializationMs: "kserving_request_encode_seconds",
} as const satisfies Record<string, MetricName>;
const TIME_NAMES = Object.keys(TIMES) as readonly (keyof typeof TIMES)[];

/** Stands for requests that are no protocol's. */
const NO_ROUTE: RouteName = { protocol: "", method: "" };
/** Stands for requests that reached no version of this server. */
const NO_MODEL = { model: "", version: undefined };

/** Bytes of the requests and answers of one protocol. */
interface ByteCounts {
  received: number;
  sent: number;
}

/** Counts and times of all requests, by their route and by the version that answered. */
export class RequestMetrics {
  readonly #routes = new Map<RouteName, Map<string, Map<bigint | undefined, RouteSeries>>>();
  readonly #bytes = new Map<string, ByteCounts>();

  /** Counts a request that is over; `status` = HTTP's number, or gRPC's code. */
  add(record: RequestRecord, status: number | string): void {
    const { route = NO_ROUTE } = record;
    const { counts, times } = this.#seriesOf(route, record);
    counts.set(status, (counts.get(status) ?? 0) + 1);
    for (const name of TIME_NAMES) {
      const ms = record[name];
      if (ms !== undefined) times[name].observe(ms / 1000);
    }
    const bytes = valueAt(this.#bytes, route.protocol, () => ({ received: 0, sent: 0 }));
    bytes.received += record.requestBytes;
    bytes.sent += record.responseBytes;
  }

  /** Every route's requests, by version. */
  series(): readonly RouteSeries[] {
    const models = [...this.#routes.values()].flatMap((byModel) => [...byModel.values()]);
    return models.flatMap((byVersion) => [...byVersion.values()]);
  }

  /** Leaves out what versions have answered that are not served any more. */
  forget(isServed: (model: string, version: bigint) => boolean): void {
    for (const byModel of this.#routes.values()) {
      for (const [model, byVersion] of byModel) {
        for (const version of byVersion.keys()) {
          if (version !== undefined && !isServed(model, version)) byVersion.delete(version);
        }
      }
    }
  }

  /** All metrics of requests. */
  families(): readonly MetricFamily[] {
    const series = this.series();
    const bytes = [...this.#bytes];
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

  #seriesOf(route: RouteName, record: RequestRecord): RouteSeries {
    const { model, version } = record.isServedHere ? record : NO_MODEL;
    const byModel = valueAt(this.#routes, route, () => new Map<string, Map<bigint | undefined, RouteSeries>>());
    const byVersion = valueAt(byModel, model, () => new Map<bigint | undefined, RouteSeries>());
    return valueAt(byVersion, version, () => newSeries(route, model, version === undefined ? "" : String(version)));
  }
}

function newSeries(route: RouteName, model: string, version: string): RouteSeries {
  const [totalMs, deserializationMs] = [new Histogram(SECONDS_BOUNDS), new Histogram(SECONDS_BOUNDS)];
  const [inferenceMs, serializationMs] = [new Histogram(SECONDS_BOUNDS), new Histogram(SECONDS_BOUNDS)];
  const times = { totalMs, deserializationMs, inferenceMs, serializationMs };
  return { route, model, version, counts: new Map(), times };
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

/** A map's value of a key, made where it has none. */
function valueAt<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
