import { invalidArgument } from "../../errors.ts";
import { EVENTS } from "../../proxy/part-form.ts";
import { inferNumbers, inferText } from "../../serving/infer-text.ts";
import type { CallOptions, Lease } from "../../serving/inference-service.ts";
import type { Signature } from "../../tensor/signature/signature.ts";
import { byteSize, createTensor, createTensors, elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import { writeRequest } from "../text/members.ts";
import { TextAnswer } from "../text/text-answer.ts";

/** Functions of hooks that are tools. */
export const TOOL_FUNCTIONS = ["chat", "embed", "rerank"] as const;
/** One of {@link TOOL_FUNCTIONS}. */
export type ToolFunction = (typeof TOOL_FUNCTIONS)[number];

/** One call of a function, under its lease. */
interface FunctionCall {
  readonly lease: Lease;
  readonly inputs: Tensors;
  readonly call: CallOptions;
  /** Counts so many bytes more. */
  readonly hold: (bytes: number) => void;
  /** Told of each part of a text. */
  readonly tell: (text: string) => Promise<void>;
}

interface FunctionTool {
  /** A sentence for assistants. */
  readonly about: string;
  /** Its arguments and its answer as those of a model. */
  readonly signature: Signature;
  readonly run: (call: FunctionCall) => Promise<Tensors>;
}

const NO_TEXT = createTensor("bytes", [], [new Uint8Array(0)]);

/** The tools that functions of hooks are. */
export const FUNCTION_TOOLS: Readonly<Record<ToolFunction, FunctionTool>> = {
  chat: {
    about: "Answers a message with a text.",
    signature: {
      inputs: [
        { name: "message", dtype: "bytes", shape: [] },
        { name: "system", dtype: "bytes", shape: [], default: NO_TEXT },
      ],
      outputs: [{ name: "text", dtype: "bytes", shape: [] }],
    },
    run: chat,
  },
  embed: {
    about: "Turns texts into vectors, which are near each other if the texts mean the same.",
    signature: {
      inputs: [{ name: "texts", dtype: "bytes", shape: [-1] }],
      outputs: [{ name: "embeddings", dtype: "float32", shape: [-1, -1] }],
    },
    run: async ({ lease, inputs, call }) => {
      const texts = textsIn(inputs, "texts");
      const request = writeRequest({ texts, more: {} });
      const made = await inferNumbers(lease, { entry: "embed", request, call }, texts.length);
      return createTensors([["embeddings", createTensor("float32", [made.rows, made.columns], made.numbers)]]);
    },
  },
  rerank: {
    about: "Tells how well documents fit a query: a number for each, the higher the better.",
    signature: {
      inputs: [
        { name: "query", dtype: "bytes", shape: [] },
        { name: "documents", dtype: "bytes", shape: [-1] },
      ],
      outputs: [{ name: "scores", dtype: "float32", shape: [-1] }],
    },
    run: async ({ lease, inputs, call }) => {
      const documents = textsIn(inputs, "documents");
      const query = oneTextIn(inputs, "query");
      const request = writeRequest({ query, documents, more: {} });
      const made = await inferNumbers(lease, { entry: "rerank", request, call }, documents.length);
      return createTensors([["scores", createTensor("float32", [made.rows], made.numbers)]]);
    },
  },
};

/** Bytes of an argument's texts at most, which the main thread writes for the function. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** Texts of an argument at most: as many as a request of OpenAI's or Ollama's has. */
const MAX_TEXTS = 2048;

function textsIn(inputs: Tensors, name: string): readonly string[] {
  const tensor: Tensor | undefined = inputs[name];
  // Of packed texts, reading the data would make each of them.
  const count = tensor === undefined ? 0 : elementCount(tensor.shape);
  if (tensor?.dtype !== "bytes" || count === 0)
    throw invalidArgument(`The argument ${name} is empty; expected one text at least.`);
  if (count > MAX_TEXTS)
    throw invalidArgument(`The argument ${name} has ${count} texts; expected ${MAX_TEXTS} at most.`);
  if (byteSize(tensor) > MAX_TEXT_BYTES)
    throw invalidArgument(`The argument ${name} has ${byteSize(tensor)} bytes; expected ${MAX_TEXT_BYTES} at most.`);
  return Array.from(tensor.data, (bytes) => Buffer.from(bytes).toString());
}

function oneTextIn(inputs: Tensors, name: string): string {
  const [text = "", ...more] = textsIn(inputs, name);
  if (more.length === 0) return text;
  throw invalidArgument(`The argument ${name} has ${more.length + 1} texts; expected one.`);
}

async function chat({ lease, inputs, call, hold, tell }: FunctionCall): Promise<Tensors> {
  const [message, system] = [oneTextIn(inputs, "message"), oneTextIn({ system: NO_TEXT, ...inputs }, "system")];
  const toMessage = (role: string, text: string) => ({ role, content: [{ type: "text", text }], toolCalls: [] });
  const messages = [...(system === "" ? [] : [toMessage("system", system)]), toMessage("user", message)];
  const rest = { tools: [], toolChoice: "none", responseFormat: { type: "text" }, stop: [], more: {} };
  const answer = new TextAnswer(WRITER, "");
  let held = 0;
  const request = writeRequest({ messages, ...rest });
  await inferText(lease, {
    ...{ entry: "chat", request, call },
    take: async (part) => {
      answer.add(part);
      hold(answer.heldBytes - held);
      held = answer.heldBytes;
      // Others have thoughts, or the usage.
      if (part.text) await tell(part.text);
    },
  });
  return createTensors([["text", createTensor("bytes", [], [Buffer.from(String(answer.whole()))])]]);
}

const WRITER: ConstructorParameters<typeof TextAnswer>[0] = {
  ...{ form: EVENTS, keeps: "nothing", callPrefix: "call_", remedy: "ask for a shorter one" },
  ...{ begin: () => [], step: () => [], end: () => [] },
  whole: ({ text, refusal }) => text + refusal,
};
