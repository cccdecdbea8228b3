import { Readable } from "node:stream";
import { createTensor, defineHooks, type Hooks } from "kserving";
import { fakeModel, testHooks } from "kserving/testing";

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

const declared = defineHooks({
  inputs: [{ name: "image", dtype: "uint8", shape: [-1, -1, 3] }],
  outputs: [{ name: "mood", dtype: "bytes" }],
  preprocess: [
    ({ image }, ctx) => {
      const pixels: Uint8Array = image.data;
      ctx.pixels = pixels.length;
      return { image, crop: pixels };
    },
    null,
  ],
  postprocess: [null, () => ({ mood: "calm" })],
});

const served: Hooks[] = [defineHooks({ postprocess: (outputs) => outputs })];
served.push(defineHooks<State>({ preprocess: (inputs) => inputs }));

const crop: Uint8Array = declared.preprocess[0](
  { image: createTensor("uint8", [0], new Uint8Array()) },
  {} as never,
).crop;
const dtype: "bytes" = declared.outputs[0].dtype;
const { outputs } = await testHooks(declared, { models: [fakeModel(), fakeModel()] }).run({ image: crop });
const mood: readonly Uint8Array[] = outputs.mood.data;

const parted = defineHooks({
  inputs: [{ name: "text", dtype: "bytes" }],
  outputs: [{ name: "letter", dtype: "bytes" }],
  async *process({ text }, ctx) {
    const bytes: readonly Uint8Array[] = text.data;
    const number: number | undefined = ctx.part;
    yield { letter: `${bytes.length}${number}` };
  },
  collect: (parts) => ({ letter: parts.map(({ letter }) => letter.data[0]) }),
});
for await (const part of testHooks(parted).stream({ text: "a" })) {
  const letters: readonly Uint8Array[] = part.outputs.letter.data;
  // @ts-expect-error the hooks declare no output of this name
  letters.push(part.outputs.text);
}

defineHooks({
  postprocess: [
    function* (outputs) {
      yield outputs;
      yield Promise.resolve(outputs);
    },
    null,
  ],
});

defineHooks({
  async *process({ image }, { drivers: [detector] }) {
    if (image === undefined || detector === undefined) return;
    for await (const { boxes } of detector.stream({ image })) {
      const shape: readonly number[] | undefined = boxes?.shape;
      yield { count: shape?.[0] ?? 0 };
    }
  },
});

defineHooks({
  async *chat({ messages, more }, ctx) {
    const text: string | undefined = messages.at(-1)?.text;
    yield `${text} ${more.top_k} ${ctx.request.id}`;
    yield { toolCalls: [{ name: "f", arguments: { a: 1 } }], finishReason: "tool_calls" };
  },
  complete: async ({ prompt }) => ({ text: prompt, usage: { promptTokens: 1 } }),
  embed: ({ texts }) => texts.map((text) => [text.length]),
  rerank: ({ query, documents }) => documents.map((each) => Number(each.includes(query))),
});

// @ts-expect-error a text that is a number
defineHooks({ chat: () => ({ text: 3 }) });

// @ts-expect-error an unknown reason for the end
defineHooks({ complete: () => ({ text: "", finishReason: "tired" }) });

async function* yieldsNumber() {
  yield 3;
}

async function* yieldsZ() {
  yield { z: 1 };
}

// @ts-expect-error a generator that yields a number
defineHooks({ process: yieldsNumber });

defineHooks({
  rawRequest: [
    {
      path: "/events",
      async *answer(request, ctx) {
        yield { event: "begun", data: request.body.length, id: String(ctx.part), retry: 5, comment: "c" };
        yield "text";
        yield new Uint8Array(1);
      },
    },
    { path: "/body", answer: () => ({ contentType: "text/csv", body: Readable.from(["a"]) }) },
  ],
});

// @ts-expect-error parts are made behind a model, or in place of all
defineHooks({ preprocess: yieldsZ });

// @ts-expect-error the last hook does not yield the declared output
defineHooks({ outputs: [{ name: "y", dtype: "int8" }], process: yieldsZ });

// @ts-expect-error the pipeline has no input of this name
testHooks(declared).run({ imgae: mood, dtype });

// @ts-expect-error the hooks declare no output of this name
outputs.mod;

fakeModel({ inputs: [{ name: "x", dtype: "int64" }], predict: ({ x }) => ({ y: x.data.map((one) => one + 1n) }) });

// @ts-expect-error the data of an int64 tensor is not numbers
fakeModel({ inputs: [{ name: "x", dtype: "int64" }], predict: ({ x }) => ({ y: x.data.map((one) => one + 1) }) });

// @ts-expect-error a first hook gets the inputs that are declared
defineHooks({ inputs: [{ name: "x", dtype: "int8" }], preprocess: ({ y }) => ({ y }) });

// @ts-expect-error the last hook does not return the declared output
defineHooks({ outputs: [{ name: "y", dtype: "int8" }], postprocess: () => ({ z: 1 }) });

const flag = () => ({ y: createTensor("bool", [], new Uint8Array(1)) });
// @ts-expect-error the declared output has another dtype than the tensor
defineHooks({ outputs: [{ name: "y", dtype: "int8" }], process: flag });

defineHooks({ outputs: [{ name: "y", dtype: "int8" }], postprocess: (outputs) => outputs });

// @ts-expect-error a misspelt member beside one that is known
defineHooks({ preprocess: (inputs) => inputs, postproces: (inputs: object) => inputs });

// @ts-expect-error a dtype that does not exist
defineHooks({ inputs: [{ name: "x", dtype: "float" }], preprocess: (inputs) => inputs });
