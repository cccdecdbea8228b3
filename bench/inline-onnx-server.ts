/**
 * A model behind bare grpc-js, in the same thread: bytes of the last tensor in, bytes of the output out. The model's
 * path is the first argument; sends its address to the parent.
 */
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { PREDICT_PATH } from "../src/protocols/tensorflow-serving/grpc-service.ts";
import { PHOTO_SHAPE, PHOTO_SIDE } from "./photo-planes.ts";

const IMAGE_BYTES = 4 * 3 * PHOTO_SIDE * PHOTO_SIDE;

const session = await InferenceSession.create(process.argv[2] as string, { intraOpNumThreads: 1 });
const asIs = (bytes: Buffer) => bytes;
const PREDICT = {
  path: PREDICT_PATH,
  requestStream: false,
  responseStream: false,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
};

const server = new Server({ "grpc.max_receive_message_length": -1 });
server.addService({ Predict: PREDICT }, { Predict: run });
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_, port) =>
  process.send?.({ grpc: `127.0.0.1:${port}` }),
);
process.on("disconnect", () => process.exit());

async function run({ request }: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): Promise<void> {
  const image = new Float32Array(IMAGE_BYTES / 4);
  new Uint8Array(image.buffer).set(request.subarray(-IMAGE_BYTES));
  const { y } = await session.run({ x: new Tensor("float32", image, PHOTO_SHAPE) });
  const { buffer, byteOffset, byteLength } = (y as Tensor).data as Float32Array<ArrayBuffer>;
  done(null, Buffer.from(buffer, byteOffset, byteLength));
}
