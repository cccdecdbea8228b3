/** A driver of a model that gives back an image and a text. */
export const PIXELS = `
const specs = [{ name: "photo", dtype: "uint8", shape: [-1, -1, -1, 3] }, { name: "note", dtype: "bytes", shape: [-1, 1] }];
export default {
  name: "pixels", options: {}, pathless: true,
  load: async () => ({
    signatures: { serving_default: { inputs: specs, outputs: specs } },
    predict: async (inputs) => inputs,
    close: async () => {},
  }),
};`;
