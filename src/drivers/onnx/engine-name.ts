/** Ways to call ONNX Runtime: `native` by its C API, `node` by the JavaScript API of onnxruntime-node. */
export const ENGINE_NAMES = ["native", "node"] as const;

/** One of {@link ENGINE_NAMES}. */
export type EngineName = (typeof ENGINE_NAMES)[number];
