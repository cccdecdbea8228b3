import { readFileSync } from "node:fs";
import { type Pointer, runAsync } from "../../../native/bind-functions.ts";
import { NativeObject } from "../../../native/native-object.ts";
import { readBuffer, withBuffer } from "./buffer.ts";
import type { TensorflowApi } from "./c-api.ts";
import { type SessionParts, TensorflowSession } from "./session.ts";
import { withStatus, withStatusAsync } from "./status.ts";

/** Settings of a session. */
export interface SessionSettings extends Omit<SessionParts, "graph"> {
  /** A ConfigProto. */
  readonly config: Uint8Array;
}

/**
 * Loads a SavedModel with its variables and runs what initialises it; gives the
 * MetaGraphDef too. Throws TensorflowFailure.
 */
export async function loadSavedModelSession(
  api: TensorflowApi,
  { folder, tags }: { readonly folder: string; readonly tags: readonly string[] },
  { config, ...parts }: SessionSettings,
): Promise<{ session: TensorflowSession; metaGraph: Uint8Array }> {
  const graph = createGraph(api);
  const buffer = new NativeObject(api.TF_NewBuffer() as Pointer, (pointer) => api.TF_DeleteBuffer(pointer));
  const options = createOptions(api, config);
  try {
    const session = await withStatusAsync(api, (status) =>
      runAsync(
        api.TF_LoadSessionFromSavedModel,
        options.pointer,
        null,
        folder,
        tags,
        tags.length,
        graph.pointer,
        buffer.pointer,
        status,
      ),
    );
    const metaGraph = readBuffer(buffer.pointer);
    return { session: new TensorflowSession(api, session as Pointer, { ...parts, graph }), metaGraph };
  } catch (reason) {
    graph.release();
    throw reason;
  } finally {
    options.release();
    buffer.release();
  }
}

/** Loads a frozen graph. Throws TensorflowFailure. */
export function loadGraphSession(
  api: TensorflowApi,
  path: string,
  { config, ...parts }: SessionSettings,
): TensorflowSession {
  const graph = createGraph(api);
  const options = createOptions(api, config);
  try {
    importGraph(api, graph.pointer, readFileSync(path));
    const session = withStatus(api, (status) => api.TF_NewSession(graph.pointer, options.pointer, status));
    return new TensorflowSession(api, session as Pointer, { ...parts, graph });
  } catch (reason) {
    graph.release();
    throw reason;
  } finally {
    options.release();
  }
}

function createGraph(api: TensorflowApi): NativeObject {
  return new NativeObject(api.TF_NewGraph() as Pointer, (pointer) => api.TF_DeleteGraph(pointer));
}

function createOptions(api: TensorflowApi, config: Uint8Array): NativeObject {
  const options = new NativeObject(api.TF_NewSessionOptions() as Pointer, (pointer) =>
    api.TF_DeleteSessionOptions(pointer),
  );
  withStatus(api, (status) => api.TF_SetConfig(options.pointer, config, config.length, status));
  return options;
}

function importGraph(api: TensorflowApi, graph: Pointer, definition: Uint8Array): void {
  const options = api.TF_NewImportGraphDefOptions() as Pointer;
  try {
    withBuffer(api, definition, (buffer) =>
      withStatus(api, (status) => api.TF_GraphImportGraphDef(graph, buffer, options, status)),
    );
  } finally {
    api.TF_DeleteImportGraphDefOptions(options);
  }
}
