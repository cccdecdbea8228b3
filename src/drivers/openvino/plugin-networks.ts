import { failedPrecondition, invalidArgument } from "../../errors.ts";
import type { Signature } from "../../signature/signature.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { ServedNetwork } from "./served-network.ts";

/** Models that hooks have loaded in addition to the stage's own, by the names that the hooks chose. */
export class PluginNetworks {
  readonly #networks = new Map<string, ServedNetwork>();
  readonly #load: (path: string, weights: string | undefined) => Promise<ServedNetwork>;

  constructor(load: (path: string, weights: string | undefined) => Promise<ServedNetwork>) {
    this.#load = load;
  }

  /** Loads a model, in the place of one that has the name. */
  async load(name: string, path: string, weights?: string): Promise<Required<Pick<Signature, "inputs" | "outputs">>> {
    if (typeof name !== "string" || typeof path !== "string")
      throw invalidArgument('plugin.load takes a name and a path: plugin.load("eyes", "eyes.xml").');
    const network = await this.#load(path, weights);
    const former = this.#networks.get(name);
    this.#networks.set(name, network);
    await former?.close();
    return network.signature;
  }

  /** The model of a name; throws `failed_precondition` for one that was not loaded. */
  get(name: string): ServedNetwork {
    const network = this.#networks.get(name);
    if (network !== undefined) return network;
    const known = [...this.#networks.keys()];
    const message = `No model "${name}" was loaded with plugin.load.${didYouMean(name, known)}`;
    throw failedPrecondition(message);
  }

  /** As {@link ServedNetwork.renewals}, of all models that are loaded. */
  get renewals(): number {
    return [...this.#networks.values()].reduce((sum, { renewals }) => sum + renewals, 0);
  }

  /** Frees a model; throws as {@link get}. */
  async unload(name: string): Promise<void> {
    const network = this.get(name);
    this.#networks.delete(name);
    await network.close();
  }

  /** Frees all. */
  async close(): Promise<void> {
    await Promise.all([...this.#networks.values()].map((network) => network.close()));
    this.#networks.clear();
  }
}
