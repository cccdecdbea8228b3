/**
 * A server as most people write it: Express and JSON.parse, an image of nested lists in, 1000 of its values out; sends
 * its address to the parent.
 */
import type { AddressInfo } from "node:net";
import express from "express";

type Image = readonly (readonly (readonly number[])[])[];

const app = express();
app.use(express.json({ limit: "16mb" }));
app.post("/v1/models/default:predict", (request, response) => {
  const [image] = request.body.instances as [Image];
  response.json({ predictions: [Array.from(toTensor(image).subarray(0, 1000))] });
});
const server = app.listen(0, "127.0.0.1", () =>
  process.send?.({ http: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
process.on("disconnect", () => process.exit());

function toTensor(image: Image): Float32Array {
  const data = new Float32Array(224 * 224 * 3);
  let at = 0;
  for (const row of image) for (const pixel of row) for (const value of pixel) data[at++] = value;
  return data;
}
