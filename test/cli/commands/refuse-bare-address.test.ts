import { expect, test } from "vitest";
import { refuseBareAddress } from "../../../src/cli/commands/refuse-bare-address.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

test.each(["localhost:9000", "10.0.0.1:9000/half", "my-host.example:80/v2/models/half"])(
  "%s is no path of a model; the message has the form of an address",
  (place) => {
    expect(() => refuseBareAddress(place, "server")).toThrow(/address of a server is .* or grpc:\/\/HOST:PORT\.$/);
    expect(() => refuseBareAddress(place, "model")).toThrow(/address of a model is .* or grpc:\/\/HOST:PORT\/NAME\.$/);
  },
);

test("paths are none, also those that look like one and are there", () => {
  const folder = tempFolder({ "a:1/model.onnx": "" });
  for (const place of ["model.onnx", "../m:odel", "C:\\models", `${folder}/a:1`])
    expect(() => refuseBareAddress(place, "model")).not.toThrow();
});
