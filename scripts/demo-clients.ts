import { createRemoteService } from "../src/client/remote/remote-service.ts";
import { createTensor, type Tensor } from "../src/tensor/tensor.ts";
import { type FoundFace, toFoundFaces } from "./demo-photos.ts";

/** The faces that a service found in a photo, and how long the client waited for them. */
export interface Answer {
  readonly faces: readonly FoundFace[];
  readonly ms: number;
}

/** Sends photos over one wire. */
export interface DemoClient {
  ask(photo: Uint8Array<ArrayBuffer>): Promise<Answer>;
  close(): Promise<void>;
}

/** TensorFlow Serving's Predict. */
export function createGrpcClient(address: string): DemoClient {
  const service = createRemoteService(address, {});
  const request = { ref: { model: "" }, signature: "" };
  return {
    ask: (photo) =>
      timed(async () => {
        const image = createTensor("bytes", [1], [photo]);
        const inputs = { kind: "tensors", tensors: { image } } as const;
        const call = { id: "demo", metadata: {}, signal: AbortSignal.timeout(30_000) };
        const { outputs } = await service.infer({ ...request, inputs, call });
        if (outputs.kind !== "tensors") throw new Error("The service answered JSON to a tensor request.");
        return fromTensors(outputs.tensors as unknown as FaceTensors);
      }),
    close: () => service.close(),
  };
}

/** A multipart form, as `curl -F bytes_image=@photo.jpg` sends it. */
export function createHttpClient(url: string): DemoClient {
  return {
    ask: (photo) =>
      timed(async () => {
        const body = new FormData();
        body.append("bytes_image", new Blob([photo]), "photo.jpg");
        const response = await fetch(`${url}/predict`, { method: "POST", body, signal: AbortSignal.timeout(30_000) });
        if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
        const { boxes, emotions } = (await response.json()) as { boxes: number[][]; emotions: string[] };
        return toFoundFaces(boxes, emotions);
      }),
    close: async () => {},
  };
}

interface FaceTensors {
  readonly boxes: Tensor<"float32">;
  readonly emotions: Tensor<"bytes">;
}

function fromTensors({ boxes, emotions }: FaceTensors): FoundFace[] {
  const names = emotions.data.map((name) => Buffer.from(name).toString());
  return toFoundFaces(
    names.map((_, face) => Array.from(boxes.data.subarray(4 * face, 4 * face + 4))),
    names,
  );
}

async function timed(find: () => Promise<FoundFace[]>): Promise<Answer> {
  const start = performance.now();
  const faces = await find();
  return { faces, ms: performance.now() - start };
}
