import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckContext } from "./check-context.ts";
import { type LoadOptions, type RunningLoad, startLoad } from "./load/load.ts";
import { SENDERS, type Target, type Wire } from "./load/senders.ts";
import { HALF } from "./subjects.ts";
import { waitUntil } from "./wait-until.ts";

/** Values of the chart. */
export type ChartValues = Readonly<Record<string, unknown>>;

/** Namespace of all pods that are checked. */
export const NAMESPACE = "models";
/** Label that a release's pods have. */
const INSTANCE = "app.kubernetes.io/instance";
const CHART = "deploy/helm/kserving";
const WIRES = Object.keys(SENDERS) as readonly Wire[];

/** The chart, installed under a name. */
export class Release {
  readonly name: string;
  readonly #context: CheckContext;

  constructor(name: string, context: CheckContext) {
    this.name = name;
    this.#context = context;
  }

  /** Installs the chart, or changes its values, and waits until the rollout is over. */
  async apply(values: ChartValues): Promise<void> {
    const { cluster, helm } = this.#context;
    const file = join(cluster.place.folder, `${this.name}.json`);
    writeFileSync(file, JSON.stringify(values));
    const command = ["upgrade", "--install", this.name, CHART, `--namespace=${NAMESPACE}`];
    await cluster.namespaces.run([helm, ...command, `--values=${file}`, "--wait", "--timeout=110s"], { seconds: 120 });
  }

  async uninstall(): Promise<void> {
    const { cluster, helm } = this.#context;
    await cluster.namespaces.run([helm, "uninstall", this.name, `--namespace=${NAMESPACE}`, "--wait"]);
  }

  /** All its pods, also those that are being deleted. */
  async pods(): Promise<readonly Pod[]> {
    return JSON.parse(await this.kubectl("get", "pods", `--selector=${INSTANCE}=${this.name}`, "-o=json")).items;
  }

  /** Waits until there are so many pods, all of which are ready. */
  async settled(count: number, seconds = 90): Promise<void> {
    const isReady = ({ status, metadata }: Pod) =>
      metadata.deletionTimestamp === undefined && status.containerStatuses?.every(({ ready }) => ready) === true;
    const isSettled = async () => {
      const pods = await this.pods();
      return pods.length === count && pods.every(isReady);
    };
    await waitUntil(`${this.name} has ${count} pods, all of them ready`, isSettled, seconds);
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.#context.cluster.kubectl(`--namespace=${NAMESPACE}`, ...args);
  }

  /** Address of the Service. */
  async target(): Promise<Target> {
    const host = await this.kubectl("get", "service", this.name, "-o=jsonpath={.spec.clusterIP}");
    return { host, httpPort: 9001, grpcPort: 9000 };
  }

  /** Starts clients of the Service on all wires; each takes a breath of 10 ms. */
  async load(options: Partial<LoadOptions> = {}): Promise<RunningLoad> {
    const target = await this.target();
    const usual = { target, subject: HALF, wires: WIRES, clients: 2, pauseMs: 10 };
    return startLoad(this.#context.cluster.namespaces, { ...usual, ...options });
  }
}

/** A pod as Kubernetes describes it. */
export interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status: { readonly podIP?: string; readonly containerStatuses?: readonly ContainerStatus[] };
}

interface ContainerStatus {
  readonly ready: boolean;
  readonly restartCount: number;
  readonly containerID: string;
  readonly lastState: { readonly terminated?: { readonly reason: string } };
}
