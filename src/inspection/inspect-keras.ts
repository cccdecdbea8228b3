import { isContainer, type LayerConfig, layersOf } from "../drivers/tensorflow/keras/keras-config.ts";
import { withKerasFile } from "../drivers/tensorflow/keras/keras-file.ts";
import type { ModelSource } from "../drivers/tensorflow/model-source.ts";
import { countOne, type FileFacts } from "./file-facts.ts";

/** Facts about a .keras or .h5 file: its layers. */
export function inspectKeras(source: ModelSource): Promise<FileFacts> {
  return withKerasFile(source, async ({ config: { root, major } }) => {
    const operators = new Map<string, number>();
    for (const { class_name: name } of allLayers(root)) countOne(operators, name);
    const name = String((root.config as { name?: unknown }).name ?? "");
    return {
      format: source.format === "h5" ? "Keras HDF5 file" : "Keras archive",
      producer: `Keras ${major}`,
      operators,
      metadata: { class: root.class_name, ...(name !== "" && { name }) },
    };
  });
}

function allLayers(model: LayerConfig): LayerConfig[] {
  return layersOf(model).flatMap((layer) => (isContainer(layer) ? allLayers(layer) : [layer]));
}
