/** `TensorShapeProto`. */
export interface TensorShape {
  readonly dim: readonly { readonly size: bigint }[];
  readonly unknownRank: boolean;
}

/** `TensorProto`: a constant; read with {@link fromTensorProto}. */
export interface TensorProto {
  readonly dtype: number;
  readonly tensorShape?: TensorShape;
  readonly tensorContent: Uint8Array;
  readonly floatVal: readonly number[];
  readonly doubleVal: readonly number[];
  readonly intVal: readonly number[];
  readonly stringVal: readonly Uint8Array[];
  readonly scomplexVal: readonly number[];
  readonly int64Val: readonly bigint[];
  readonly boolVal: readonly boolean[];
  readonly dcomplexVal: readonly number[];
  readonly halfVal: readonly number[];
  readonly uint32Val: readonly number[];
  readonly uint64Val: readonly bigint[];
}

/** A function with the attributes that it is called with. */
interface FunctionCall {
  readonly name: string;
  readonly attr: Attributes;
}

/** Several values of one attribute; only the list of its type is filled. */
interface AttributeList {
  readonly s: readonly Uint8Array[];
  readonly i: readonly bigint[];
  readonly f: readonly number[];
  readonly b: readonly boolean[];
  readonly type: readonly number[];
  readonly shape: readonly TensorShape[];
  readonly func: readonly FunctionCall[];
}

/** The value of `AttrValue`. */
export type Attribute =
  | { readonly case: "list"; readonly value: AttributeList }
  | { readonly case: "s"; readonly value: Uint8Array }
  | { readonly case: "i"; readonly value: bigint }
  | { readonly case: "f"; readonly value: number }
  | { readonly case: "b"; readonly value: boolean }
  | { readonly case: "type"; readonly value: number }
  | { readonly case: "shape"; readonly value: TensorShape }
  | { readonly case: "tensor"; readonly value: TensorProto }
  | { readonly case: "placeholder"; readonly value: string }
  | { readonly case: "func"; readonly value: FunctionCall }
  | { readonly case: undefined; readonly value?: undefined };

/** Attributes by name; look up own members only. */
export type Attributes = Readonly<Record<string, { readonly value: Attribute }>>;

/** One operation. Its inputs are written as the graph, or the function's body, writes them. */
export interface NodeDef {
  readonly name: string;
  readonly op: string;
  readonly input: readonly string[];
  readonly device: string;
  readonly attr: Attributes;
}

/** An argument or a result of a function. */
interface ArgDef {
  readonly name: string;
  readonly type: number;
}

/** A function of the graph's library. */
export interface FunctionDef {
  readonly signature?: {
    readonly name: string;
    readonly inputArg: readonly ArgDef[];
    readonly outputArg: readonly ArgDef[];
  };
  readonly nodeDef: readonly NodeDef[];
  /** By result: what gives it. */
  readonly ret: Readonly<Record<string, string>>;
  /** By control output: the node that has to run, whether or not a result needs it. */
  readonly controlRet: Readonly<Record<string, string>>;
}

/** `GraphDef`. */
export interface GraphDef {
  readonly node: readonly NodeDef[];
  readonly library?: { readonly function: readonly FunctionDef[] };
}

/** `SavedModel`: the content of saved_model.pb. */
export interface SavedModelDef {
  readonly savedModelSchemaVersion: bigint;
  readonly metaGraphs: readonly MetaGraphDef[];
}

/** `MetaGraphDef`: a graph with the parts that serve it. */
export interface MetaGraphDef {
  readonly metaInfoDef?: { readonly tags: readonly string[]; readonly tensorflowVersion: string };
  readonly graphDef?: GraphDef;
  readonly saverDef?: { readonly filenameTensorName: string; readonly restoreOpName: string };
  readonly collectionDef: Readonly<Record<string, CollectionDef>>;
  readonly signatureDef: Readonly<Record<string, SignatureDef>>;
  readonly assetFileDef: readonly AssetFileDef[];
}

/** Names of nodes, bytes or messages that a graph keeps under a name. */
interface CollectionDef {
  readonly kind:
    | { readonly case: "nodeList"; readonly value: { readonly value: readonly string[] } }
    | { readonly case: "anyList"; readonly value: { readonly value: readonly { readonly value: Uint8Array }[] } }
    | { readonly case: "bytesList"; readonly value: { readonly value: readonly Uint8Array[] } }
    | { readonly case: undefined; readonly value?: undefined };
}

/** Inputs and outputs of a model under one name. */
export interface SignatureDef {
  readonly inputs: Readonly<Record<string, TensorInfo>>;
  readonly outputs: Readonly<Record<string, TensorInfo>>;
  readonly methodName: string;
  /** Of inputs that a request may leave out. */
  readonly defaults: Readonly<Record<string, TensorProto>>;
}

/** One input or output: the graph's tensor behind a name. */
export interface TensorInfo {
  readonly encoding:
    | { readonly case: "name"; readonly value: string }
    | { readonly case: "cooSparse" | "compositeTensor"; readonly value: unknown }
    | { readonly case: undefined; readonly value?: undefined };
  readonly dtype: number;
  readonly tensorShape?: TensorShape;
}

/** A file of the folder assets/, and the tensor that holds its path. */
export interface AssetFileDef {
  readonly tensorInfo?: TensorInfo;
  readonly filename: string;
}
