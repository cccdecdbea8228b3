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

/**
 * The source of a driver whose model has this signature, and others by name, and tells as texts what it gets:
 * `2,1: 5 | missing`.
 */
export function tellingDriver(signature: object, others: object = {}): string {
  return `
const textOf = (one) => typeof one !== "object" ? String(one) : one[0] === 255 ? "missing" : Buffer.from(one).toString();
const told = ({ shape, data }) => shape + ": " + Array.from(data, textOf).join(" | ");
export default {
  name: "telling", options: {}, pathless: true,
  load: async () => ({
    signatures: { serving_default: ${JSON.stringify(signature)}, ...${JSON.stringify(others)} },
    predict: async (inputs) => Object.fromEntries(Object.entries(inputs).map(([name, tensor]) =>
      ["got_" + name, { dtype: "bytes", shape: [1], data: [Buffer.from(told(tensor))] }])),
    close: async () => {},
  }),
};`;
}
