import type { Network, NetworkFiles, OpenvinoCore } from "../engine.ts";
import type { OpenvinoAddon } from "./addon-api.ts";
import { attempt } from "./attempt.ts";
import type { NodeContext } from "./node-context.ts";
import { NodeNetwork } from "./node-network.ts";
import { toText } from "./property-text.ts";

/** ov::Core in openvino-node. */
export class NodeCore implements OpenvinoCore {
  readonly version: string;
  readonly devices: readonly string[];
  readonly #context: NodeContext;

  /** Packages that cannot report the runtime's version have their own version. */
  constructor(addon: OpenvinoAddon, packageVersion: string) {
    const core = new addon.Core();
    this.#context = { addon, core };
    this.version = (addon.getOpenvinoVersion?.().buildNumber ?? packageVersion).split("-", 1)[0]!;
    this.devices = core.getAvailableDevices();
  }

  supportedProperties(device: string): readonly string[] {
    return attempt(() => toText(this.#context.core.getProperty(device, "SUPPORTED_PROPERTIES"))).split(" ");
  }

  setProperty(device: string, key: string, value: string): void {
    attempt(() => this.#context.core.setProperty(device, { [key]: value }));
  }

  addExtension(path: string): void {
    attempt(() => this.#context.core.addExtension(path));
  }

  async readNetwork({ path, weights }: NetworkFiles, device: string): Promise<Network> {
    const { core } = this.#context;
    const model = attempt(() => (weights === undefined ? core.readModelSync(path) : core.readModelSync(path, weights)));
    return new NodeNetwork(this.#context, model, device);
  }

  release(): void {}
}
