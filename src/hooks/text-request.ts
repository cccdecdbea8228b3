import type { Tensor } from "../tensor/tensor.ts";

/** Choices of a client about a text that is to be made; absent = the client leaves them to the model. */
interface TextChoices {
  /** Tokens of the answer at most. */
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly seed?: number;
  /** Texts before which the answer ends. */
  readonly stop: readonly string[];
  /** A name of the client's own user. */
  readonly user?: string;
  /** The other members of the request, as they were sent: `top_k`, for example. */
  readonly more: Readonly<Record<string, unknown>>;
}

/** A request for the next message of a conversation. */
export interface ChatRequest extends TextChoices {
  /** One at least. */
  readonly messages: readonly ChatMessage[];
  /** Functions that the answer may call. */
  readonly tools: readonly ChatTool[];
  /** `required` = the answer has to call one; a name = that one. */
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string };
  readonly responseFormat: ResponseFormat;
}

/** The form that the text of an answer has to have. */
type ResponseFormat =
  | { readonly type: "text" | "json_object" }
  | { readonly type: "json_schema"; readonly name: string; readonly schema: object; readonly strict: boolean };

/** A message of a conversation. */
export interface ChatMessage {
  /** A `developer` is a system, too. */
  readonly role: "system" | "user" | "assistant" | "tool";
  /** All its texts; empty if it has none. */
  readonly text: string;
  /** Texts, images and sound in their order. */
  readonly content: readonly ChatContent[];
  readonly name?: string;
  /** Thoughts of an assistant's message before, as far as the client sends them back. */
  readonly reasoning?: string;
  /** Calls that an assistant's message has made. */
  readonly toolCalls: readonly ToolCall[];
  /** The call that a tool's message answers. */
  readonly toolCallId?: string;
  /** True if the tool failed, as far as the client's protocol can tell: Anthropic's does. */
  readonly isError?: boolean;
}

/** A piece of a message. */
export type ChatContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly mediaType: string; readonly bytes: Uint8Array };

/** A call of a tool. */
interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** A text that is JSON if the model has made no mistake. */
  readonly arguments: string;
}

/** A function that an answer may call. */
export interface ChatTool {
  readonly name: string;
  readonly description: string;
  /** A JSON schema. */
  readonly parameters: object;
  readonly strict: boolean;
}

/** A request for the continuation of a text. */
export interface CompletionRequest extends TextChoices {
  readonly prompt: string;
  /** The text behind the gap that is to be filled. */
  readonly suffix?: string;
}

/** A request for the vectors of texts. */
export interface EmbedRequest {
  /** One at least. */
  readonly texts: readonly string[];
  /** Numbers of each vector; absent = all. */
  readonly dimensions?: number;
  readonly user?: string;
  /** The other members of the request, as they were sent. */
  readonly more: Readonly<Record<string, unknown>>;
}

/** A request to compare documents with a query. */
export interface RerankRequest {
  readonly query: string;
  /** One at least. */
  readonly documents: readonly string[];
  /** The other members of the request, as they were sent. */
  readonly more: Readonly<Record<string, unknown>>;
}

/** Tokens that an answer has taken. */
export interface TextUsage {
  readonly promptTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
}

/** The reason for the end of an answer. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** An answer of {@link CompletionRequest}, or a part of one: a text, or one with more to say. */
export type CompletionPart =
  | string
  | {
      readonly text?: string | undefined;
      /** Of several parts, the last one that has it counts. */
      readonly usage?: TextUsage | undefined;
      /** Default: `tool_calls` if there are some, else `stop`. */
      readonly finishReason?: FinishReason | undefined;
    };

/** An answer of {@link ChatRequest}, or a part of one. */
export type ChatPart =
  | CompletionPart
  | (Exclude<CompletionPart, string> & {
      /** Thoughts that are not part of the message. */
      readonly reasoning?: string | undefined;
      /** The text by which the model refuses to answer. */
      readonly refusal?: string | undefined;
      readonly toolCalls?: readonly ToolCallPart[] | undefined;
    });

/** A call of a tool, or, without a name, more of the arguments of the call before. */
export interface ToolCallPart {
  readonly name?: string | undefined;
  /** JSON text, or an object that becomes it. */
  readonly arguments?: string | object | undefined;
  /** Default: one that the server makes. */
  readonly id?: string | undefined;
}

/** A whole answer, or a generator of its parts, which are sent as they are made to a client that takes them. */
export type InParts<Part> =
  | Part
  | Promise<Part>
  | AsyncIterable<Part>
  | Generator<Part | Promise<Part>, void, undefined>;

/** Rows of numbers: a tensor of rank 2, or a list of lists. */
type NumberRows = Tensor | readonly (readonly number[] | Float32Array | Float64Array)[];

/** One vector for each text, in their order. */
export type EmbedAnswer = NumberRows | { readonly embeddings: NumberRows; readonly usage?: TextUsage | undefined };

/** One score for each document, in their order: the more it fits, the higher. */
export type RerankAnswer =
  | Tensor
  | readonly number[]
  | Float32Array
  | { readonly scores: Tensor | readonly number[] | Float32Array; readonly usage?: TextUsage | undefined };

/** Functions of a hook file that answer requests about texts, each of which is the same over every protocol. */
export interface TextFunctions<Context> {
  /** Answers a conversation: `POST /v1/chat/completions`. */
  readonly chat?: (request: ChatRequest, ctx: Context) => InParts<ChatPart>;
  /** Continues a text: `POST /v1/completions`. */
  readonly complete?: (request: CompletionRequest, ctx: Context) => InParts<CompletionPart>;
  /** Turns texts into vectors: `POST /v1/embeddings`. */
  readonly embed?: (request: EmbedRequest, ctx: Context) => EmbedAnswer | Promise<EmbedAnswer>;
  /** Compares documents with a query: `POST /v1/rerank`. */
  readonly rerank?: (request: RerankRequest, ctx: Context) => RerankAnswer | Promise<RerankAnswer>;
}
