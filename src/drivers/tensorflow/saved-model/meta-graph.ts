import type { GraphDef, TensorProto, TensorShape } from "./graph-def.ts";

/** `SavedModel`: the content of saved_model.pb. */
export interface SavedModelDef {
  readonly savedModelSchemaVersion: bigint;
  readonly metaGraphs: readonly MetaGraphDef[];
}

/** `MetaGraphDef`: a graph with what is needed to serve it. */
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
