import type { AddonCore, OpenvinoAddon } from "./addon-api.ts";

/** Parts that all objects of one core share. */
export interface NodeContext {
  readonly addon: OpenvinoAddon;
  readonly core: AddonCore;
}
