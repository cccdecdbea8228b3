/** Hooks that misbehave for requests whose first value is negative: it says how. All others get their inputs back. */
import { createTensor, defineHooks, encodeImage, type Tensor, type Tensors, transfer } from "kserving";

/** Faults of a hook. */
export const FAULTS = {
  throws: -1,
  rejects: -2,
  "never settles": -3,
  "spins forever": -4,
  "allocates until its limit": -5,
  "ends its thread": -6,
  "throws what is no Error": -7,
  "keeps a handle open": -8,
  "changes its inputs": -9,
  "returns a tensor twice": -10,
  "uses a tensor that it handed on": -11,
  "lets a promise be rejected later": -12,
  "is terminated while images are encoded": -13,
  "is terminated while its model runs": -14,
  "keeps buffers until its limit": -15,
} as const;

interface State {
  handedOn: Tensor;
}

export default defineHooks<State>({
  preprocess: (inputs, ctx, { driver }) => {
    const fault = Number(inputs.x?.data[0]);
    if (!(fault < 0)) return inputs;
    if (fault === FAULTS["uses a tensor that it handed on"]) ctx.handedOn = inputs.x as Tensor;
    return misbehave(fault, inputs, driver.predict.bind(driver));
  },
  postprocess: (outputs, { handedOn }) => (handedOn === undefined ? outputs : { handedOn }),
});

function misbehave(fault: number, inputs: Tensors, predict: (inputs: Tensors) => Promise<Tensors>) {
  const x = inputs.x as Tensor<"float32">;
  switch (fault) {
    case FAULTS.throws:
      throw new Error("broken");
    case FAULTS.rejects:
      return Promise.reject(new Error("broken"));
    case FAULTS["never settles"]:
      return new Promise<Tensors>(() => {});
    case FAULTS["spins forever"]:
      return spin();
    case FAULTS["allocates until its limit"]:
      return fill();
    case FAULTS["keeps buffers until its limit"]:
      return keepBuffers();
    case FAULTS["ends its thread"]:
      return process.exit(1);
    case FAULTS["throws what is no Error"]:
      throw "broken";
    case FAULTS["keeps a handle open"]:
      setInterval(() => {}, 1e6);
      return inputs;
    case FAULTS["changes its inputs"]:
      x.data[0] = 1;
      return inputs;
    case FAULTS["returns a tensor twice"]:
      return { x, y: x };
    case FAULTS["uses a tensor that it handed on"]:
      return { x: transfer(x) };
    case FAULTS["lets a promise be rejected later"]:
      setTimeout(() => void Promise.reject(new Error("late")));
      return inputs;
    case FAULTS["is terminated while images are encoded"]:
      return encodeAndSpin();
    default:
      return predictAndSpin(predict, inputs);
  }
}

function spin(): never {
  for (;;);
}

function fill(): never {
  const all: number[][] = [];
  for (;;) all.push(new Array<number>(1e5).fill(Math.random()));
}

async function keepBuffers(): Promise<never> {
  for (const all: Buffer[] = []; ; await new Promise(setImmediate)) all.push(Buffer.alloc(1e6));
}

/** More than all threads of the pool get done before the stall is noticed. */
async function encodeAndSpin(): Promise<Tensors> {
  const image = createTensor("uint8", [2000, 2000, 3], new Uint8Array(2000 * 2000 * 3));
  for (let count = 0; count < 100; count++) void encodeImage(image, { format: "jpeg" });
  // The encoder is loaded with the first image.
  await new Promise((resolve) => setTimeout(resolve, 100));
  return spin();
}

async function predictAndSpin(predict: (inputs: Tensors) => Promise<Tensors>, inputs: Tensors): Promise<Tensors> {
  void predict(inputs);
  await new Promise((resolve) => setTimeout(resolve, 50));
  return spin();
}
