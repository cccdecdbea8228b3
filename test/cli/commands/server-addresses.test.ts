import { expect, test } from "vitest";
import { modelAddressAt, refuseBareAddress, refuseServer } from "../../../src/cli/commands/server-addresses.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

test.each([
  ["localhost:9000", "", "localhost:9000"],
  ["10.0.0.1:9000/half", "", "10.0.0.1:9000"],
  ["my-host.example:80/v2/models/half", "", "my-host.example:80"],
  ["https://models.example/", "s", "models.example"],
  ["http://localhost:9001/v1/models/half:predict", "", "localhost:9001"],
])("%s is no path of a model; the message has the form of an address", (place, secure, host) => {
  const [http, grpc] = [`http${secure}://${host}`, `grpc${secure}://${host}`];
  expect(() => refuseBareAddress(place, "model")).toThrow(
    `the address of a model is ${http}/v2/models/NAME where HTTP listens, or ${grpc}/NAME where gRPC does.`,
  );
  expect(() => refuseServer(place, modelAddressAt)).toThrow(
    `is the address of a server, not of a model's files; ${http}`,
  );
});

test("a server needs its protocol", () => {
  expect(() => refuseBareAddress("localhost:9000", "server")).toThrow(
    "the address of a server is http://localhost:9000 where HTTP listens, or grpc://localhost:9000 where gRPC does.",
  );
  expect(() => refuseBareAddress("http://localhost:9000", "server")).not.toThrow();
});

test.each([
  ["grpc://localhost:9000/half", "grpc://localhost:9000/NAME"],
  ["grpcs://localhost:9000", "grpcs://localhost:9000/NAME"],
  ["http://localhost:9001/prefix/v2/models/half", "http://localhost:9001/v2/models/NAME"],
])("%s has no files", (place, model) => {
  expect(() => refuseServer(place, modelAddressAt)).toThrow(model);
});

test("paths and files of web servers are none, also those that look like one and are there", () => {
  const folder = tempFolder({ "a:1/model.onnx": "" });
  for (const place of [
    "model.onnx",
    "../m:odel",
    "C:\\models",
    `${folder}/a:1`,
    "https://h/models/a.onnx",
    "s3://b/a",
  ]) {
    expect(() => refuseBareAddress(place, "model")).not.toThrow();
    expect(() => refuseServer(place, modelAddressAt)).not.toThrow();
  }
});
