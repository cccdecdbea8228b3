/** The source of a driver whose model gives back what it gets; `inputs` are its inputs and its outputs. */
export function echoDriver(inputs: readonly object[]): string {
  return `
const specs = ${JSON.stringify(inputs)};
export default {
  name: "pixels", options: {}, pathless: true,
  load: async () => ({
    signatures: { serving_default: { inputs: specs, outputs: specs } },
    predict: async (inputs) => inputs,
    close: async () => {},
  }),
};`;
}

/** A driver whose model gives back an image and a text. */
export const PIXELS = echoDriver([
  { name: "photo", dtype: "uint8", shape: [-1, -1, -1, 3] },
  { name: "note", dtype: "bytes", shape: [-1, 1] },
]);
