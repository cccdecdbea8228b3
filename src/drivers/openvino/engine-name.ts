/** Bindings to OpenVINO: `native` its C library, `node` the npm package openvino-node. */
export const ENGINE_NAMES = ["native", "node"] as const;

/** One of {@link ENGINE_NAMES}. */
export type EngineName = (typeof ENGINE_NAMES)[number];
