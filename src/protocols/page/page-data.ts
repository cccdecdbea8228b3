/** Answer of `GET ui/models`. */
export interface PageState {
  /** The server's version. */
  readonly version: string;
  /** Name of the user; empty = no name is needed. */
  readonly user: string;
  /** True if the page may load and unload models. */
  readonly mayControl: boolean;
  /** True if the page may show requests and the log. */
  readonly mayWatch: boolean;
  /** The running server's, for a page that has been open since before its start. */
  readonly token: string;
  readonly models: readonly PageVersion[];
}

/** One version of a model. */
export interface PageVersion {
  readonly model: string;
  readonly version: string;
  /** TensorFlow Serving's: START, LOADING, AVAILABLE, UNLOADING, END. */
  readonly state: string;
  readonly isReady: boolean;
  /** Reason why it is not ready, or why its newer files are not loaded; empty = there is nothing to say. */
  readonly reason: string;
  readonly labels: readonly string[];
  readonly stages: readonly PageStage[];
  /** The hooks that requests go through: `preprocess 1`, `postprocess 2`, `process`. */
  readonly hooks: readonly string[];
  /** Sentences about how its requests run. */
  readonly notes: readonly string[];
  /** True if an answer comes in parts. */
  readonly isDecoupled: boolean;
  /** The requests about texts that it answers, by OpenAI's routes under the model's name. */
  readonly texts: readonly TextUse[];
  /** By name; the first is the one that requests get which name none. */
  readonly signatures: readonly PageSignature[];
}

/** A conversation, vectors of texts, or an order of texts. */
export type TextUse = "chat" | "embed" | "rerank";

/** One model of a pipeline. */
export interface PageStage {
  readonly driver: string;
  /** The name of its file or folder, without the folders around it. */
  readonly file: string;
  /** True if the graph of its file can be drawn. */
  readonly hasGraph: boolean;
  /** Empty = nothing but this program. */
  readonly runtime: string;
  readonly loadMs: number;
  /** Undefined = not known. */
  readonly memoryBytes?: number | undefined;
}

/** Inputs and outputs. */
export interface PageSignature {
  readonly name: string;
  /** Undefined = any. */
  readonly inputs?: readonly PageTensor[] | undefined;
  /** Undefined = not known before a request. */
  readonly outputs?: readonly PageTensor[] | undefined;
  /** True if {@link PageExample} tells of the columns. */
  readonly isTable?: true | undefined;
}

/** One input or output. */
export interface PageTensor {
  readonly name: string;
  /** KServe V2's: FP32, BYTES; empty = any. */
  readonly datatype: string;
  /** -1 = any size; undefined = any rank. */
  readonly shape?: readonly number[] | undefined;
  /** True if encoded images are taken too. */
  readonly takesImages: boolean;
  /** True if its values are images: these, or bytes with the name of one. */
  readonly isForImages: boolean;
  /** True if a request may leave it out. */
  readonly isOptional: boolean;
  /** Names of its classes, by index. */
  readonly labels?: readonly string[] | undefined;
}

/** Answer of `GET ui/models/NAME/versions/VERSION/example`. */
export interface PageExample {
  /** Inputs with which the version runs, as far as the server has found some. */
  readonly inputs: readonly PageExampleInput[];
  /** A sentence about values that are a guess; empty for those that ran. */
  readonly note: string;
  /** Absent = the inputs are no table. */
  readonly table?: PageTable | undefined;
}

/** An example of an input, of which all elements are equal. */
export interface PageExampleInput {
  readonly name: string;
  readonly shape: readonly number[];
  /** A number, for true and false too, or a text. */
  readonly element: number | string;
}

/** A table whose rows a request has: an input for each column, or one input of rank 2 with all of them. */
export interface PageTable {
  readonly columns: readonly PageColumn[];
  /** True if the model knows texts that are missing; to others they are empty ones. */
  readonly knowsMissingTexts: boolean;
}

/** One column of a table. */
export interface PageColumn {
  readonly name: string;
  /** KServe V2's. */
  readonly datatype: string;
  /** Values that the model knows. */
  readonly categories?: readonly (string | number)[] | undefined;
}
