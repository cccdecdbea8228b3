import { type Certificates, type MeasuredPod, readApi } from "./api-client.ts";

/** Time over which processor time is averaged. */
const WINDOW_MS = 10_000;
const EVERY_MS = 2000;
const SAMPLE =
  /^container_(cpu_usage_seconds_total|memory_working_set_bytes)\{container="([^"]*)",namespace="([^"]*)",pod="([^"]*)"\} (\S+)/gm;

interface Sample {
  readonly time: number;
  /** Seconds of processor time by `namespace/pod/container`. */
  readonly cpu: Map<string, number>;
  readonly memory: Map<string, number>;
}

/** Use of processors and memory by containers, as the kubelet says it every two seconds. */
export class UsageSamples {
  readonly #samples: Sample[] = [];

  constructor(certificates: Certificates) {
    const read = () => readApi("/api/v1/nodes/node1/proxy/metrics/resource", certificates);
    setInterval(
      () =>
        read().then(
          (text) => this.#add(text),
          () => undefined,
        ),
      EVERY_MS,
    );
  }

  #add(text: string): void {
    const sample: Sample = { time: Date.now(), cpu: new Map(), memory: new Map() };
    for (const [, kind, container, namespace, pod, value] of text.matchAll(SAMPLE))
      sample[kind?.startsWith("cpu") ? "cpu" : "memory"].set(`${namespace}/${pod}/${container}`, Number(value));
    this.#samples.push(sample);
    while (this.#samples.length > 2 && (this.#samples[1] as Sample).time < sample.time - WINDOW_MS)
      this.#samples.shift();
  }

  /** Kubernetes' PodMetrics; undefined for a pod that has not been seen twice. */
  of(namespace: string, { metadata, spec }: MeasuredPod): object | undefined {
    const last = this.#samples.at(-1);
    const keys = spec.containers.map(({ name }) => ({ name, key: `${namespace}/${metadata.name}/${name}` }));
    const first = this.#samples.find(({ cpu }) => keys.every(({ key }) => cpu.has(key)));
    if (last === undefined || first === undefined || first === last) return undefined;
    const seconds = (last.time - first.time) / 1000;
    const containers = keys.map(({ name, key }) => {
      const cores = ((last.cpu.get(key) ?? 0) - (first.cpu.get(key) ?? 0)) / seconds;
      const bytes = last.memory.get(key) ?? 0;
      return { name, usage: { cpu: `${Math.round(Math.max(0, cores) * 1e9)}n`, memory: `${Math.round(bytes)}` } };
    });
    const { name, labels } = metadata;
    const timestamp = new Date(last.time).toISOString();
    return { metadata: { name, namespace, labels }, timestamp, window: `${seconds}s`, containers };
  }
}
