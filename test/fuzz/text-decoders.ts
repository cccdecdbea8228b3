import { invalidArgument } from "../../src/errors.ts";
import { readMessagesJob } from "../../src/protocols/anthropic/messages-request.ts";
import { RpcError, readMessages } from "../../src/protocols/mcp/messages.ts";
import { readGenerateJob, readOllamaChatJob } from "../../src/protocols/ollama/ollama-request.ts";
import { readChatJob } from "../../src/protocols/openai/chat-request.ts";
import { readSpeechJob, readTranscriptionJob } from "../../src/protocols/openai/media-codec.ts";
import { readEmbedJob, readRerankJob } from "../../src/protocols/openai/numbers-codec.ts";
import { readResponseJob } from "../../src/protocols/openai/responses-request.ts";
import { readCompletionJob } from "../../src/protocols/openai/text-request.ts";
import { toPredictBody } from "../../src/protocols/sagemaker/http-codec.ts";
import { parseForm } from "../../src/protocols/simple-tensorflow-serving/form-request.ts";
import { parseJsonRequest, readTensors } from "../../src/protocols/simple-tensorflow-serving/http-codec.ts";
import type { Decoder } from "./decoder.ts";

const MAX_BYTES = 1_000_000;
const FORM = "multipart/form-data; boundary=b";
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";
const CALL = `{"id":"c","type":"function","function":{"name":"f","arguments":"{\\"a\\":1}"}}`;
const TOOLS = `[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}]`;
const CHAT = `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"é"},{"type":"image_url","image_url":{"url":"data:image/png;base64,${PNG}"}}]},{"role":"assistant","content":null,"tool_calls":[${CALL}]},{"role":"tool","tool_call_id":"c","content":"1"}],"tools":${TOOLS},"stop":["a"],"n":2,"temperature":0.5,"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"type":"object"}}}}`;
const RESPONSES =
  '{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}],"instructions":"i","max_output_tokens":5}';
const MESSAGES =
  '{"model":"m","max_tokens":5,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]}],"stop_sequences":["a"]}';
const OLLAMA = `{"model":"m","messages":[{"role":"user","content":"a","images":["${PNG}"]},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}],"options":{"temperature":0.5,"stop":["a"]},"format":"json","keep_alive":"5m"}`;
const GENERATE = `{"model":"m","prompt":"a","system":"s","images":["${PNG}"],"options":{"num_predict":5}}`;
const MCP =
  '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","arguments":{"a":[1]},"_meta":{"progressToken":"p"}}},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]';
const FRAMES = [
  '{"dataframe_split":{"columns":["a","b"],"data":[[1,"é"],[2.5,null]]}}',
  '{"dataframe_records":[{"a":1,"b":"x"},{"a":2,"b":null}]}',
  '{"instances":[[1,2]]}',
  '{"a":1}\n{"a":2}\n',
];
const SIMPLE = '{"model_name":"m","data":{"x":[[1,2.5],[3,4]],"s":"YQ=="},"base64_decode":true}';
const SIGNATURE = { inputs: [{ name: "x", dtype: "float32", shape: [-1, 2] }] } as const;

/** Decoders of requests about texts, sound and pictures, and of the smaller protocols. */
export function textDecoders(): Decoder[] {
  return [
    body("OpenAI's chat", [CHAT], readChatJob.run),
    body("OpenAI's completions", ['{"prompt":["a"],"echo":true,"stop":"x"}'], readCompletionJob.run),
    body("OpenAI's responses", [RESPONSES], readResponseJob.run),
    body("OpenAI's embeddings", ['{"input":["a","é"],"dimensions":8,"encoding_format":"base64"}'], readEmbedJob.run),
    body("a rerank", ['{"query":"q","documents":["a",{"text":"b"}],"top_n":1}'], readRerankJob.run),
    body("a speech", ['{"input":"a","voice":"v","speed":1.5,"response_format":"wav"}'], readSpeechJob.run),
    body("a transcription's form", [form(["file", "RIFF", "a.wav"], ["language", "en"])], (bytes) =>
      readTranscriptionJob.run(bytes, FORM, "transcribe"),
    ),
    body("Anthropic's messages", [MESSAGES], readMessagesJob.run),
    body("Ollama's chat", [OLLAMA], readOllamaChatJob.run),
    body("Ollama's generate", [GENERATE], readGenerateJob.run),
    body("MCP", [MCP, '{"jsonrpc":"2.0","id":"a","method":"ping"}'], readMcp),
    body("SageMaker's JSON and frames", FRAMES, (bytes) => toPredictBody(bytes, "json", MAX_BYTES)),
    body("SageMaker's lines", ['{"a":1}\n[2]\n'], (bytes) => toPredictBody(bytes, "lines", MAX_BYTES)),
    body("Simple TensorFlow Serving's JSON", [SIMPLE], (bytes) =>
      readTensors(parseJsonRequest(bytes, MAX_BYTES), SIGNATURE, "s"),
    ),
    body("Simple TensorFlow Serving's form", [form(["image", "\xff\xd8", "a.jpg"], ["shape", "1,784"])], (bytes) =>
      parseForm(bytes, FORM),
    ),
  ];
}

function body(name: string, samples: readonly string[], decode: Decoder["decode"]): Decoder {
  return { name, samples: samples.map((sample) => Buffer.from(sample)), decode };
}

/** Its own errors count as refusals. */
async function readMcp(bytes: Buffer): Promise<unknown> {
  try {
    return await readMessages(bytes, 2 ** 28, (job, args) => Promise.resolve(job.run(...args)));
  } catch (reason) {
    if (reason instanceof RpcError) throw invalidArgument(reason.message);
    throw reason;
  }
}

function form(...parts: readonly (readonly [name: string, value: string, file?: string])[]): string {
  const all = parts.map(([name, value, file]) => {
    const what = `name="${name}"${file === undefined ? "" : `; filename="${file}"`}`;
    return `--b\r\nContent-Disposition: form-data; ${what}\r\n\r\n${value}\r\n`;
  });
  return `${all.join("")}--b--\r\n`;
}
