import type { CompiledNetwork, Network, Port, PortRole } from "./engine.ts";
import type { TensorNames } from "./tflite-names.ts";

/** A network whose inputs and outputs are called by other names than OpenVINO's, which still find them. */
export class RenamedNetwork implements Network {
  readonly #network: Network;
  /** The new names by place. */
  readonly #names: Readonly<Record<PortRole, ReadonlyMap<number, string>>>;

  /** Takes over the network; a name of a tensor that it does not have is left out. */
  constructor(network: Network, names: TensorNames) {
    this.#network = network;
    const byPlace = (role: PortRole) =>
      new Map(
        Array.from(names[role]).flatMap(([name, other]): [number, string][] => {
          const place = network.find(role, name);
          return place === undefined ? [] : [[place, other]];
        }),
      );
    this.#names = { inputs: byPlace("inputs"), outputs: byPlace("outputs") };
  }

  get inputs(): readonly Port[] {
    return this.#renamed("inputs");
  }

  get outputs(): readonly Port[] {
    return this.#renamed("outputs");
  }

  find(role: PortRole, name: string): number | undefined {
    return Array.from(this.#names[role]).find(([, other]) => other === name)?.[0] ?? this.#network.find(role, name);
  }

  reshape(...given: Parameters<Network["reshape"]>): void {
    this.#network.reshape(...given);
  }

  changeLayouts(...given: Parameters<Network["changeLayouts"]>): void {
    this.#network.changeLayouts(...given);
  }

  compile(...given: Parameters<Network["compile"]>): Promise<CompiledNetwork> {
    return this.#network.compile(...given);
  }

  release(): void {
    this.#network.release();
  }

  #renamed(role: PortRole): Port[] {
    return this.#network[role].map((port, place) => {
      const name = this.#names[role].get(place);
      if (name === undefined || name === port.name) return port;
      return { ...(port.name !== undefined && { nativeName: port.name }), ...port, name };
    });
  }
}
