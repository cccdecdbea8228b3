import { type Certificates, type MeasuredPod, readApi } from "./api-client.ts";

const EVERY_MS = 2000;
/** Value of a container, and the milliseconds at which the kubelet measured it. */
const SAMPLE =
  /^container_(cpu_usage_seconds_total|memory_working_set_bytes)\{container="([^"]*)",namespace="([^"]*)",pod="([^"]*)"\} (\S+) (\d+)/gm;

/** Processor time of a container until a measurement, and its use since the one before. */
interface Measurement {
  readonly ms: number;
  readonly cpuSeconds: number;
  /** Undefined until it was measured twice. */
  readonly cores: number | undefined;
}

/** Use of processors and memory by containers, as the kubelet measures it every ten seconds or so. */
export class UsageSamples {
  /** By `namespace/pod/container`. */
  readonly #measurements = new Map<string, Measurement>();
  readonly #bytes = new Map<string, number>();

  constructor(certificates: Certificates) {
    const read = () => readApi("/api/v1/nodes/node1/proxy/metrics/resource", certificates);
    const add = (text: string) => this.#add(text);
    setInterval(() => void read().then(add, () => undefined), EVERY_MS);
  }

  #add(text: string): void {
    for (const [, kind, container, namespace, pod, value, ms] of text.matchAll(SAMPLE)) {
      const key = `${namespace}/${pod}/${container}`;
      if (kind?.startsWith("cpu")) this.#measure(key, Number(value), Number(ms));
      else this.#bytes.set(key, Number(value));
    }
  }

  #measure(key: string, cpuSeconds: number, ms: number): void {
    const before = this.#measurements.get(key);
    if (before?.ms === ms) return;
    const cores = before && Math.max(0, (cpuSeconds - before.cpuSeconds) / ((ms - before.ms) / 1000));
    this.#measurements.set(key, { ms, cpuSeconds, cores });
  }

  /** Kubernetes' PodMetrics; undefined for a pod that was not measured twice. */
  of(namespace: string, { metadata, spec }: MeasuredPod): object | undefined {
    const { name, labels } = metadata;
    const containers = spec.containers.flatMap((container) => {
      const key = `${namespace}/${name}/${container.name}`;
      const cores = this.#measurements.get(key)?.cores;
      if (cores === undefined) return [];
      const usage = { cpu: `${Math.round(cores * 1e9)}n`, memory: `${this.#bytes.get(key) ?? 0}` };
      return [{ name: container.name, usage }];
    });
    if (containers.length < spec.containers.length) return undefined;
    return { metadata: { name, namespace, labels }, timestamp: new Date().toISOString(), window: "10s", containers };
  }
}
