import { Server, ServerCredentials } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { connect, createTensor } from "../../src/client/node.ts";
import { encodeAs } from "../../src/tensor/codecs/protobuf/proto-messages.ts";

const asIs = (bytes: Buffer) => bytes;
const METHOD = {
  path: "/inference.GRPCInferenceService/ModelStreamInfer",
  ...{ requestStream: true, responseStream: true },
  ...{ requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs },
};

test("a stream of MLServer's messages is an error that says so", async () => {
  const server = new Server();
  const outputs = [{ name: "y", datatype: "FP32", shape: ["1"], contents: { fp32_contents: [1] } }];
  server.addService(
    { ModelStreamInfer: METHOD },
    {
      ModelStreamInfer: (call: { write(message: Buffer): void; end(): void }) => {
        call.write(encodeAs("inference.ModelInferResponse", { model_name: "half", outputs }));
        call.end();
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  onTestFinished(() => server.forceShutdown());
  const models = connect(`grpc://127.0.0.1:${port}`);
  onTestFinished(() => models.$close());
  const stream = models.half!.stream([{ x: createTensor("float32", [1], new Float32Array(1)) }]);
  await expect(stream.next()).rejects.toThrow("not Triton's, but MLServer's");
});
