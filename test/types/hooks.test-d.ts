import { createTensor, defineHooks } from "kserving";

/** Types that defineHooks accepts and refuses; checked by the compiler (`npm run typecheck`). */

interface State {
  faces: number;
}

defineHooks<State>({
  preprocess: [
    null,
    (inputs, ctx) => {
      ctx.faces = 3;
      return inputs;
    },
  ],
  postprocess: [
    (outputs, ctx) => {
      const faces: number | undefined = ctx.faces;
      return { ...outputs, faces: faces ?? 0 };
    },
    null,
  ],
});

defineHooks<State>({
  preprocess: (inputs, ctx) => {
    // @ts-expect-error a state attribute has its declared type
    ctx.faces = "three";
    // @ts-expect-error an attribute that State lacks is misspelt
    ctx.fases = 3;
    return inputs;
  },
});

defineHooks({
  init_hook: async ({ model_path, threshold }, { drivers, loadModel }) => {
    const paths: string = model_path + threshold;
    const model = await loadModel("onnx", paths);
    return { model, inputs: drivers[0]?.inputs };
  },
  preprocess: (_inputs, ctx) => {
    ctx.anything = "goes without a declared State";
    return { number: 1, big: 1n, text: "a", flag: true, list: [[1, 2]], bytes: Buffer.alloc(1), json: { a: [1] } };
  },
  postprocess: async () => ({ tensor: createTensor("float32", [1], Float32Array.of(1)) }),
});

defineHooks<object, { who: { name: string } }>({ preprocess: ({ who }) => ({ hello: who.name }) });

// @ts-expect-error a misspelt member
defineHooks({ preproces: (inputs: object) => inputs });

// @ts-expect-error a hook that returns a number
defineHooks({ preprocess: () => 3 });

// @ts-expect-error a hook that returns nothing
defineHooks({ postprocess: () => {} });

// @ts-expect-error a value that is no tensor
defineHooks({ preprocess: () => ({ when: new Map() }) });

// @ts-expect-error a slot that is no hook
defineHooks({ preprocess: [null, "second"] });

// @ts-expect-error a tensor's data fits its dtype
createTensor("int64", [1], Float32Array.of(1));
