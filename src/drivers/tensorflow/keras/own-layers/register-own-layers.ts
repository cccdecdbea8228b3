import { ATTENDING_LAYERS } from "./attending-layers.ts";
import { CONVOLVING_LAYERS } from "./convolving-layers.ts";
import { NORMALIZING_LAYERS } from "./normalizing-layers.ts";
import { registerActivations } from "./own-activations.ts";
import { type OwnLayer, registerLayer } from "./own-layer.ts";
import { SHAPING_LAYERS } from "./shaping-layers.ts";

const OWN_LAYERS: Readonly<Record<string, OwnLayer>> = {
  ...SHAPING_LAYERS,
  ...NORMALIZING_LAYERS,
  ...ATTENDING_LAYERS,
  ...CONVOLVING_LAYERS,
};

/** Lets tfjs-layers make the layers and functions of Keras that it lacks. Once is enough, more often does no harm. */
export function registerOwnLayers(): void {
  for (const [name, layer] of Object.entries(OWN_LAYERS)) registerLayer(name, layer);
  registerActivations();
}
